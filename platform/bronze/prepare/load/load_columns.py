"""The columns of a load: the schema of the table, and what files and rows add to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from tidegate.platform.bronze.prepare.formats.format import Known, SourceFile
from tidegate.platform.bronze.prepare.load.candidates import group_files
from tidegate.platform.bronze.prepare.load.row_counts import RowCounts
from tidegate.platform.bronze.prepare.load.source_columns import SOURCE_FIELDS
from tidegate.platform.bronze.prepare.load.suppressed_rows import stage_suppressed
from tidegate.platform.bronze.prepare.table_columns import (
    path_columns,
    present_schema,
    refusal,
    require_columns,
    rescued_column,
    unborn_schema,
    with_configured,
    with_rescued,
)
from tidegate.platform.bronze.prepared_batch import PreparedBatch
from tidegate.platform.core.bronze.plan import BatchDraft
from tidegate.platform.core.errors import Misfit
from tidegate.platform.core.keys.object_key import partition_values
from tidegate.platform.core.keys.table_key import TableKey
from tidegate.platform.core.schema.column_reference import type_at
from tidegate.platform.core.schema.column_types import Field, Struct, Type, fold_name
from tidegate.platform.core.schema.names import SOURCE_COLUMNS, check_new_name
from tidegate.platform.core.schema.partitions import check_partition
from tidegate.platform.core.schema.sql_types import parse_sql_type
from tidegate.platform.core.schema.table_schema import TableSchema
from tidegate.platform.core.schema.type_union import narrowest_columns
from tidegate.platform.lake.lake import Table
from tidegate.platform.lake.suppression import Suppression


class LoadColumns:
    """The columns of one load: those that the table has, and those that files and their rows bring.

    Args:
        work: the batch that is prepared.
        prepared: has the schema, and takes the files that do not fit it.
        suppression: the subjects whose rows are left out.
    """

    def __init__(
        self, table: Table, work: BatchDraft, prepared: PreparedBatch, suppression: Suppression | None
    ) -> None:
        self._work, self._prepared, self._suppression = work, prepared, suppression
        self._spec, self._key, self._batches, self._delta = table.spec, table.key, table.batches, table.delta

    def begin(self, files: Sequence[SourceFile]) -> None:
        """Set the schema to the table's, or before its birth to the columns of lake.yaml and of the first path."""
        self._prepared.base = present_schema(self._spec, self._batches, self._delta, self._work)
        if self._prepared.base:
            self._prepared.schema = with_configured(self._spec, self._delta, self._work, self._prepared.base)
            return
        unborn = unborn_schema(self._spec, self._key, [file.candidate for file in files], SOURCE_COLUMNS)
        self._prepared.schema = unborn.with_leading_fields(SOURCE_FIELDS)

    def select_fitting(self, files: Sequence[SourceFile]) -> tuple[list[SourceFile], list[tuple[SourceFile, str]]]:
        """Return the files whose path and known columns fit the table, and the others, each with the reason.

        The columns of those that fit are in the schema.
        """
        before = self._prepared.schema
        fitting, misfits = self._add_fitting_columns(files, lambda _: None)
        if self._prepared.schema != before and refusal(self._delta, self._work, self._prepared.schema):
            # Delta refuses a column of at least one file. To find it, each file that brings columns is tried alone.
            self._prepared.schema = before
            fitting, misfits = self._add_fitting_columns(files, partial(require_columns, self._delta, self._work))
        return fitting, misfits

    def take(self, files: Sequence[SourceFile]) -> list[tuple[SourceFile, str]]:
        """Give the schema the columns of these files that it lacks: before the birth all, later new ones of headers.

        If a header brings a column, all files that may have it are asked for its type.

        Returns:
            The files whose columns Delta refuses, each with the reason. If there are any, the schema stays as it is.
        """
        schema = self._prepared.schema
        unborn = not schema.born
        # A header lists all names of its file. The names of a file without a header are in its rows.
        brings = {file.candidate.key for file in files if self.evolves and file.format.new_names(file, schema)}
        rows_name_more = unborn and any(file.format.has_unnamed_columns(file, schema) for file in files)
        learning = [
            file
            for file in files
            if file.candidate.key in brings or ((brings or rows_name_more) and not file.format.names_columns)
        ]
        return self.learn(learning) if unborn or learning else []

    def select_with_unknown_fields(
        self, files: Sequence[SourceFile], counted: Mapping[str, RowCounts]
    ) -> list[SourceFile]:
        """Return the files that have rows with fields which the schema lacks and may take."""
        return [file for file in files if self.evolves and counted[file.candidate.key].unknown]

    def learn(self, files: Sequence[SourceFile]) -> list[tuple[SourceFile, str]]:
        """Give the schema the columns, and fields, of the rows of files that it lacks, all at once.

        Returns:
            The files whose columns Delta refuses, each with the reason. If there are any, the schema stays as it is.
        """
        before = self._prepared.schema
        wider = replace(with_rescued(self._spec, before.with_missing_fields(self._infer_columns(files))), born=True)
        reason = refusal(self._delta, self._work, wider) if files and wider.fields != before.fields else None
        if reason is None:
            self._prepared.schema = wider
            return []
        if len(files) == 1:
            return [(files[0], reason)]
        half = len(files) // 2
        refused = [*self.learn(files[:half]), *self.learn(files[half:])]
        if refused:
            self._prepared.schema = before
        return refused

    def select_hopeless(self, files: Sequence[SourceFile], counted: Mapping[str, RowCounts]) -> list[SourceFile]:
        """Return the files that have rows, but no good row and no row that new columns could make good."""
        evolves = self.evolves
        counts = [(file, counted.get(file.candidate.key)) for file in files]
        return [file for file, count in counts if count and not count.good and not (evolves and count.unknown)]

    @property
    def evolves(self) -> bool:
        """Whether rows may bring columns. Before the birth, the rows of any table may."""
        return self._prepared.base is None or self._spec.policy == "evolve"

    def _add_fitting_columns(
        self, files: Sequence[SourceFile], check: Callable[[TableSchema], None]
    ) -> tuple[list[SourceFile], list[tuple[SourceFile, str]]]:
        """Add the columns of the files that fit to the schema. Returns these files, and the others with the reason."""
        fitting, misfits = [], []
        for file in files:
            before = self._prepared.schema
            try:
                values = path_columns(self._spec, self._key, file.candidate, before, SOURCE_COLUMNS)
                check_partition(values, before.partition_fields)
                self._check(file)
                if self._prepared.schema != before:
                    check(self._prepared.schema)
            except ValueError as misfit:
                self._prepared.schema = before
                misfits.append((file, str(misfit)))
            else:
                fitting.append(file)
        return fitting, misfits

    def _check(self, file: SourceFile) -> None:
        schema, policy = self._prepared.schema, self._spec.policy
        if file.fields is not None:
            file.format.check_path(file, path_values(self._key, file))
            # Before the birth the types are those of the first file, and wider types of later files are accepted.
            self._prepared.schema = schema.accept_fields(file.fields, policy, reserved=SOURCE_COLUMNS)
        elif schema.born and policy == "strict" and (new := file.format.new_names(file, schema)):
            raise Misfit(f"column {min(new)} is not in the table, and its `schema` in lake.yaml is strict")
        elif policy == "evolve":
            for name in file.format.new_names(file, schema):
                check_new_name(name, schema.reserved)

    def _infer_columns(self, files: Sequence[SourceFile]) -> list[Field]:
        """Return the columns of files, each once. A column that lake.yaml declares has the declared type."""
        declared = {fold_name(name): parse_sql_type(kind) for name, kind in self._spec.columns.items()}
        schema = with_rescued(self._spec, self._prepared.schema.without_columns(SOURCE_COLUMNS))
        not_in_files = {fold_name(name) for name in (*schema.partitions, rescued_column(self._spec) or "")}
        known = replace(schema, reserved=schema.reserved - not_in_files)
        asked, found = known, self._columns_of_rows(files, known)
        while (subjects := self._subjects(asked, found)) != asked:
            # Only now is it known which columns say whose a row is. The answer without the rows of forgotten persons
            # replaces the one with them, and it may show more such columns.
            asked, found = subjects, self._columns_of_rows(files, subjects)
        if asked != known:
            # A load finds the rows of forgotten persons by these columns, even if no other row has them.
            found = [*TableSchema(tuple(found)).with_missing_fields(asked.columns).columns]
        return [
            replace(field, type=declared.get(fold_name(field.name), field.type))
            for field in found
            if fold_name(field.name) not in not_in_files and self._may_join(field.name)
        ]

    def _columns_of_rows(self, files: Sequence[SourceFile], known: TableSchema) -> list[Field]:
        """Return the columns that the rows show which a load with the known columns takes."""
        by_format: dict[str, list[list[SourceFile]]] = {}
        for group in group_files(files):
            by_format.setdefault(group[0].format.name, []).append(group)
        rescued = rescued_column(self._spec)
        with stage_suppressed(self._delta, self._suppression, known) as left_out:
            refusing = {"n": self._work.n, "partitions": known.partitions, "rescued": rescued, **left_out}
            asked = Known(known, refusing, partial(path_values, self._key))
            return narrowest_columns(
                groups[0][0].format.infer(self._delta, groups, self._spec, asked) for groups in by_format.values()
            )

    def _subjects(self, known: TableSchema, found: Sequence[Field]) -> TableSchema:
        """Return the known columns, and those columns and nested fields that identify suppressed subjects."""
        if self._suppression is None:
            return known
        columns = known.with_missing_fields(found).columns
        for path in self._suppression.paths(columns):
            known = known.with_missing_fields([_single_field_column(path, type_at(path, columns))])
        return known

    def _may_join(self, name: str) -> bool:
        schema = self._prepared.schema
        try:
            if schema.find_column(name) is None:
                check_new_name(name, schema.reserved)
        except Misfit:
            return False
        return True


def _single_field_column(path: Sequence[str], kind: Type) -> Field:
    """Return a column of a type; for the path of a nested field, structs that have only this field."""
    for name in reversed(path[1:]):
        kind = Struct((Field(name, kind),))
    return Field(path[0], kind)


def path_values(key: TableKey, file: SourceFile) -> Mapping[str, str | None]:
    """Return the values of the columns that the path of a file has."""
    return partition_values(file.candidate.key, key.prefix)
