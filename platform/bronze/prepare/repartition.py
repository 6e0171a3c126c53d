"""Step 2 for outputs: read rows as lines and stage them as objects, each with the rows of one folder."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from tidegate.platform.bronze.prepare.formats.format import SourceFile
from tidegate.platform.bronze.prepare.load.row_counts import RowCounts, require_all
from tidegate.platform.bronze.prepare.output_load import ColumnlessOutput
from tidegate.platform.bronze.prepared import PreparedBatch
from tidegate.platform.core.bronze.batch import OutputObject
from tidegate.platform.core.bronze.plan import BatchDraft
from tidegate.platform.core.config.output import OutputSpec
from tidegate.platform.core.keys.folder_template import EVENT_TYPE
from tidegate.platform.lake.lake import Table
from tidegate.platform.lake.spark.output_writer import Packing

#: Objects of one batch. The batch names each of them, and is read as a whole.
MAX_OBJECTS = 10_000


def prepare_repartition(table: Table, work: BatchDraft, output: OutputSpec) -> PreparedBatch:
    """Stage the rows of all candidates as objects below the lake root, for the folders of the output.

    A row stays the text that it is. A line that is no JSON object is quarantined, as for loaded tables. Raises what
    `prepare_load` raises.
    """
    return _Repartition(table, work, output).run()


class _Repartition(ColumnlessOutput):
    """One preparation. It has no columns: the rows of all files fit."""

    def _fitting(self, files: Iterable[SourceFile]) -> list[SourceFile]:
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
        apart = self.table.lake.store.quarantine.new_folder(self.table.table_key, self.work.n)
        objects, counted = self._written(files, apart)
        if torn := {file.candidate.key for file in files if counted[file.candidate.key].torn}:
            return [replace(file, by_line=file.by_line and file.candidate.key not in torn) for file in files]
        if changed := self._changed(files):
            self._wait([file for file in files if file.candidate.key in changed])
            return [file for file in files if file.candidate.key not in changed]
        if self.prepared.objects and len(self.prepared.objects) + len(objects) > MAX_OBJECTS:
            self._wait(files)
            return []
        self.prepared.objects += objects
        for file in files:
            self._end(file.candidate, counted[file.candidate.key], apart)
        return []

    def _written(self, files: Sequence[SourceFile], apart: str) -> tuple[list[OutputObject], dict[str, RowCounts]]:
        """Write the good rows and quarantine the others, in one pass. Returns the objects, and the counts by key."""
        self.prepared.folders.append(apart)
        packing = Packing(self.output.compression, self.output.object_bytes, MAX_OBJECTS)
        staging = self._begin_staging()
        staged, by_address = self.table.delta.outputs.write(self._reading(files), staging, apart, packing)
        counted = self._counts(files, by_address, apart)
        require_all(self.table.table_key, sum(one.rows for one in staged), counted)
        first = len(self.prepared.objects)
        objects = [
            self._object(one, one.path.rpartition("/")[2].partition(".")[2], first + index)
            for index, one in enumerate(staged)
        ]
        return objects, counted

    def _path_values(self, file: SourceFile) -> Mapping[str, str | None]:
        return {**(self._key_values(file) or {}), EVENT_TYPE: file.candidate.taken.hint.event_type}

    def _key_values(self, file: SourceFile) -> Mapping[str, str] | None:
        """Return the values of the parts of `key`. None if the object's key does not match."""
        return self.output.pattern.match(file.candidate.key) if self.output.pattern else {}
