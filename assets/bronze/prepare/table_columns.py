"""The columns that a table has before a batch, those it begins with, and whether Delta takes those that follow."""

from __future__ import annotations

from collections.abc import Iterable

from tidegate.assets.bronze.prepare.load.spark_errors import columns_refused
from tidegate.platform.core.bronze.batch_draft import BatchDraft
from tidegate.platform.core.bronze.plan import Candidate
from tidegate.platform.core.events.row_message import ROW_COLUMNS
from tidegate.platform.core.keys.object_key import partition_values
from tidegate.platform.core.schema.misfit import Misfit
from tidegate.platform.core.schema.table_schema import TableSchema
from tidegate.resources.lake import Table


def present_schema(table: Table, work: BatchDraft) -> TableSchema | None:
    """The table's columns; None where this batch is to give it the first ones.

    A table that lies at the place although no batch has made it is not looked at: the commit refuses it.
    """
    if work.after_version < 0:
        return None
    schema = table.delta.table_state(work.birth.location).schema
    # A table that was reset has no columns until its first file.
    return schema if schema.fields else None


def unborn_schema(table: Table, candidates: Iterable[Candidate]) -> TableSchema:
    """What lake.yaml says of the columns; if it says nothing of those in the path, the first path that can be read."""
    paths = table.spec.partition_columns
    for candidate in candidates:
        try:
            paths = paths or dict.fromkeys(partition_values(candidate.key, table.key.prefix), "string")
        except ValueError:
            continue  # The file itself is refused for it.
        break
    ours = ROW_COLUMNS if table.spec.row_queue else {}
    return TableSchema.unborn({**ours, **table.spec.columns}, paths)


def refusal(table: Table, work: BatchDraft, schema: TableSchema) -> str | None:
    """Why Delta would refuse the table's columns as they are to be, in our words; None if it takes them.

    Asked before the batch is decided: afterwards no file could be taken out of it any more.
    """
    told = table.delta.refusal(work.birth.location, schema)
    return columns_refused(told) if told else None


def require_columns(table: Table, work: BatchDraft, schema: TableSchema) -> None:
    """Refuse the file that makes the schema what it is, if Delta refuses that.

    Raises:
        Misfit: why.
    """
    if reason := refusal(table, work, schema):
        raise Misfit(reason)
