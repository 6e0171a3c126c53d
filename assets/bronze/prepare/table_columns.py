"""The columns that a table has before a batch, its first columns, and whether Delta accepts new columns."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

from tidegate.assets.bronze.prepare.load.spark_errors import columns_refused
from tidegate.platform.core.bronze.batch_draft import BatchDraft
from tidegate.platform.core.bronze.plan import Candidate
from tidegate.platform.core.config.drift import other_objects, other_rescued
from tidegate.platform.core.events.row_message import ROW_COLUMNS
from tidegate.platform.core.keys.object_key import partition_values
from tidegate.platform.core.schema.column_ids import LAST_ID, ColumnIds
from tidegate.platform.core.schema.column_types import Field, Simple, folded, inner_fields
from tidegate.platform.core.schema.misfit import Misfit
from tidegate.platform.core.schema.names import RESCUED_COLUMN, VARIANT_COLUMN, check_columns
from tidegate.platform.core.schema.table_schema import TableSchema
from tidegate.platform.core.silver.columns import reserved_in_bronze
from tidegate.resources.lake import Table
from tidegate.resources.spark.former_columns import former_columns as former_names
from tidegate.resources.suppression import require_subject


def present_schema(table: Table, work: BatchDraft) -> TableSchema | None:
    """Return the table's columns, or None if this batch gives the table its first columns.

    An output has the columns that its last batch names.

    If a table exists at the location although no batch made it, it is not read: the commit refuses it.
    """
    if work.birth.output:
        last = table.batches.read(work.n - 1) if work.n > 1 else None
        return last.columns if last else None
    if work.after_version < 0:
        return None
    state = table.delta.table_state(work.birth.location)
    state.require_own_files()
    state.require_served_features(f"bronze.{table.spec.name}")
    require_subject(table.spec, state)
    # A table that was reset has no columns until its first file.
    if not state.schema.fields:
        return None
    last_id = int(state.properties.get(LAST_ID, 0))
    if work.birth.registered:
        _require_own_names(table, state.schema)
    ids = ColumnIds(last_id, "" if work.birth.registered else f"{state.table_id}/{last_id}")
    schema = replace(state.schema, grows=table.spec.widen, unmeasured=table.spec.unmeasured_columns, ids=ids)
    schema = replace(schema, reserved=reserved_in_bronze(table.spec.silver))
    # The next batch with a file gives the table the property, if its unmeasured columns should be others by now.
    return replace(schema, stale=not schema.growth.items() <= state.properties.items())


def _require_own_names(table: Table, schema: TableSchema) -> None:
    """Require that the columns of a registered table have the names that its producer's files have.

    Raises:
        RuntimeError: a column was renamed, or added by hand: no file could enter the table.
    """
    for field in schema.fields:
        for inner in (field, *inner_fields(field.type)):
            if inner.physical not in (None, inner.name):
                raise RuntimeError(
                    f"column {inner.name} of bronze.{table.spec.name} is {inner.physical} in data files, because "
                    "someone renamed or added it with ALTER TABLE, and the table has its producer's files as they are: "
                    f"rename it back, or drop it (ALTER TABLE bronze.{table.spec.name} DROP COLUMN …). Files wait "
                    "until then"
                )


def former_columns(table: Table, work: BatchDraft, schema: TableSchema) -> set[tuple[str, ...]]:
    """Return the folded paths of columns that a registered table had once and that its older files may still have."""
    if not (schema.mapped and work.birth.registered and schema.ids.has_gaps(schema.fields)):
        return set()
    names = former_names(table.delta.session, work.birth.location)
    return {tuple(folded(part) for part in path) for path in names}


def require_new(former: Collection[tuple[str, ...]], schema: TableSchema, fields: Iterable[Field]) -> None:
    """Refuse a file with a column that the table had once: rows of older files would show its old values.

    Raises:
        Misfit: there is such a column; the message is the reason.
    """
    for path, _ in schema.missing(fields) if former else ():
        if tuple(folded(part) for part in path) in former:
            raise Misfit(
                f"column {'.'.join(path)} was dropped from the table or renamed, and its older files still have it: "
                "the old values would come back. Write it under another name"
            )


def unborn_schema(table: Table, candidates: Iterable[Candidate], ours: Collection[str] = ()) -> TableSchema:
    """Return the columns that are known before a table's birth: those of lake.yaml and of the path.

    If lake.yaml does not declare the columns of the path, the first path that can be read gives them, as strings.

    Args:
        table: the table.
        candidates: its first files.
        ours: names of the columns that Tidegate adds to its rows.
    """
    paths = table.spec.partition_columns
    objects = {VARIANT_COLUMN: "variant"} if table.spec.policy == "variant" else {}
    reserved = reserved_in_bronze(table.spec.silver)
    unborn = replace(TableSchema.unborn({}, {}), reserved=reserved)
    for candidate in candidates:
        if paths:
            break
        try:
            paths = dict.fromkeys(path_columns(table, candidate, unborn, ours), "string")
        except ValueError:
            continue  # Its path makes the file itself a misfit later.
        break
    given = ROW_COLUMNS if table.spec.row_queue else {}
    unborn = TableSchema.unborn({**given, **table.spec.columns, **objects}, paths)
    return replace(unborn, grows=table.spec.widen, unmeasured=table.spec.unmeasured_columns, reserved=reserved)


def path_columns(
    table: Table, candidate: Candidate, schema: TableSchema, ours: Collection[str] = ()
) -> dict[str, str | None]:
    """Return the values of the columns that a file's path has.

    Args:
        table: the table.
        candidate: the file.
        schema: the columns of the table.
        ours: names of the columns that Tidegate adds to its rows.

    Raises:
        ValueError: the path contradicts itself, or names a column that no table can have.
    """
    values = partition_values(candidate.key, table.key.prefix)
    known = {folded(column.name) for column in schema.partition_fields}
    of_schema = {"variant": VARIANT_COLUMN, "rescue": RESCUED_COLUMN}.get(table.spec.policy)
    new = [name for name in values if folded(name) not in known]
    try:
        check_columns(new, ours=(*ours, of_schema or ""), reserved=schema.reserved)
    except Misfit as misfit:
        raise Misfit(f"a folder of its key gives a column: {misfit}") from None
    return values


def rescued_column(table: Table) -> str | None:
    """Return the name of the column for what no other column takes, which no field of a file fills, or None."""
    return RESCUED_COLUMN if table.spec.policy == "rescue" else None


def with_rescued(table: Table, schema: TableSchema) -> TableSchema:
    """Return the schema, with the column for what no other column takes if the table has one."""
    name = rescued_column(table)
    return schema.adding([Field(name, Simple("string"))]) if name else schema


def with_configured(table: Table, work: BatchDraft, schema: TableSchema) -> TableSchema:
    """Return the columns of a table that exists, and those that lake.yaml adds if its rows bring no columns.

    Raises:
        RuntimeError: the table does not go together with its `schema` in lake.yaml, or Delta refuses new columns.
    """
    if differs := other_objects(table.spec, schema) or other_rescued(table.spec, schema):
        raise RuntimeError(differs)
    if table.spec.policy not in ("variant", "rescue"):
        return schema
    wider = with_rescued(table, schema.adding(TableSchema.unborn(table.spec.columns, {}).fields))
    if wider != schema and (reason := refusal(table, work, wider)):
        raise RuntimeError(
            f"what `columns` and `schema` of {table.spec.name} in lake.yaml add cannot join the table: {reason}"
        )
    return wider


def refusal(table: Table, work: BatchDraft, schema: TableSchema) -> str | None:
    """Return why Delta would refuse these columns for the table, in Tidegate's words, or None if it accepts them.

    Delta is asked before the batch is decided, because afterwards no file can be removed from the batch.
    """
    message = table.delta.refusal(work.birth.location, schema)
    return columns_refused(message) if message else None


def require_columns(table: Table, work: BatchDraft, schema: TableSchema) -> None:
    """Refuse the file that brought the last columns of the schema, if Delta refuses them.

    Raises:
        Misfit: Delta refuses the schema; the message is the reason.
    """
    if reason := refusal(table, work, schema):
        raise Misfit(reason)
