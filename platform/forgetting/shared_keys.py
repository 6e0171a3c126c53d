"""Keys of silver that forgotten persons share with others are computed from bronze again.

A key may go from one person to another. Without the rows of one of them, the other's rows are different: the newest row
of the key is an older one, an interval does not end, and a row has no value that it left as it was
(`ignore_null_updates`).
"""

from __future__ import annotations

from collections.abc import Callable

from tidegate.platform.core.bronze.birth import Birth
from tidegate.platform.core.config.silver_columns import CHANGED_BATCH
from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.core.errors import BadValue
from tidegate.platform.core.schema.sql_literal import delta_table
from tidegate.platform.forgetting.silver_rows import end_merges
from tidegate.platform.lake.lake import Lake
from tidegate.platform.lake.lake_root.store import LakeStore
from tidegate.platform.lake.spark.delta import Delta
from tidegate.platform.lake.spark.session import select
from tidegate.platform.lake.spark.temporary_view import temporary_view
from tidegate.platform.lake.suppression import SubjectProblem, Suppression
from tidegate.platform.silver.audit.key_rows import KeyRows, N
from tidegate.platform.silver.error_redaction import discreet_errors
from tidegate.platform.silver.merge import rebuild_table
from tidegate.platform.silver.pending_merge import merge_state
from tidegate.platform.silver.suppressed_rows import stored_forgotten_rows
from tidegate.platform.silver.value_origins import records_givers


def compute_shared_keys(
    lake: Lake,
    spec: TableSpec,
    birth: Birth | None,
    suppression: Suppression,
    run_id: str,
    log: Callable[[str], None] = lambda _: None,
) -> bool:
    """Compute rows of keys that forgotten persons share with others again. Returns whether there were any.

    Call it before the rows leave bronze: they show which keys these are. The computation applies the suppression list,
    so it takes nothing of these persons. A merge that commits later may give a row of others a value of a row that
    silver still has. A call that dies is repeated.

    Raises:
        SubjectProblem: silver cannot be computed again. The message has the reason.
    """
    if spec.silver is None:
        return False
    try:
        first = _first_batch(lake, spec, birth, suppression)
        if first is None:
            return False
        end_merges(lake.delta, lake.store, spec, f"{run_id}: shared keys")
        # A truncate ends rows of every key of a history.
        is_whole = spec.silver.is_history and spec.silver.apply_as_truncates is not None
        with discreet_errors(spec):
            rebuild_table(lake, spec, log, since=None if is_whole else first)
    except ValueError as error:
        raise SubjectProblem(
            f"silver.{spec.name} has keys that these persons share with others, and their rows cannot be computed from "
            f"bronze again: {error}"
        ) from None
    log(f"rows of silver.{spec.name} that share a key with these persons were computed again")
    return True


def _first_batch(lake: Lake, spec: TableSpec, birth: Birth | None, suppression: Suppression) -> int | None:
    """Return the first batch with a row of a forgotten person whose key others have, too. None if there is none.

    If only silver has something of these persons, it is the number after the last batch: silver names the keys.
    In a table of full dumps every row counts: the deletes that dumps imply have no subject, and have the key.
    """
    work = merge_state(lake, spec)
    if work is None or not work.silver.exists:
        return None
    rows, session, fields = KeyRows.from_lake(lake, work), lake.delta.session, work.bronze.schema.fields
    if not work.mark:
        if rows.rules.history is not None and _is_stored(lake.delta, lake.store, spec, birth, rows, suppression):
            raise BadValue("they are from before a reset: materialize silver first")
        return None
    bronze = select(session, rows.view(delta_table(rows.work.bronze_location)))
    key = f"SELECT {rows.key} AS key, {N} AS n FROM"
    with (
        temporary_view(session, "theirs", suppression.select_suppressed(bronze, fields)) as theirs,
        temporary_view(session, "others", suppression.exclude_suppressed(bronze, fields)) as others,
    ):
        shared = "" if rows.rules.are_dumps else f"LEFT SEMI JOIN ({key} ({rows.bronze(others)})) b ON a.key = b.key"
        (found,) = select(session, f"SELECT min(n) AS first FROM ({key} ({rows.bronze(theirs)})) a {shared}").collect()
    if found["first"] is not None:
        return int(found["first"])
    if not _is_stored(lake.delta, lake.store, spec, birth, rows, suppression):
        return None
    if rows.rules.truncated is not None and rows.rules.history is not None:
        raise BadValue(
            "they are from before a reset, and a history with `apply_as_truncates` is computed as a whole, without any "
            f"row from before it. If these can go, do that first (tidegate rebuild silver.{spec.name} --yes)"
        )
    return work.n + 1


def _is_stored(
    delta: Delta, store: LakeStore, spec: TableSpec, birth: Birth | None, rows: KeyRows, suppression: Suppression
) -> bool:
    """Return whether rows of silver have something of these persons of which bronze does not have the rows any more.

    A row of a history has a value of the change before it, which is a row of silver, too. So keys from before a reset
    are computed from silver.
    """
    session, work = delta.session, rows.work
    if rows.rules.history is None and not records_givers(work.silver):
        return False
    with stored_forgotten_rows(delta, store, spec, birth, suppression, work.silver) as stored:
        if rows.rules.history is None:
            # Bronze has no row of a key from before the reset, so a computation does not change it.
            found = f"SELECT 1 FROM {stored.theirs} WHERE {CHANGED_BATCH} > 0"
        else:
            before = f"WHERE {CHANGED_BATCH} = 0" if work.mark else ""
            same = " AND ".join(f"a.{part.path} <=> b.{part.path}" for part in rows.rules.keys)
            theirs = f"(SELECT * FROM {stored.theirs} {before}) a"
            found = f"SELECT 1 FROM {theirs} LEFT SEMI JOIN {stored.others} b ON {same}"
        return bool(select(session, f"{found} LIMIT 1").collect())


def merged_batch(lake: Lake, spec: TableSpec) -> int | None:
    """Return the last batch that silver has. None if the table has no silver or no batch."""
    work = merge_state(lake, spec) if spec.silver else None
    return work.mark if work else None
