"""Whether a table could begin anew with the files that lie there, tried on a few of them before anything is changed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from heapq import nsmallest

from ulid import ULID

from tidegate.assets.bronze.look import probes
from tidegate.assets.bronze.prepare.load.load import prepare_load
from tidegate.assets.bronze.prepare.register import prepare_register
from tidegate.platform.core.bronze.batch_draft import BatchDraft
from tidegate.platform.core.bronze.birth import Birth
from tidegate.platform.core.bronze.hint import Hint
from tidegate.platform.core.bronze.ledger import Status
from tidegate.platform.core.bronze.plan import TakenHint, make_plan
from tidegate.resources.aws.s3 import Listed
from tidegate.resources.lake import Table

#: The smallest files with content; what none of these can do, the first batch mostly cannot either.
_TRIED = 10


def to_try(present: Iterable[Listed]) -> tuple[Listed, ...]:
    """The objects of a listing that are worth a trial."""
    with_content = (item for item in present if item.size)
    return tuple(nsmallest(_TRIED, with_content, key=lambda item: (item.size, item.key)))


def why_no_birth(table: Table, birth: Birth, files: Sequence[Listed]) -> str | None:
    """Why none of these files would get into the table; None if one would, or there is none.

    They are looked at and prepared as the first batch would do it, for a table at a place of its own, and nothing of it
    stays. What fails otherwise, such as Spark, fails here as it would in the table's first run.

    Args:
        table: the table as it is.
        birth: its birth record as it would be.
        files: of `to_try`.

    Raises:
        StoreError: S3 did not answer.
        PySparkException: Spark failed, and no file is known to be at fault.
    """
    sizes = {item.key: item.size for item in files}
    keys = list(sizes)
    if not keys or table.spec.row_queue:
        return None
    place = table.lake.store.uri("staging", table.text, str(ULID()))
    trial = replace(birth, location=place, folder="", after_version=-1)
    taken = [TakenHint(Hint(key, event_name="Trial"), "trial") for key in keys]
    plan = make_plan(taken, probes(table, keys, {}, sizes), {}, registered=birth.registered)
    work = BatchDraft(1, trial, None, (), plan, {})
    try:
        prepared = (prepare_register if birth.registered else prepare_load)(table, work)
    finally:
        table.lake.store.remove_folder(place)
    for folder in prepared.folders:
        table.lake.store.remove_folder(folder)
    rows = [*plan.rows, *prepared.rows]
    if prepared.adds or not (reasons := [row.reason for row in rows if row.status == Status.QUARANTINED]):
        return None
    return f"none of the {len(keys)} files that were tried would get in, the smallest ones: {reasons[0]}"
