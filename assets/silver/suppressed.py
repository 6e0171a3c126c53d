"""What merges leave out: rows of subjects that were forgotten, and of rows that are no changes all but their key."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from pyspark.sql import functions as F

from tidegate.assets.silver.changes import Changes
from tidegate.assets.silver.pending import PendingMerge
from tidegate.platform.core.silver.rules import MergeRules
from tidegate.resources.lake import Lake
from tidegate.resources.silver_suppression import FORGOTTEN
from tidegate.resources.spark.attempts import Overtaken
from tidegate.resources.spark.temporary_view import temporary_view
from tidegate.resources.suppression import Suppression, require_subject


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
        _without_suppressed(lake, work, changes, suppression) as kept,
        _with_dropped(lake, work, rules, kept, suppression) as wanted,
    ):
        yield wanted


@contextmanager
def _without_suppressed(
    lake: Lake, work: PendingMerge, changes: Changes, suppression: Suppression | None
) -> Iterator[Changes]:
    """Yield the changes without rows of suppressed subjects.

    A load leaves these rows out already. Bronze may have some of an earlier load until they are deleted, or again after
    somebody restored it.
    """
    if suppression is None:
        yield changes
        return
    session = lake.delta.session
    kept = suppression.without(session.table(changes.view), work.bronze.schema.fields)
    with temporary_view(session, "kept", kept) as view:
        yield replace(changes, view=view, with_forgotten=changes.view)


def require_same_list(lake: Lake, work: PendingMerge) -> None:
    """Check that no person was forgotten since the state of silver was read, after which the list was read.

    A rebuild from a batch reads a version of bronze, which has the rows of a person who was forgotten since. A request
    that ends before the commit begins is no conflict for Delta. Other merges read bronze as it is then.

    Raises:
        Overtaken: a person was forgotten.
    """
    if work.since is None or work.table.spec.personal is None:
        return
    now = lake.delta.table_state(work.location).properties
    if now.get(FORGOTTEN) != work.silver.properties.get(FORGOTTEN):
        raise Overtaken(f"persons were forgotten while silver.{work.table.spec.name} was rebuilt")


@contextmanager
def _with_dropped(
    lake: Lake, work: PendingMerge, rules: MergeRules, changes: Changes, suppression: Suppression | None
) -> Iterator[Changes]:
    """Yield the changes with a view of the rows that earlier merges left out of full dumps.

    Silver does not have them, and yet they show that their dump has their key. Only rows of that kind are read, and of
    them the columns of key, order and conditions.
    """
    birth = work.table.birth
    if not rules.are_dumps or rules.skipped is None or birth is None or changes.why_full is not None:
        yield changes
        return
    session = lake.delta.session
    rows = session.read.format("delta").load(birth.location)
    if not birth.registered:
        # Of a registered table, the batch of a row is not known. The next merge corrects what a later batch decided.
        rows = rows.where(F.col("_batch") <= changes.n)
    if suppression is not None:
        rows = suppression.without(rows, work.bronze.schema.fields)
    nothing = ("CAST(NULL AS BIGINT) AS _tidegate_n", "'' AS _tidegate_path", "0L AS _tidegate_row")
    with temporary_view(session, "dropped", rows.selectExpr("*", *nothing)) as view:
        yield replace(changes, dumps=replace(changes.dumps, dropped=view))
