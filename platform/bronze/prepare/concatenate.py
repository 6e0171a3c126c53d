"""Step 2 for `mode: concatenate`: put small Parquet files together as fewer, larger ones of an output."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tidegate.platform.bronze.prepare.formats.format import SourceFile
from tidegate.platform.bronze.prepare.load.row_counts import RowCounts, require_all
from tidegate.platform.bronze.prepare.output_load import MAX_FOLDER_BYTES, TOO_LONG, ColumnlessOutput
from tidegate.platform.bronze.prepared import PreparedBatch
from tidegate.platform.core.bronze.plan import BatchDraft
from tidegate.platform.core.config.output import OutputSpec
from tidegate.platform.core.keys.object_key import folder_of
from tidegate.platform.core.keys.s3_address import S3Address
from tidegate.platform.lake.lake import Table


def prepare_concatenate(table: Table, work: BatchDraft, output: OutputSpec) -> PreparedBatch:
    """Stage the rows of all candidates as Parquet files below the lake root, for the folders of the output.

    Files of one folder and one schema become one file, up to `object_bytes`. No value is converted. A file that cannot
    be read is quarantined. Raises what `prepare_load` raises.
    """
    return _Concatenate(table, work, output).run()


class _Concatenate(ColumnlessOutput):
    """One preparation. It has no columns: files with other columns become other files."""

    def _fitting(self, files: Iterable[SourceFile]) -> list[SourceFile]:
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
        staged, footers = self.table.delta.outputs.concatenate(sources, self._begin_staging(), full)
        sound = [file for file in files if footers[file.path].problem is None]
        require_all(
            self.table.table_key,
            sum(one.rows for one in staged),
            {file.path: RowCounts(footers[file.path].rows, 0) for file in sound},
        )
        changed = self._changed(files)
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
        self.prepared.objects += [self._object(one, "parquet", first + index) for index, one in enumerate(staged)]
        return []

    def _folder(self, file: SourceFile) -> str:
        """Return the key of the folder of the output for a file: its folder below the prefix, below `folder`."""
        below = folder_of(file.candidate.key)[len(self.table.key.prefix) :]
        return S3Address.parse(self.output.folder).key + below
