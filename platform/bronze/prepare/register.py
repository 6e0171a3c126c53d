"""Step 2 for registered tables: read the footer of each file. The files stay where they are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from tidegate.platform.bronze.prepare.parquet_candidates import Ready, check_both, copy_files, parquet_footers
from tidegate.platform.bronze.prepare.table_columns import (
    path_columns,
    present_schema,
    refusal,
    require_columns,
    unborn_schema,
)
from tidegate.platform.bronze.prepared_batch import PreparedBatch
from tidegate.platform.core.bronze.batch import Add
from tidegate.platform.core.bronze.plan import BatchDraft, Candidate
from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.core.files.parquet.footer import Footer
from tidegate.platform.core.keys.file_format import FORMATS, format_of
from tidegate.platform.core.keys.log_paths import copy_key, copy_path, log_path
from tidegate.platform.core.keys.s3_address import S3Address
from tidegate.platform.core.keys.table_key import TableKey
from tidegate.platform.core.schema.column_ids import PRODUCERS_NAMES
from tidegate.platform.core.schema.column_types import fold_name
from tidegate.platform.core.schema.partitions import check_partition
from tidegate.platform.core.schema.table_schema import TableSchema
from tidegate.platform.lake.lake import Table
from tidegate.platform.lake.parquet.copies import ParquetCopy
from tidegate.platform.lake.spark.delta import Delta


@dataclass(frozen=True)
class _MergedColumns:
    """A schema, and the files that were added to it.

    Attributes:
        schema: has the columns of all files that fit.
        fitting: files that fit, each with its partition values.
        misfits: the other files, each with the reason.
    """

    schema: TableSchema
    fitting: list[tuple[Candidate, Footer, ParquetCopy | None, dict[str, str | None]]]
    misfits: list[tuple[Candidate, str]]


def prepare_register(table: Table, work: BatchDraft) -> PreparedBatch:
    """Read the footers of all candidates and turn them into add actions.

    A file that cannot be read as Parquet, or does not fit the table, is quarantined. A file that changed since the
    look, or that S3 did not return, is deferred. If Spark would misread a file, a copy enters the table instead.
    """
    prepared = PreparedBatch(work.plan)
    registrable = []
    live = _live_candidates(table.key, table.delta, work)
    for candidate in work.plan.candidates:
        if candidate.key in live:
            prepared.commit(candidate, rows=0, reason="another writer's commit had added it to the table")
        elif reason := _registration_problem(table.spec, table.key, candidate):
            prepared.quarantine(candidate, reason)
        else:
            registrable.append(candidate)
    good = parquet_footers(table.source, registrable, prepared)
    prepared.base = present_schema(table.spec, table.batches, table.delta, work)
    ready = copy_files(
        table.source,
        _mark_spellings(good, prepared.base),
        lambda candidate: S3Address(table.key.bucket, copy_key(candidate.key, candidate.found.etag, table.key.prefix)),
        prepared,
    )
    before = prepared.base or replace(
        unborn_schema(table.spec, table.key, [candidate for candidate, _ in good]), ids=PRODUCERS_NAMES
    )
    taken = _take(table.spec, table.key, ready, before, lambda _: None)
    if taken.fitting and taken.schema != prepared.base and refusal(table.delta, work, taken.schema):
        # Delta refuses a column of at least one file. To find it, each file that brings columns is tried alone.
        taken = _take(table.spec, table.key, ready, before, partial(require_columns, table.delta, work))
    prepared.schema = taken.schema
    for candidate, reason in taken.misfits:
        prepared.quarantine(candidate, reason)
    # The read of a footer returns no checksum.
    without = [candidate.key for candidate, *_ in taken.fitting if candidate.found.needs_checksum]
    probes = table.source.head_many(without)
    for candidate, footer, copy, values in taken.fitting:
        prepared.adds.append(_add(table.key, candidate, footer, copy, values, prepared.schema))
        prepared.commit(candidate.with_checksum_of(probes.get(candidate.key)), rows=footer.rows)
    return prepared


def _live_candidates(key: TableKey, delta: Delta, work: BatchDraft) -> set[str]:
    """Return the keys of the candidates that DELETE, UPDATE or OPTIMIZE wrote, and that are live in the table.

    S3 reports such a file like any other file. A batch with the file is void because the file is live already, and the
    file's hint returns to the inbox. Without this check each later batch would be void too. So the table is read only
    after a void batch.
    """
    if work.previous is None or work.previous.outcome != "void":
        return set()
    paths = {log_path(candidate.key, key.prefix): candidate.key for candidate in work.plan.candidates}
    return {paths[path] for path in delta.live_entries(work.birth.location, list(paths))}


def _registration_problem(spec: TableSpec, key: TableKey, candidate: Candidate) -> str | None:
    format = spec.format or format_of(candidate.key)
    if format is None or "register" not in FORMATS[format].modes:
        return (
            "this table registers Parquet files, and this is none: put it below another table's prefix, or delete it. "
            "If no file of the table is Parquet, start the table over with `mode: load`"
        )
    if "//" in candidate.key[max(0, len(key.prefix) - 1) :]:
        return "its key has an empty folder name, which Spark cannot address; write it under another key"
    if candidate.found.size == 0:
        return "empty file"
    return None


def _mark_spellings(files: list[tuple[Candidate, Footer]], base: TableSchema | None) -> list[tuple[Candidate, Footer]]:
    """Mark a file for a copy if it spells a column differently than the table or the first file with the column."""
    spelling = dict(base.spelling) if base else {}
    found = []
    for candidate, footer in files:
        found.append((candidate, footer.with_spelling(spelling)))
        for field in footer.fields:
            spelling.setdefault(fold_name(field.name), field.name)
    return found


def _take(
    spec: TableSpec,
    key: TableKey,
    ready: Sequence[Ready],
    schema: TableSchema,
    check: Callable[[TableSchema], None],
) -> _MergedColumns:
    """Add the columns of one file after the other to the schema. `check` is called with each changed schema."""
    fitting, misfits = [], []
    for candidate, footer, copy in ready:
        try:
            values = check_partition(path_columns(spec, key, candidate, schema), schema.partition_fields)
            check_both(footer, values)
            wider = schema.accept_fields(footer.fields, spec.policy)
            if wider != schema:
                check(wider)
        except ValueError as misfit:
            misfits.append((candidate, str(misfit)))
        else:
            schema = wider
            fitting.append((candidate, footer, copy, values))
    return _MergedColumns(schema, fitting, misfits)


def _add(
    key: TableKey,
    candidate: Candidate,
    footer: Footer,
    copy: ParquetCopy | None,
    values: dict[str, str | None],
    schema: TableSchema,
) -> Add:
    stats = footer.stats(schema.spelling, schema.unmeasured)
    if copy:
        path = copy_path(candidate.key, candidate.found.etag, key.prefix)
        return Add(path, values, copy.size, copy.modification_time, stats)
    return Add(
        path=log_path(candidate.key, key.prefix),
        partition_values=values,
        size=candidate.found.size,
        modification_time=candidate.found.modification_time,
        stats=stats,
        etag=candidate.found.etag,
        source_key=candidate.key,
    )
