"""Step 2 for outputs: rows become objects, which are staged below the lake root with their final names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from urllib.parse import unquote

from ulid import ULID

from tidegate.platform.bronze.prepare.formats.format import SourceFile
from tidegate.platform.bronze.prepare.load.load import Load, Staged
from tidegate.platform.bronze.prepare.load.replaced_rows import Replacing
from tidegate.platform.bronze.prepare.load.row_counts import RowCounts, require_all
from tidegate.platform.core.bronze.batch import OutputObject
from tidegate.platform.core.bronze.birth import Birth
from tidegate.platform.core.bronze.plan import BatchDraft, Candidate
from tidegate.platform.core.config.output import OutputSpec
from tidegate.platform.core.keys.folder_template import EVENT_TYPE
from tidegate.platform.core.keys.object_key import folder_of, partition_folders
from tidegate.platform.core.keys.s3_address import S3Address
from tidegate.platform.lake.lake import Table
from tidegate.platform.lake.spark.output_writer import Packing, StagedObject

#: Bytes of the key of a folder. S3 permits keys of 1,024 bytes, and the rest is for the name of the object.
MAX_FOLDER_BYTES = 800

#: The reason of a file whose rows have no place in the output.
TOO_LONG = (
    f"its folder in the output has more than {MAX_FOLDER_BYTES} bytes, and keys of S3 have 1,024; write it below "
    "shorter folders"
)

#: Objects of one batch. The batch names each of them, and is read as a whole.
MAX_OBJECTS = 10_000


class OutputLoad(Load):
    """One preparation of an output. Objects are staged below the lake root, in a new folder for each attempt."""

    def __init__(self, table: Table, work: BatchDraft, output: OutputSpec) -> None:
        super().__init__(table, work)
        self.output = output

    def _select_to_read(self, candidates: Sequence[Candidate], replacing: Replacing) -> list[Candidate]:
        readable = []
        for candidate in candidates:
            if candidate.replaces is None:
                readable.append(candidate)
            else:
                self.prepared.quarantine(
                    candidate,
                    "its good rows are in the output, where nothing can replace them, and would be there twice; write "
                    "its bad rows, which the ledger's bad_rows_folder has, as a new file",
                )
        return super()._select_to_read(readable, replacing)

    def _wait(self, files: Sequence[SourceFile]) -> None:
        for file in files:
            self.prepared.defer(file.candidate)

    def _begin_staging(self) -> str:
        return f"{self.work.birth.location}/{self.work.birth.generation}/{self.work.n}-{ULID()}"

    def _object(self, staged: StagedObject, ending: str, index: int) -> OutputObject:
        """Return a staged object under its final name.

        Args:
            ending: of its name, without the dot.
            index: number of the object in the batch.
        """
        return OutputObject(
            S3Address.parse_s3a(staged.path).key,
            self.output.template.bucket,
            output_key(staged.folder, self.work.birth, self.work.n, index, ending),
            staged.size,
            staged.rows,
        )


class ColumnlessOutput(OutputLoad):
    """An output without columns: a set of files is done once it is staged."""

    def _read(self, files: Sequence[SourceFile]) -> None:
        self._stage_all(self._select_fitting(files))


def output_key(folder: str, birth: Birth, n: int, index: int, ending: str) -> str:
    """Return the key of an object of a batch. No other batch of any lake has it, and no other object of the batch.

    Args:
        folder: key of the folder.
        birth: the table's birth record.
        n: number of the batch.
        index: number of the object in the batch.
        ending: what readers expect the name to end in, without the dot.
    """
    return f"{folder}{birth.name}-{n:010d}-{index:05d}-{birth.generation}.{ending}"


class Concatenate(ColumnlessOutput):
    """Stages the rows of all candidates as Parquet files, for the folders of the output.

    Files of one folder and one schema become one file, up to `object_bytes`. No value is converted. A file that cannot
    be read is quarantined. There are no columns: files with other columns become other files.
    """

    def _select_fitting(self, files: Iterable[SourceFile]) -> list[SourceFile]:
        fitting = []
        for file in files:
            if len(self._folder(file).encode()) > MAX_FOLDER_BYTES:
                self.prepared.quarantine(file.candidate, TOO_LONG)
            else:
                fitting.append(file)
        return fitting

    def _stage(self, files: Sequence[SourceFile]) -> list[SourceFile]:
        sources = [{"path": file.path, "size": file.size, "folder": self._folder(file)} for file in files]
        full = self.output.object_bytes
        staged, footers = self.delta.outputs.concatenate(sources, self._begin_staging(), full)
        sound = [file for file in files if footers[file.path].problem is None]
        require_all(
            self.table_key,
            sum(staged_object.rows for staged_object in staged),
            {file.path: RowCounts(footers[file.path].rows, 0) for file in sound},
        )
        changed = self._changed_keys(files)
        self._wait([file for file in files if file.candidate.key in changed])
        if changed:
            return [file for file in files if file.candidate.key not in changed]
        for file in files:
            footer = footers[file.path]
            if footer.problem is not None:
                self.prepared.quarantine(file.candidate, footer.problem)
            else:
                self.prepared.commit(
                    file.candidate.with_checksum_of(self.seen.get(file.candidate.key)), rows=footer.rows
                )
        first = len(self.prepared.objects)
        self.prepared.objects += [
            self._object(staged_object, "parquet", first + index) for index, staged_object in enumerate(staged)
        ]
        return []

    def _folder(self, file: SourceFile) -> str:
        """Return the key of the folder of the output for a file: its folder below the prefix, below `folder`."""
        below = folder_of(file.candidate.key)[len(self.key.prefix) :]
        return S3Address.parse(self.output.folder).key + below


class Convert(OutputLoad):
    """Stages the rows of all candidates as Parquet files, which are written as those of a table and enter no log.

    Columns, bad rows and bad files are as in a loaded table. The columns are those of the output's last batch. Columns
    of the path are folders of the output, too.
    """

    def _select_fitting(self, files: Iterable[SourceFile]) -> list[SourceFile]:
        fitting = []
        for file in files:
            if self._is_too_long(file):
                self.prepared.quarantine(file.candidate, TOO_LONG)
            else:
                fitting.append(file)
        return super()._select_fitting(fitting)

    def _is_too_long(self, file: SourceFile) -> bool:
        try:
            folder = self._root + partition_folders(self._path_values(file))
        except ValueError:
            return False  # Its path makes it a misfit, with a reason of its own.
        return len(folder.encode()) > MAX_FOLDER_BYTES

    def _keep(self, staged: Staged) -> None:
        columns = self.prepared.schema.partitions
        for add in sorted(staged.adds, key=lambda add: add.path):
            values = {name: add.partition_values.get(name) for name in columns}
            path = f"{staged.staging}/{unquote(add.path)}"
            found = StagedObject(self._root + partition_folders(values), path, add.size, add.records)
            self.prepared.objects.append(self._object(found, "parquet", len(self.prepared.objects)))

    @property
    def _root(self) -> str:
        """Key of the output's folder."""
        return S3Address.parse(self.output.folder).key


