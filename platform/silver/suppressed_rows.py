"""What merges leave out: rows of subjects that were forgotten, and of rows that are not changes all but their key."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from pyspark.sql import functions as F

from tidegate.platform.core.bronze.birth import Birth
from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.core.silver.rules import MergeRules
from tidegate.platform.lake.lake import Lake
from tidegate.platform.lake.lake_root.store import LakeStore
from tidegate.platform.lake.silver_suppression import FORGOTTEN, columns_of_silver, silver_suppression
from tidegate.platform.lake.spark.delta import Delta
from tidegate.platform.lake.spark.results import TableState
from tidegate.platform.lake.spark.temporary_view import temporary_view
from tidegate.platform.lake.suppression import Suppression, require_subject
from tidegate.platform.silver.changes import Changes, StoredForgotten
from tidegate.platform.silver.pending_merge import PendingMerge
from tidegate.platform.silver.value_origins import records_givers, rows_with_others_values


@contextmanager
def wanted_changes(lake: Lake, work: PendingMerge, rules: MergeRules, changes: Changes) -> Iterator[Changes]:
    """Yield the changes without rows of suppressed subjects, and with what earlier merges left out of full dumps.

    Raises:
        SecretProblem: the list cannot be applied.
        SubjectProblem: `lake.yaml` lacks the subject by which persons were forgotten.
    """
    require_subject(work.table.spec, work.bronze)
    suppression = lake.suppression(work.table.spec) if work.table.spec.personal is not None else None
    with (
        _without_suppressed(lake.delta, work.bronze, changes, suppression) as kept,
        _with_stored(lake.delta, lake.store, work, kept, suppression) as kept,
        _with_dropped(lake.delta, work.bronze, work.table.birth, rules, kept, suppression) as wanted,
    ):
        yield wanted


@contextmanager
def _without_suppressed(
    delta: Delta, bronze: TableState, changes: Changes, suppression: Suppression | None
) -> Iterator[Changes]:
    """Yield the changes without rows of suppressed subjects.

    A load leaves these rows out already. Bronze may have some of an earlier load until they are deleted, or again after
    somebody restored it.
    """
    if suppression is None:
        yield changes
        return
    session = delta.session
    kept = suppression.exclude_suppressed(session.table(changes.view), bronze.schema.fields)
    with temporary_view(session, "kept", kept) as view:
        yield replace(changes, view=view, with_forgotten=changes.view)


@contextmanager
def _with_stored(
    delta: Delta, store: LakeStore, work: PendingMerge, changes: Changes, suppression: Suppression | None
) -> Iterator[Changes]:
    """Yield the changes with what silver has of suppressed subjects, if keys are computed again.

    Bronze may not have the rows any more that silver's were made of: those from before a reset.
    """
    silver = delta.table_state(work.location) if work.since is not None and suppression is not None else None
    if silver is None or suppression is None:
        yield changes
        return
    with stored_forgotten_rows(delta, store, work.table.spec, work.table.birth, suppression, silver) as stored:
        yield replace(changes, stored=stored)


@contextmanager
def stored_forgotten_rows(
    delta: Delta, store: LakeStore, spec: TableSpec, birth: Birth | None, suppression: Suppression, silver: TableState
) -> Iterator[StoredForgotten]:
    """Yield views of what a silver table has of suppressed subjects, and of its other rows.

    Args:
        spec: its configuration.
        birth: its birth record, if it was born.
        suppression: its list.
        silver: the state of the silver table, which exists.

    Raises:
        SubjectProblem: silver does not show whose its rows are.
    """
    session, location, fields = delta.session, store.uri("silver", spec.name), silver.schema.fields
    of_silver = silver_suppression(store, spec, suppression, silver, columns_of_silver(delta, birth, silver))
    rows = session.read.format("delta").load(location)
    if records_givers(silver):
        found = rows_with_others_values(session, location, silver, of_silver, unknown=True)
        theirs = of_silver.exclude_suppressed(found, fields)
    else:
        theirs = of_silver.select_suppressed(rows, fields)
    with (
        temporary_view(session, "stored_theirs", theirs) as view,
        temporary_view(session, "stored_others", of_silver.exclude_suppressed(rows, fields)) as others,
    ):
        yield StoredForgotten(view, others)


def same_list(state: TableState, spec: TableSpec) -> dict[str, str]:
    """Return what the silver table must have for the commit, so that no person was forgotten since its state was read.

    The list is read after that state. A merge with an older list would bring rows back that forgetting has taken out of
    silver, and not yet out of bronze; a rebuild from a batch reads a version of bronze that has them for longer.
    """
    if spec.personal is None:
        return {}
    return {FORGOTTEN: state.properties.get(FORGOTTEN, "")}


@contextmanager
def _with_dropped(
    delta: Delta,
    bronze: TableState,
    birth: Birth | None,
    rules: MergeRules,
    changes: Changes,
    suppression: Suppression | None,
) -> Iterator[Changes]:
    """Yield the changes with a view of the rows that earlier merges left out of full dumps.

    These rows are not in silver, but they prove that the key is present in the dump. Only rows of that kind are read,
    and of them the columns of key, order and conditions.
    """
    if not rules.are_dumps or rules.skipped is None or birth is None or changes.why_full is not None:
        yield changes
        return
    session = delta.session
    rows = session.read.format("delta").load(birth.location)
    if not birth.registered:
        # Of a registered table, the batch of a row is not known. The next merge corrects what a later batch decided.
        rows = rows.where(F.col("_batch") <= changes.n)
    if suppression is not None:
        rows = suppression.exclude_suppressed(rows, bronze.schema.fields)
    nothing = ("CAST(NULL AS BIGINT) AS _tidegate_n", "'' AS _tidegate_path", "0L AS _tidegate_row")
    with temporary_view(session, "dropped", rows.selectExpr("*", *nothing)) as view:
        yield replace(changes, dumps=replace(changes.dumps, dropped=view))
