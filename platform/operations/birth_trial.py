"""The trial of a birth: before a reset changes anything, a few files show whether a new table could be created."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from heapq import nsmallest

from ulid import ULID

from tidegate.platform.bronze.look import probes
from tidegate.platform.bronze.prepare.prepare import prepare_as_born
from tidegate.platform.core.bronze.birth import Birth
from tidegate.platform.core.bronze.hint import Hint
from tidegate.platform.core.bronze.ledger import Status
from tidegate.platform.core.bronze.plan import BatchDraft, PlannedHint, make_plan
from tidegate.platform.lake.aws.s3 import Listed
from tidegate.platform.lake.lake import Table

#: Number of tried files, the smallest with content. If all of them fail, the first batch would mostly fail, too.
_MAX_TRIED_FILES = 10


def to_try(present: Iterable[Listed]) -> tuple[Listed, ...]:
    """Returns the objects of a listing to try."""
    with_content = (item for item in present if item.size)
    return tuple(nsmallest(_MAX_TRIED_FILES, with_content, key=lambda item: (item.size, item.key)))


def why_no_birth(table: Table, birth: Birth, files: Sequence[Listed]) -> str | None:
    """Returns why the table would refuse all of these files. None if it would accept one, or if there are no files.

    The files are prepared as for the first batch, but for a table at another location, and everything that is written
    is removed. Other failures, such as those of Spark, are raised, as in the table's first run.

    Args:
        table: the present table.
        birth: the birth record that the reset would write.
        files: the result of `to_try`.

    Raises:
        StoreError: S3 did not answer.
        PySparkException: Spark failed, and the cause is not a file.
    """
    sizes = {item.key: item.size for item in files}
    keys = list(sizes)
    if not keys or table.spec.row_queue:
        return None
    location = table.lake.store.uri("staging", table.table_key, str(ULID()))
    trial = replace(birth, location=location, generation_folder="", after_version=-1)
    taken = [PlannedHint(Hint(key), "trial") for key in keys]
    plan = make_plan(taken, probes(table, keys, {}, sizes), {}, registered=birth.registered)
    work = BatchDraft(1, trial, None, (), plan, {})
    try:
        prepared = prepare_as_born(table, work)
    finally:
        table.lake.store.remove_folder(location)
    for folder in prepared.folders:
        table.lake.store.remove_folder(folder)
    rows = [*plan.rows, *prepared.rows]
    if (
        prepared.adds
        or prepared.objects
        or not (reasons := [row.reason for row in rows if row.status == Status.QUARANTINED])
    ):
        return None
    return f"none of the {len(keys)} files that were tried would get in, the smallest ones: {reasons[0]}"