class Repartition(ColumnlessOutput):
    """Stages the rows of all candidates as objects, for the folders of the output. A row stays the text that it is.

    A line that is not a JSON object is quarantined, as for loaded tables. There are no columns: the rows of all files
    fit.
    """

    def _select_fitting(self, files: Iterable[SourceFile]) -> list[SourceFile]:
        fitting = []
        for file in files:
            if self._key_values(file) is None:
                self.prepared.quarantine(
                    file.candidate,
                    f"its key does not match `key` of the output, {self.output.key}, which names its folder; write it "
                    "under another key, or change `key` and redrive it",
                )
            else:
                fitting.append(file)
        return fitting

    def _stage(self, files: Sequence[SourceFile]) -> list[SourceFile]:
        if len(self.prepared.objects) >= MAX_OBJECTS:
            self._wait(files)
            return []
        bad_rows_folder = self.store.quarantine.new_folder(self.table_key, self.work.n)
        objects, counted = self._write_rows(files, bad_rows_folder)
        if torn := {file.candidate.key for file in files if counted[file.candidate.key].torn}:
            return [replace(file, by_line=file.by_line and file.candidate.key not in torn) for file in files]
        if changed := self._changed_keys(files):
            self._wait([file for file in files if file.candidate.key in changed])
            return [file for file in files if file.candidate.key not in changed]
        if self.prepared.objects and len(self.prepared.objects) + len(objects) > MAX_OBJECTS:
            self._wait(files)
            return []
        self.prepared.objects += objects
        for file in files:
            self._end(file.candidate, counted[file.candidate.key], bad_rows_folder)
        return []

    def _write_rows(
        self, files: Sequence[SourceFile], bad_rows_folder: str
    ) -> tuple[list[OutputObject], dict[str, RowCounts]]:
        """Write the good rows and quarantine the others, in one pass. Returns the objects, and the counts by key."""
        self.prepared.folders.append(bad_rows_folder)
        packing = Packing(self.output.compression, self.output.object_bytes, MAX_OBJECTS)
        staging = self._begin_staging()
        staged, by_address = self.delta.outputs.write(self._load_request(files), staging, bad_rows_folder, packing)
        counted = self._counts(files, by_address, bad_rows_folder)
        require_all(self.table_key, sum(staged_object.rows for staged_object in staged), counted)
        first = len(self.prepared.objects)
        objects = [
            self._object(staged_object, staged_object.path.rpartition("/")[2].partition(".")[2], first + index)
            for index, staged_object in enumerate(staged)
        ]
        return objects, counted

    def _path_values(self, file: SourceFile) -> Mapping[str, str | None]:
        return {**(self._key_values(file) or {}), EVENT_TYPE: file.candidate.taken.hint.event_type}

    def _key_values(self, file: SourceFile) -> Mapping[str, str] | None:
        """Return the values of the parts of `key`. None if the object's key does not match."""
        return self.output.pattern.match(file.candidate.key) if self.output.pattern else {}
