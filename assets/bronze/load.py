"""Step 2 for loaded tables: read rows with Spark and stage them as Parquet in the table's directory, uncommitted."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType
from ulid import ULID

from tidegate.assets.bronze.csv_bytes import csv_problem
from tidegate.assets.bronze.parquet_footers import parquet_footers
from tidegate.assets.bronze.prepared import Prepared
from tidegate.assets.bronze.rows import BAD, RAW, SUSPECT, read_group
from tidegate.assets.bronze.source_files import SourceFile, source_file
from tidegate.platform.core.object_key import partition_values
from tidegate.platform.core.planning import Candidate, Found, Plan
from tidegate.platform.core.schema import SOURCE_COLUMNS, Misfit, check_fit, check_partition, json_type
from tidegate.resources.lake import Lake, Table
from tidegate.resources.lake_root.births import Birth
from tidegate.resources.object_store import ObjectForbidden, StoreError, parallel

#: Messages of errors that are the store's, not the file's.
_TRANSIENT = re.compile(r"503|500 Internal|SlowDown|SocketTimeout|ConnectException|Connection reset|timed out", re.I)


@dataclass(frozen=True)
class _Counted:
    good: int
    bad: int
    suspect: int = 0


class _Load:
    """One preparation: its handles and what it knows of the table."""

    def __init__(self, lake: Lake, table: Table, birth: Birth, n: int, plan: Plan) -> None:
        self.lake, self.table, self.birth, self.n, self.plan = lake, table, birth, n, plan
        self.state = lake.delta.table_state(birth.location)
        self.prepared = Prepared()
        self.partitions: dict[str, str] = {}

    def run(self) -> Prepared:
        """Prepare all candidates."""
        files = []
        for candidate, result in parallel(self._source, self.plan.candidates):
            match result:
                case SourceFile():
                    files.append(result)
                case Misfit():
                    self.prepared.quarantine(self.plan, candidate, str(result))
                case ObjectForbidden():
                    self.prepared.refused(self.plan, candidate, str(result))
                case StoreError():
                    self.prepared.defer(self.plan, candidate)
        self._stage(self._fitting(self._with_fields(files)))
        return self.prepared

    def _source(self, candidate: Candidate) -> tuple[Candidate, SourceFile | Misfit | StoreError]:
        try:
            return candidate, source_file(self.lake, self.table, candidate)
        except (Misfit, StoreError) as error:
            return candidate, error

    def _with_fields(self, files: Sequence[SourceFile]) -> list[SourceFile]:
        """The files, those in Parquet with their columns: Spark reads what it is asked for and drops the rest."""
        parquet = [file.candidate for file in files if file.format == "parquet"]
        bucket = self.table.key.bucket
        footers = parquet_footers(self.lake.store.objects, bucket, parquet, self.plan, self.prepared)
        fields = {candidate.key: footer.fields for candidate, footer in footers}
        ready = [file for file in files if file.format != "parquet" or file.candidate.key in fields]
        return [replace(file, fields=fields.get(file.candidate.key, ())) for file in ready]

    def _fitting(self, files: Iterable[SourceFile]) -> list[SourceFile]:
        """The files whose path values fit the table."""
        todo = list(files)
        if todo:
            self._set_partitions(todo[0])
        types = {name: json_type(kind) for name, kind in self.partitions.items()}
        fitting = []
        for file in todo:
            try:
                check_partition(partition_values(file.candidate.key, self.table.key.prefix), types)
                fitting.append(file)
            except ValueError as misfit:
                self.prepared.quarantine(self.plan, file.candidate, str(misfit))
        return fitting

    def _set_partitions(self, first: SourceFile) -> None:
        """Columns that come from the path, with their SQL types: the table's, else the configured, else strings."""
        if self.state.has_columns:
            kinds = self.state.partition_types
            self.partitions = {name: kinds[name] for name in self.state.partition_columns}
        else:
            self.partitions = dict(self.table.spec.partition_columns) or dict.fromkeys(
                partition_values(first.candidate.key, self.table.key.prefix), "string"
            )

    def _stage(self, files: Sequence[SourceFile]) -> None:
        """Stage a set; a set that fails is halved until the poison file is alone, which is quarantined."""
        files = self._knowing(files)
        if not files:
            return
        try:
            again = self._stage_once(files)
        except PySparkException as error:
            self.lake.delta.require_session()
            if len(files) > 1:
                half = len(files) // 2
                self._stage(files[:half])
                self._stage(files[half:])
            else:
                self._poisoned(files[0], error)
            return
        self._stage(again)

    def _knowing(self, files: Sequence[SourceFile]) -> list[SourceFile]:
        """The files whose columns the table has; at its birth, those that the first staged part has given it."""
        schema = self.state.schema if self.state.has_columns else self.prepared.schema
        if schema is None:
            return list(files)
        from_path = {name.lower() for name in self.partitions}
        fixed = {*SOURCE_COLUMNS, *self.partitions}
        schema = {"fields": [field for field in schema["fields"] if field["name"] not in fixed]}
        known = {field["name"].lower() for field in schema["fields"]}
        fitting = []
        for file in files:
            try:
                if unknown := [name for name in file.header if name.lower() not in known]:
                    raise Misfit(f"column {unknown[0]} is not in the table; schema evolution is not enabled")
                check_fit([field for field in file.fields if field.name.lower() not in from_path], (), schema)
                fitting.append(file)
            except Misfit as misfit:
                self.prepared.quarantine(self.plan, file.candidate, str(misfit))
        return fitting

    def _end(self, candidate: Candidate, counted: _Counted, apart: str | None) -> None:
        if not counted.bad:
            self.prepared.commit(self.plan, candidate, rows=counted.good)
        elif counted.good:
            reason = f"{counted.bad} of its {counted.good + counted.bad} rows do not fit the table; see {apart}"
            self.prepared.commit(self.plan, candidate, rows=counted.good, bad_rows=counted.bad, reason=reason)
        else:
            self.prepared.quarantine(
                self.plan, candidate, f"none of its {counted.bad} rows fits the table; see {apart}"
            )

    def _poisoned(self, file: SourceFile, error: PySparkException) -> None:
        probed = self.lake.store.objects.head(self.table.key.bucket, file.candidate.key)
        intact = isinstance(probed, Found) and probed.etag == file.candidate.found.etag
        text = str(error)
        if not intact or _TRANSIENT.search(text):
            self.prepared.defer(self.plan, file.candidate)
        else:
            self.prepared.quarantine(self.plan, file.candidate, f"Spark cannot read it: {text.splitlines()[0][:500]}")

    def _changed(self, files: Sequence[SourceFile]) -> set[str]:
        """Keys whose object is no longer the one that was read."""
        probes = self.lake.store.objects.head_many(self.table.key.bucket, [file.candidate.key for file in files])
        return {
            file.candidate.key
            for file in files
            if not isinstance(found := probes[file.candidate.key], Found) or found.etag != file.candidate.found.etag
        }

    def _stage_once(self, files: Sequence[SourceFile]) -> list[SourceFile]:
        """Stage a set; when some files prove unfit, they are ended and the others returned, to be staged again."""
        delta = self.lake.delta
        rows = self._rows(files).persist()
        try:
            counted = self._count(rows)
            sound = self._without_misread(files, counted)
            if len(sound) < len(files):
                return sound
            apart = self._set_apart(rows) if any(count.bad for count in counted.values()) else None
            good = rows.where(F.col(BAD).isNull()).drop(BAD, RAW, SUSPECT)
            if self.prepared.schema is None:
                self._set_schema(good.schema)
            view = f"staged_{ULID()}".lower()
            good.createOrReplaceTempView(view)
            adds = delta.stage(
                self.birth.location,
                f"SELECT * FROM {view}",
                self.prepared.schema or {},
                self.prepared.partition_columns,
            )
            delta.session.catalog.dropTempView(view)
        finally:
            rows.unpersist()
        if changed := self._changed(files):
            for file in files:
                if file.candidate.key in changed:
                    self.prepared.defer(self.plan, file.candidate)
            return [file for file in files if file.candidate.key not in changed]
        self.prepared.adds += adds
        for file in files:
            self._end(file.candidate, counted.get(file.candidate.key, _Counted(0, 0)), apart)
        return []

    def _without_misread(self, files: Sequence[SourceFile], counted: dict[str, _Counted]) -> list[SourceFile]:
        """The files without those whose bytes are not what Spark took them for."""
        suspects = [file for file in files if (count := counted.get(file.candidate.key)) and count.suspect]
        ended = set()
        for file, problem in parallel(self._problem, suspects):
            if problem is None:
                continue
            ended.add(file.candidate.key)
            if isinstance(problem, StoreError):
                self.prepared.defer(self.plan, file.candidate)
            else:
                self.prepared.quarantine(self.plan, file.candidate, problem)
        return [file for file in files if file.candidate.key not in ended]

    def _problem(self, file: SourceFile) -> tuple[SourceFile, str | StoreError | None]:
        key, etag = file.candidate.key, file.candidate.found.etag
        try:
            with self.lake.store.objects.reading(self.table.key.bucket, key, etag) as body:
                return file, csv_problem(body, packed=key.endswith(".gz"))
        except StoreError as error:
            return file, error

    def _rows(self, files: Sequence[SourceFile]) -> DataFrame:
        """The rows of all files with the table's columns, the source columns, BAD and RAW."""
        session = self.lake.delta.session
        groups: dict[tuple[str, tuple[str, ...]], list[SourceFile]] = {}
        for file in files:
            groups.setdefault((file.format, file.header), []).append(file)
        types = self._column_types(groups)
        frames = [
            read_group(session, format, [file.path for file in group], header, types)
            for (format, header), group in groups.items()
        ]
        union = frames[0]
        for frame in frames[1:]:
            union = union.unionByName(frame)
        joined = union.join(F.broadcast(session.createDataFrame(self._sources(files))), "_path", "left").drop("_path")
        order = [*types, *self.partitions, *SOURCE_COLUMNS, BAD, RAW, SUSPECT]
        typed = {name: F.col(f"_p_{i}").cast(kind) for i, (name, kind) in enumerate(self.partitions.items())}
        return joined.withColumns(
            {
                **typed,
                "_ingested_at": F.current_timestamp(),
                "_batch": F.lit(self.n).cast("bigint"),
            }
        ).select(*order)

    def _column_types(self, groups: dict[tuple[str, tuple[str, ...]], list[SourceFile]]) -> dict[str, str]:
        """SQL types of the data columns: the table's; at its birth inferred, and overridden by the configuration."""
        if self.prepared.schema is not None:
            known = self.prepared.schema
        elif self.state.has_columns:
            self.prepared.schema, self.prepared.partition_columns = (
                self.state.schema,
                self.state.partition_columns,
            )
            known = self.state.schema
        else:
            return self._inferred(groups)
        fixed = {*SOURCE_COLUMNS, *self.partitions}
        return {
            field.name: field.dataType.simpleString() for field in StructType.fromJson(known) if field.name not in fixed
        }

    def _inferred(self, groups: dict[tuple[str, tuple[str, ...]], list[SourceFile]]) -> dict[str, str]:
        reader = self.lake.delta.session.read
        found: dict[str, str] = {}
        spelled: dict[str, str] = {}
        for (format, _), files in groups.items():
            paths = [file.path for file in files]
            if format == "csv":
                schema = reader.csv(paths, header=True, inferSchema=True, escape='"', multiLine=True).schema
            elif format == "json":
                schema = reader.json(paths, columnNameOfCorruptRecord="_corrupt_record").schema
            else:
                schema = reader.option("mergeSchema", "true").parquet(*paths).schema
            for field in schema:
                if field.name == "_corrupt_record" or field.name in self.partitions:
                    continue
                name = spelled.setdefault(field.name.lower(), field.name)
                kind = field.dataType.simpleString()
                found[name] = kind if found.get(name, kind) == kind else "string"
        for column, kind in self.table.spec.columns.items():
            found[spelled.get(column.lower(), column)] = kind
        return found

    def _sources(self, files: Sequence[SourceFile]) -> pa.Table:
        rows = []
        for file in files:
            candidate = file.candidate
            time = candidate.taken.hint.event_time
            values = partition_values(candidate.key, self.table.key.prefix)
            lowered = {name.lower(): value for name, value in values.items()}
            rows.append(
                {
                    "_path": file.path,
                    "_source_path": f"s3://{self.table.key.bucket}/{candidate.key}",
                    "_source_etag": candidate.found.etag,
                    "_source_event_time": datetime.fromisoformat(time) if time else None,
                    **{f"_p_{i}": lowered[name.lower()] for i, name in enumerate(self.partitions)},
                }
            )
        columns: list[tuple[str, Any]] = [
            ("_path", pa.string()),
            ("_source_path", pa.string()),
            ("_source_etag", pa.string()),
            ("_source_event_time", pa.timestamp("us", "UTC")),
        ]
        columns += [(f"_p_{i}", pa.string()) for i in range(len(self.partitions))]
        return pa.Table.from_pylist(rows, schema=pa.schema(columns))

    def _count(self, rows: DataFrame) -> dict[str, _Counted]:
        bucket = f"s3://{self.table.key.bucket}/"
        counts = {"all": F.count("*"), "bad": F.count(BAD), "suspect": F.count_if(SUSPECT)}
        found = rows.groupBy("_source_path").agg(*[count.alias(name) for name, count in counts.items()]).collect()
        if any(row["_source_path"] is None for row in found):
            raise RuntimeError(
                f"Spark reported rows of {self.table.text} under a path that was not asked for; nothing was "
                "staged. Please report this with the keys of the batch"
            )
        return {
            row["_source_path"][len(bucket) :]: _Counted(row["all"] - row["bad"], row["bad"], row["suspect"])
            for row in found
        }

    def _set_apart(self, rows: DataFrame) -> str:
        """Keep the bad rows; where. A folder that the ledger does not name is of an attempt that came to nothing."""
        folder = self.lake.store.quarantine.new_folder(self.table.text, self.n)
        bad = rows.where(F.col(BAD).isNotNull()).select(
            "_source_path", "_source_etag", F.col(BAD).alias("reason"), F.col(RAW).alias("raw")
        )
        bad.write.json(folder)
        return folder

    def _set_schema(self, schema: StructType) -> None:
        body = json.loads(schema.json())
        for field in body["fields"]:
            field["nullable"], field["metadata"] = True, {}
        self.prepared.schema, self.prepared.partition_columns = body, tuple(self.partitions)
        self.prepared.gives_columns = True


def prepare_load(lake: Lake, table: Table, birth: Birth, n: int, plan: Plan) -> Prepared:
    """Stage the rows of all candidates as Parquet in the table's directory, uncommitted.

    Rows that do not fit are set apart under ``quarantine/rows`` with their source, reason and raw text, in a folder
    that the ledger's reason names; files that cannot be read are quarantined; files that changed while they were read
    are deferred.
    """
    return _Load(lake, table, birth, n, plan).run()
