"""The columns that a table has before a batch, its first columns, and whether Delta accepts new columns."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace

from pyspark.sql import SparkSession

from tidegate.platform.bronze.prepare.load.spark_errors import columns_refused
from tidegate.platform.core.bronze.plan import BatchDraft, Candidate
from tidegate.platform.core.config.drift import other_objects, rescued_column_problem
from tidegate.platform.core.config.silver_columns import reserved_in_bronze
from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.core.errors import ConfigurationError, DataError, Misfit
from tidegate.platform.core.events.row_queue import ROW_COLUMNS
from tidegate.platform.core.inventory.columns import WITHOUT_STATISTICS
from tidegate.platform.core.keys.object_key import partition_values
from tidegate.platform.core.keys.table_key import TableKey
from tidegate.platform.core.schema.column_ids import COLUMNS, LAST_ID, ColumnIds, Path, paths, recorded_names
from tidegate.platform.core.schema.column_types import Field, Simple, fold_name, inner_fields
from tidegate.platform.core.schema.names import RESCUED_COLUMN, VARIANT_COLUMN, check_columns
from tidegate.platform.core.schema.sql_literal import delta_table
from tidegate.platform.core.schema.table_schema import TableSchema
from tidegate.platform.core.table_properties import require_known_properties
from tidegate.platform.lake.lake_root.batches import Batches
from tidegate.platform.lake.spark.delta import Delta
from tidegate.platform.lake.suppression import require_subject

#: A name in a path of columns.
_PART = re.compile(r"`((?:[^`]|``)*)`|([^.`]+)")


def present_schema(spec: TableSpec, batches: Batches, delta: Delta, work: BatchDraft) -> TableSchema | None:
    """Return the table's columns, or None if this batch gives the table its first columns.

    An output has the columns that its last batch names.

    If a table exists at the location although no batch made it, it is not read: the commit refuses it.
    """
    if work.birth.output:
        last = batches.read(work.n - 1) if work.n > 1 else None
        return last.columns if last else None
    if work.after_version < 0:
        return None
    state = delta.table_state(work.birth.location)
    state.require_own_files()
    state.require_served_features(f"bronze.{spec.name}", work.birth.starting_over)
    require_known_properties(state.properties, f"bronze.{spec.name}")
    require_subject(spec, state)
    # A table that was reset has no columns until its first file.
    if not state.schema.fields:
        return None
    last_id = int(state.properties.get(LAST_ID, 0))
    if work.birth.registered:
        _require_own_names(spec, state.schema)
    if work.birth.registered:
        ids = ColumnIds(
            last_id, names=_recorded_names(spec, delta, work.birth.location, state.schema, state.properties)
        )
    else:
        ids = ColumnIds(last_id, f"{state.table_id}/{last_id}")
    schema = replace(state.schema, grows=spec.widen, unmeasured=_unmeasured_columns(spec), ids=ids)
    schema = replace(schema, reserved=reserved_in_bronze(spec.silver), version=state.version)
    # The next batch with a file gives the table its properties: its unmeasured columns may be others by now, and a
    # table of an earlier version has not recorded its names.
    return replace(schema, stale=not schema.growth.items() <= state.properties.items())


def _require_own_names(spec: TableSpec, schema: TableSchema) -> None:
    """Require that the columns of a registered table have the names that its producer's files have.

    Raises:
        DataError: a column was renamed, or added by hand: no file could enter the table.
    """
    for field in schema.fields:
        for inner in (field, *inner_fields(field.type)):
            if inner.physical not in (None, inner.name):
                raise DataError(
                    f"column {inner.name} of bronze.{spec.name} is {inner.physical} in data files, because "
                    "someone renamed or added it with ALTER TABLE, and the table has its producer's files as they are: "
                    f"rename it back, or drop it (ALTER TABLE bronze.{spec.name} DROP COLUMN …). Files wait "
                    "until then"
                )


def _recorded_names(
    spec: TableSpec, delta: Delta, location: str, schema: TableSchema, properties: Mapping[str, str]
) -> frozenset[Path]:
    """Return the names of the columns that a registered table has had, which its older files may still have.

    A table of an earlier version has recorded none, so its log is asked once. The next batch with a file records them.
    """
    if (names := recorded_names(properties)) is not None:
        return names
    if not (schema.mapped and ColumnIds(int(properties.get(LAST_ID, 0))).has_gaps(schema.fields)):
        return frozenset(paths(schema.fields))
    former = former_columns(delta.session, location)
    if former is None:
        raise DataError(
            f"bronze.{spec.name} had columns once that it has no more, and its log no longer names them: a file "
            "with such a name would bring old values back. Name them, each with the names of the columns that it was "
            f'in: ALTER TABLE bronze.{spec.name} SET TBLPROPERTIES (\'{COLUMNS}\' = \'[["a"], ["s", "b"]]\'). '
            "Files wait until then"
        )
    return frozenset(paths(schema.fields)) | {tuple(map(fold_name, path)) for path in former}


def unborn_schema(
    spec: TableSpec, key: TableKey, candidates: Iterable[Candidate], ours: Collection[str] = ()
) -> TableSchema:
    """Return the columns that are known before a table's birth: those of lake.yaml and of the path.

    If lake.yaml does not declare the columns of the path, the first path that can be read gives them, as strings.

    Args:
        spec: its configuration.
        candidates: its first files.
        ours: names of the columns that Tidegate adds to its rows.
    """
    paths = spec.partition_columns
    objects = {VARIANT_COLUMN: "variant"} if spec.policy == "variant" else {}
    reserved = reserved_in_bronze(spec.silver)
    unborn = replace(TableSchema.from_declared({}, {}), reserved=reserved)
    for candidate in candidates:
        if paths:
            break
        try:
            paths = dict.fromkeys(path_columns(spec, key, candidate, unborn, ours), "string")
        except ValueError:
            continue  # Its path makes the file itself a misfit later.
        break
    given = ROW_COLUMNS if spec.row_queue else {}
    unborn = TableSchema.from_declared({**given, **spec.columns, **objects}, paths)
    return replace(unborn, grows=spec.widen, unmeasured=_unmeasured_columns(spec), reserved=reserved)


def path_columns(
    spec: TableSpec, key: TableKey, candidate: Candidate, schema: TableSchema, ours: Collection[str] = ()
) -> dict[str, str | None]:
    """Return the values of the columns that a file's path has.

    Args:
        spec: its configuration.
        candidate: the file.
        schema: the columns of the table.
        ours: names of the columns that Tidegate adds to its rows.

    Raises:
        ValueError: the path contradicts itself, or names a column that no table can have.
    """
    values = partition_values(candidate.key, key.prefix)
    known = {fold_name(column.name) for column in schema.partition_fields}
    of_schema = {"variant": VARIANT_COLUMN, "rescue": RESCUED_COLUMN}.get(spec.policy)
    new = [name for name in values if fold_name(name) not in known]
    try:
        check_columns(new, ours=(*ours, of_schema or ""), reserved=schema.reserved)
    except Misfit as misfit:
        raise Misfit(f"a folder of its key gives a column: {misfit}") from None
    return values


def rescued_column(spec: TableSpec) -> str | None:
    """Return the name of the column for what no other column takes, which no field of a file fills, or None."""
    return RESCUED_COLUMN if spec.policy == "rescue" else None


def with_rescued(spec: TableSpec, schema: TableSchema) -> TableSchema:
    """Return the schema, with the column for what no other column takes if the table has one."""
    name = rescued_column(spec)
    return schema.with_missing_fields([Field(name, Simple("string"))]) if name else schema


def with_configured(spec: TableSpec, delta: Delta, work: BatchDraft, schema: TableSchema) -> TableSchema:
    """Return the columns of a table that exists, and those that lake.yaml adds if its rows bring no columns.

    Raises:
        ConfigurationError: the table does not go together with its `schema` in lake.yaml, or Delta refuses new columns.
    """
    if differs := other_objects(spec, schema) or rescued_column_problem(spec, schema):
        raise ConfigurationError(differs)
    if spec.policy not in ("variant", "rescue"):
        return schema
    wider = with_rescued(spec, schema.with_missing_fields(TableSchema.from_declared(spec.columns, {}).fields))
    if wider != schema and (reason := refusal(delta, work, wider)):
        raise ConfigurationError(
            f"what `columns` and `schema` of {spec.name} in lake.yaml add cannot join the table: {reason}"
        )
    return wider


def refusal(delta: Delta, work: BatchDraft, schema: TableSchema) -> str | None:
    """Return why Delta would refuse these columns for the table, in Tidegate's words, or None if it accepts them.

    Delta is asked before the batch is decided, because afterwards no file can be removed from the batch.
    """
    message = delta.refusal(work.birth.location, schema)
    return columns_refused(message) if message else None


def require_columns(delta: Delta, work: BatchDraft, schema: TableSchema) -> None:
    """Refuse the file that brought the last columns of the schema, if Delta refuses them.

    Raises:
        Misfit: Delta refuses the schema; the message is the reason.
    """
    if reason := refusal(delta, work, schema):
        raise Misfit(reason)


def _unmeasured_columns(spec: TableSpec) -> frozenset[str]:
    """Return the columns without statistics: nobody looks for objects by most columns of inventories."""
    return spec.unmeasured_columns | WITHOUT_STATISTICS if spec.has_inventories else spec.unmeasured_columns


def former_columns(session: SparkSession, location: str) -> set[tuple[str, ...]] | None:
    """Return the paths of the columns that someone dropped from a table or renamed.

    Returns None if the log does not reach back to the table's first version: there may be more.
    """
    history = session.sql(f"DESCRIBE HISTORY {delta_table(location)}")
    changes = history.where("version = 0 OR operation IN ('DROP COLUMNS', 'RENAME COLUMN')")
    rows = changes.select("version", "operation", "operationParameters").collect()
    if all(row["version"] for row in rows):
        return None
    found = set()
    for _, operation, parameters in rows:
        match operation:
            case "DROP COLUMNS":
                found |= {tuple(_parts(name)) for name in json.loads(parameters["columns"])}
            case "RENAME COLUMN":
                found.add(tuple(_parts(parameters["oldColumnPath"])))
    return found


def _parts(path: str) -> Iterator[str]:
    """Yield the names of a path as Delta's history writes it. Names with other characters are in backticks."""
    for quoted_part, part in _PART.findall(path):
        yield quoted_part.replace("``", "`") or part
