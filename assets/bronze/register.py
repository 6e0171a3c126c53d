"""Step 2 for registered tables: read every file's footer; the files stay where they lie."""

from __future__ import annotations

from urllib.parse import quote

from tidegate.assets.bronze.parquet_footers import parquet_footers
from tidegate.assets.bronze.prepared import Prepared
from tidegate.platform.core.batch import Add
from tidegate.platform.core.file_format import format_of
from tidegate.platform.core.footers import Footer
from tidegate.platform.core.object_key import partition_values
from tidegate.platform.core.planning import Candidate, Plan
from tidegate.platform.core.schema import Misfit, birth_schema, check_fit, check_partition, json_type
from tidegate.resources.lake import Lake, Table
from tidegate.resources.lake_root.births import Birth


def prepare_register(lake: Lake, table: Table, birth: Birth, plan: Plan) -> Prepared:
    """Read the footers of all candidates and turn them into add actions.

    A file that cannot be read as Parquet, or does not fit the table, is quarantined; one that changed since the look,
    or that S3 did not give, is deferred.
    """
    prepared = Prepared()
    registrable = []
    for candidate in plan.candidates:
        if reason := _unregistrable(table, candidate):
            prepared.quarantine(plan, candidate, reason)
        else:
            registrable.append(candidate)
    good = parquet_footers(lake.store.objects, table.key.bucket, registrable, plan, prepared)
    _set_schema(lake, table, birth, good, prepared)
    kinds = {field["name"]: field["type"] for field in (prepared.schema or {"fields": []})["fields"]}
    types = {name: kinds[name] for name in prepared.partition_columns}
    spelling = {name.lower(): name for name in kinds if name not in types}
    for candidate, footer in good:
        try:
            values = check_partition(partition_values(candidate.key, table.key.prefix), types)
            check_fit(footer.fields, prepared.partition_columns, prepared.schema or {})
        except Misfit as misfit:
            prepared.quarantine(plan, candidate, str(misfit))
            continue
        prepared.adds.append(
            Add(
                path=log_path(candidate.key, table.key.prefix),
                partition_values=values,
                size=candidate.found.size,
                modification_time=candidate.found.modification_time,
                stats=footer.stats(spelling),
                etag=candidate.found.etag,
                source_key=candidate.key,
            )
        )
        prepared.commit(plan, candidate, rows=footer.rows)
    return prepared


def log_path(key: str, prefix: str) -> str:
    """The one spelling of a key in the Delta log: relative to the table, percent-encoded as UTF-8."""
    return quote(key[len(prefix) :], safe="/=~")


def _unregistrable(table: Table, candidate: Candidate) -> str | None:
    if (table.spec.format or format_of(candidate.key)) != "parquet":
        return "only Parquet files can be registered; configure the table with mode: load"
    if "//" in candidate.key[max(0, len(table.key.prefix) - 1) :]:
        return "its key has an empty folder name, which Spark cannot address; write it under another key"
    if candidate.found.size == 0:
        return "empty file"
    return None


def _set_schema(
    lake: Lake, table: Table, birth: Birth, good: list[tuple[Candidate, Footer]], prepared: Prepared
) -> None:
    state = lake.delta.table_state(birth.location)
    if state.has_columns:
        prepared.schema, prepared.partition_columns = state.schema, state.partition_columns
    elif good:
        declared = table.spec.partition_columns
        names = declared or dict.fromkeys(partition_values(good[0][0].key, table.key.prefix), "string")
        for kind in (*table.spec.columns.values(), *names.values()):
            json_type(kind)
        prepared.schema = birth_schema([footer.fields for _, footer in good], names, table.spec.columns)
        prepared.partition_columns = tuple(names)
        prepared.gives_columns = True
