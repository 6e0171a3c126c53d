"""Step 2 for `mode: convert`: read rows as for a loaded table and stage them as Parquet files of an output."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import unquote

from tidegate.platform.bronze.prepare.formats.format import SourceFile
from tidegate.platform.bronze.prepare.load.load import Staged
from tidegate.platform.bronze.prepare.output_load import MAX_FOLDER_BYTES, TOO_LONG, OutputLoad
from tidegate.platform.bronze.prepared import PreparedBatch
from tidegate.platform.core.bronze.plan import BatchDraft
from tidegate.platform.core.config.output import OutputSpec
from tidegate.platform.core.keys.object_key import partition_folders
from tidegate.platform.core.keys.s3_address import S3Address
from tidegate.platform.lake.lake import Table
from tidegate.platform.lake.spark.output_writer import StagedObject


def prepare_convert(table: Table, work: BatchDraft, output: OutputSpec) -> PreparedBatch:
    """Stage the rows of all candidates as Parquet files below the lake root, for the folder of the output.

    Columns, bad rows and bad files are as in a loaded table. The columns are those of the output's last batch. Columns
    of the path are folders of the output, too. Raises what `prepare_load` raises.
    """
    return _Convert(table, work, output).run()


class _Convert(OutputLoad):
    """One preparation. Its Parquet files are written as those of a table, and then enter no log."""

    def _fitting(self, files: Iterable[SourceFile]) -> list[SourceFile]:
        fitting = []
        for file in files:
            if self._is_too_long(file):
                self.prepared.quarantine(file.candidate, TOO_LONG)
            else:
                fitting.append(file)
        return super()._fitting(fitting)

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
