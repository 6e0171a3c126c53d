"""Step 2 for loaded tables: read rows with Spark and stage them as Parquet in the table's directory, uncommitted."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from tidegate.platform.bronze.prepare.file_access import file_access
from tidegate.platform.bronze.prepare.formats.format import SourceFile
from tidegate.platform.bronze.prepare.load.candidates import find_misread, group_files, loadable
from tidegate.platform.bronze.prepare.load.faulty_files import FaultyFiles, exclude_files
from tidegate.platform.bronze.prepare.load.load_columns import LoadColumns, path_values
from tidegate.platform.bronze.prepare.load.repeated_messages import drop_repeated_messages
from tidegate.platform.bronze.prepare.load.replaced_rows import Replacing
from tidegate.platform.bronze.prepare.load.row_counts import RowCounts, require_all
from tidegate.platform.bronze.prepare.load.server_losses import quarantine_reason, sets_to_read
from tidegate.platform.bronze.prepare.load.source_columns import source, source_address
from tidegate.platform.bronze.prepare.load.suppressed_rows import stage_suppressed
from tidegate.platform.bronze.prepare.table_columns import rescued_column
from tidegate.platform.bronze.prepared_batch import PreparedBatch, keep_named_folders
from tidegate.platform.core.bronze.batch import Add
from tidegate.platform.core.bronze.object_state import S3Found
from tidegate.platform.core.bronze.plan import BATCH_BYTES, BatchDraft, Candidate
from tidegate.platform.core.config.after_load import move_target, moved_key
from tidegate.platform.core.keys.object_key import key_length_problem, partition_folders
from tidegate.platform.core.keys.s3_address import S3Address
from tidegate.platform.core.schema.names import SOURCE_COLUMNS
from tidegate.platform.core.schema.table_schema import TableSchema
from tidegate.platform.lake.aws.s3 import StoreError
from tidegate.platform.lake.lake import Table

#: As long as the longest name that Spark gives a file.
_STAGED_NAME = "part-00000-00000000-0000-0000-0000-000000000000.c000.snappy.parquet" + "-" * 20


@dataclass(frozen=True)
class Staged:
    """A set of files that are staged.

    Attributes:
        files: the set.
        staging: `s3a://` URI of the folder that has their data files.
        adds: the data files.
        counted: the counts of their rows, by key.
        bad_rows_folder: `s3a://` URI of the folder of their bad rows.
    """

    files: Sequence[SourceFile]
    staging: str
    adds: Sequence[Add]
    counted: Mapping[str, RowCounts]
    bad_rows_folder: str


class Load:
    """One preparation: its handles and its knowledge of the table. Those of outputs are variants of it.

    The rows of all candidates are staged as Parquet in the table's directory, uncommitted. Rows that do not fit are
    quarantined below `quarantine/rows` with their source, reason and raw text. The ledger's column `bad_rows_folder`
    names their folder. Files that cannot be read are quarantined. Files that changed while they were read are deferred.
    If a redrive or a rebuild reads a file again, the batch removes the rows that the table has of it.
    """

    def __init__(self, table: Table, work: BatchDraft) -> None:
        self.work, self.plan = work, work.plan
        self.spec, self.key, self.table_key, self.batches = table.spec, table.key, table.table_key, table.batches
        self.source, self.delta, self.store = table.source, table.delta, table.lake.store
        self.prepared = PreparedBatch(work.plan)
        # Read after the clock: a later request to forget is worked off by a later batch, which sees this one's rows.
        self.suppression = table.lake.suppression(table.spec) if table.spec.personal else None
        self.columns = LoadColumns(table, work, self.prepared, self.suppression)
        self.is_discreet = table.spec.personal is not None
        self.access = file_access(table)
        self.faulty = FaultyFiles(self.access, self.is_discreet, self.prepared, self._changed_keys)
        self.staged: list[Staged] = []
        self.misfits: list[tuple[SourceFile, str]] = []  # each with the reason, unless another file's columns go
        self.seen: dict[str, S3Found] = {}  # by HEAD after the read: a read of a footer returns no checksum

    def run(self) -> PreparedBatch:
        """Prepare all candidates. If that fails, the rows that were quarantined are removed.

        Raises:
            StoreError: S3 did not answer.
            SparkUnreachable: the Spark server was lost while it read files.
            PySparkException: Spark failed, and no file is known to be at fault.
        """
        try:
            return self._run()
        except Exception:
            with suppress(StoreError):
                keep_named_folders(self.store, self.prepared, ())
            raise

    def _run(self) -> PreparedBatch:
        replacing = Replacing(self.delta, self.key.bucket, self.work)
        candidates = self._select_to_read(self.plan.candidates, replacing)
        self._read(loadable(self.spec, self.access, candidates, self.prepared))
        # If files were read again, with other columns or in another way, no row names the folder of the first read.
        keep_named_folders(self.store, self.prepared, self.prepared.rows)
        if self.spec.row_queue:
            drop_repeated_messages(self.source, self.delta, self.batches, self.work, self.prepared, replacing)
        replacing.finish(self.prepared)
        return self.prepared

    def _select_to_read(self, candidates: Sequence[Candidate], replacing: Replacing) -> list[Candidate]:
        """Return the candidates to read now.

        Candidates that killed the server are quarantined. Candidates, and objects that are gone, are deferred if they
        would make the batch write too many of the table's rows again.
        """
        innocent = []
        for candidate in candidates:
            if reason := quarantine_reason(self.plan, candidate):
                self.prepared.quarantine(candidate, reason)
            else:
                innocent.append(candidate)
        late = replacing.find(innocent, BATCH_BYTES)
        for key in late & self.plan.leaving.keys():
            self.prepared.keep_rows(key)
        for candidate in innocent:
            if candidate.key in late:
                self.prepared.defer(candidate)
        return [candidate for candidate in innocent if candidate.key not in late]

    def _begin(self, files: Sequence[SourceFile]) -> None:
        """Set the schema with which the files are read."""
        self.columns.begin(files)

    def _select_fitting(self, files: Iterable[SourceFile]) -> list[SourceFile]:
        """Return the files whose path and known columns fit the table. Of the others, `misfits` may fit later."""
        short = []
        for file in files:
            if why := self._key_length_problem(file):
                self.prepared.quarantine(file.candidate, why)
            else:
                short.append(file)
        fitting, self.misfits = self.columns.select_fitting(short)
        return fitting

    def _key_length_problem(self, file: SourceFile) -> str | None:
        """Say why S3 would refuse a key that is made of a file's key: that of its rows, or that of its move."""
        try:
            folders = partition_folders(self._path_values(file))
        except ValueError:
            return None  # Its path makes it a misfit, with a reason of its own.
        staged = f"{S3Address.parse_s3a(self.work.birth.location).key}/{folders}{_STAGED_NAME}"
        moved = move_target(self.spec.after_load)
        candidate, prefix = file.candidate, self.key.prefix
        target = (
            moved_key(S3Address.parse(moved).key, candidate.key[len(prefix) :], candidate.found.etag) if moved else ""
        )
        return key_length_problem(staged, "the file of its rows") or key_length_problem(
            target, "its copy by `after_load`"
        )

    def _path_values(self, file: SourceFile) -> Mapping[str, str | None]:
        return path_values(self.key, file)

    def _read(self, files: Sequence[SourceFile]) -> None:
        """Stage files with the columns that all of them bring, in whatever sets they are staged.

        What is refused has no say: if a file leaves, the others are read again as if it had not been there. What was
        staged of them before belongs to no batch, so no reader sees it.
        """
        places = {file.candidate.key: place for place, file in enumerate(files)}
        known: TableSchema | None = None
        while True:
            if known is None:
                self._begin(files)
                first = self.prepared.schema
                files = self._select_fitting(files)
                known = self.prepared.schema
            self.prepared.schema = known
            able, refused = self.faulty.bring_columns(files, self.columns.take)
            self.staged.clear()
            if refused:
                files, known = self._without_refused(able, refused), None
            else:
                self._stage_all(able)
                there = {file.candidate.key: file for staged in self.staged for file in staged.files}
                staged = [there[file.candidate.key] for file in files if file.candidate.key in there]
                again = self._files_to_read_again(
                    staged, known, grown=self.prepared.schema != first, left=len(staged) < len(files)
                )
                if again is None:
                    break
                files, known = again
            if known is None:
                everybody = [*files, *(file for file, _ in self.misfits)]
                files = sorted(everybody, key=lambda file: places[file.candidate.key])
        self._keep_staged()
        for file, reason in self.misfits:
            self.prepared.quarantine(file.candidate, reason)

    def _files_to_read_again(
        self, files: list[SourceFile], known: TableSchema, *, grown: bool, left: bool
    ) -> tuple[list[SourceFile], TableSchema | None] | None:
        """Return the files to read again, and the columns to begin with. None if what is staged can be kept.

        Args:
            files: those that are staged.
            known: the columns with which this reading began.
            grown: whether a file of the batch brought columns.
            left: whether a file left that had a say in them.

        Returns:
            Columns None: those that the table has without the files of the batch.
        """
        counted = {key: counts for staged in self.staged for key, counts in staged.counted.items()}
        if torn := {file.candidate.key for file in files if counted[file.candidate.key].torn}:
            lines = [replace(file, by_line=file.by_line and file.candidate.key not in torn) for file in files]
            return lines, None if left else known
        sound = self._without_misread(files, counted)
        if grown and (hopeless := self.columns.select_hopeless(sound, counted)):
            folder_of = {file.candidate.key: staged.bad_rows_folder for staged in self.staged for file in staged.files}
            for file in hopeless:
                self._end(file.candidate, counted[file.candidate.key], folder_of[file.candidate.key])
            sound = exclude_files(sound, hopeless)
        if len(sound) < len(files) or (grown and left):
            return sound, None
        before = self.prepared.schema
        unknown = self.columns.select_with_unknown_fields(files, counted)
        able, refused = self.faulty.bring_columns(unknown, self.columns.learn)
        if refused or len(able) < len(unknown):
            return exclude_files(files, exclude_files(unknown, self._without_refused(able, refused or ()))), None
        if self.prepared.schema != before:
            return files, self.prepared.schema
        if changed := self._changed_keys(files):
            for file in files:
                if file.candidate.key in changed:
                    self.prepared.defer(file.candidate)
            return [file for file in files if file.candidate.key not in changed], None
        return None

    def _without_refused(
        self, files: Sequence[SourceFile], refused: Sequence[tuple[SourceFile, str]]
    ) -> list[SourceFile]:
        """Return the files without those whose columns Delta refuses. These are quarantined."""
        for file, reason in refused:
            self.prepared.quarantine(file.candidate, reason)
        return exclude_files(files, [file for file, _ in refused])

    def _keep_staged(self) -> None:
        for staged in self.staged:
            self._keep(staged)
            for file in staged.files:
                self._end(file.candidate, staged.counted[file.candidate.key], staged.bad_rows_folder)

    def _stage_all(self, files: Sequence[SourceFile]) -> None:
        for file_set in sets_to_read(self.plan, files):
            self.faulty.attempt(file_set, self._stage)

    def _stage(self, files: Sequence[SourceFile]) -> list[SourceFile]:
        """Stage a set of files with the columns that are known."""
        bad_rows_folder = self.store.quarantine.new_folder(self.table_key, self.work.n)
        staging = self._begin_staging()
        self.staged.append(Staged(files, staging, *self._stage_rows(files, staging, bad_rows_folder), bad_rows_folder))
        return []

    def _stage_rows(
        self, files: Sequence[SourceFile], staging: str, bad_rows_folder: str
    ) -> tuple[list[Add], dict[str, RowCounts]]:
        """Write the good rows, quarantine the others and count all, in one pass over the files.

        Returns the adds, and the counts by key.
        """
        self.prepared.folders.append(bad_rows_folder)
        schema = self.prepared.schema
        with stage_suppressed(self.delta, self.suppression, schema) as left_out:
            reading = {**self._load_request(files), **left_out}
            adds, by_address = self.delta.load(staging, reading, schema, bad_rows_folder)
        counted = self._counts(files, by_address, bad_rows_folder)
        written = [json.loads(add.stats or "{}").get("numRecords") for add in adds]
        if None not in written:
            require_all(self.table_key, sum(written), counted)
        return adds, counted

    def _begin_staging(self) -> str:
        """Return the `s3a://` URI of the folder that data files are written to: the table's directory."""
        return self.work.birth.location

    def _keep(self, staged: Staged) -> None:
        """Keep data files for the batch. Until then, nothing refers to them."""
        self.prepared.adds += staged.adds

    def _counts(
        self, files: Sequence[SourceFile], by_address: Mapping[str, dict[str, Any]], bad_rows_folder: str
    ) -> dict[str, RowCounts]:
        """Return the counts of files by key. If no row is bad, the folder of bad rows was not made."""
        keys = {source_address(self.key.bucket, file): file.candidate.key for file in files}
        counted = {key: RowCounts(0, 0) for key in keys.values()}
        counted |= {keys[address]: RowCounts(**counts) for address, counts in by_address.items()}
        if not any(counts.bad for counts in counted.values()):
            self.prepared.folders.remove(bad_rows_folder)
        return counted

    def _load_request(self, files: Sequence[SourceFile]) -> dict[str, Any]:
        """Return what the server should read, and how (`LoadRequest` of platform/jvm)."""
        schema = self.prepared.schema.without_columns(SOURCE_COLUMNS)
        groups = [
            {
                **group[0].format.read(group, schema, self.spec),
                "files": [{**source(self.key.bucket, file), "values": self._path_values(file)} for file in group],
            }
            for group in group_files(files)
        ]
        rescued = rescued_column(self.spec)
        return {"n": self.work.n, "partitions": schema.partitions, "rescued": rescued, "groups": groups}

    def _without_misread(self, files: Sequence[SourceFile], counted: Mapping[str, RowCounts]) -> list[SourceFile]:
        """Return the files that Spark did not misread. The others are quarantined, or deferred if S3 did not answer."""
        suspects = [file for file in files if (count := counted.get(file.candidate.key)) and count.suspect]
        ended = set()
        for candidate, problem in find_misread(self.source, self.spec, suspects):
            ended.add(candidate.key)
            if isinstance(problem, StoreError):
                self.prepared.defer(candidate)
            else:
                self.prepared.quarantine(candidate, problem)
        return [file for file in files if file.candidate.key not in ended]

    def _changed_keys(self, files: Sequence[SourceFile]) -> set[str]:
        """Return the keys whose object is no longer the object that was read.

        A body that came with the look is the body that the look saw. Its object is checked only if its etag is not a
        digest, because then the ledger needs a checksum.
        """
        files = [file for file in files if file.body is None or file.candidate.found.needs_checksum]
        probes = self.source.head_many([file.candidate.key for file in files])
        self.seen |= {key: found for key, found in probes.items() if isinstance(found, S3Found)}
        return {
            file.candidate.key
            for file in files
            if not isinstance(found := probes[file.candidate.key], S3Found) or found.etag != file.candidate.found.etag
        }

    def _end(self, candidate: Candidate, counted: RowCounts, bad_rows_folder: str) -> None:
        candidate = candidate.with_checksum_of(self.seen.get(candidate.key))
        left_out = counted.left_out_reason()
        if not counted.bad:
            self.prepared.commit(candidate, rows=counted.good, reason=left_out)
            return
        reason = "; ".join(filter(None, (counted.bad_rows_reason(discreet=self.is_discreet), left_out)))
        if counted.good:
            self.prepared.commit(
                candidate, rows=counted.good, bad_rows=counted.bad, reason=reason, bad_rows_folder=bad_rows_folder
            )
        else:
            self.prepared.quarantine(candidate, reason, bad_rows_folder)
