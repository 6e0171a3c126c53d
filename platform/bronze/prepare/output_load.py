"""What the preparations of outputs share: where objects are staged, their final names, and no row twice."""

from __future__ import annotations

from collections.abc import Sequence

from ulid import ULID

from tidegate.platform.bronze.prepare.formats.format import SourceFile
from tidegate.platform.bronze.prepare.load.load import Load
from tidegate.platform.bronze.prepare.load.replaced_rows import Replacing
from tidegate.platform.core.bronze.batch import OutputObject
from tidegate.platform.core.bronze.birth import Birth
from tidegate.platform.core.bronze.plan import BatchDraft, Candidate
from tidegate.platform.core.config.output import OutputSpec
from tidegate.platform.core.keys.s3_address import S3Address
from tidegate.platform.lake.lake import Table
from tidegate.platform.lake.spark.output_writer import StagedObject

#: Bytes of the key of a folder. S3 permits keys of 1,024 bytes, and the rest is for the name of the object.
MAX_FOLDER_BYTES = 800

#: The reason of a file whose rows have no place in the output.
TOO_LONG = (
    f"its folder in the output has more than {MAX_FOLDER_BYTES} bytes, and keys of S3 have 1,024; write it below "
    "shorter folders"
)


class OutputLoad(Load):
    """One preparation of an output. Objects are staged below the lake root, in a new folder for each attempt."""

    def __init__(self, table: Table, work: BatchDraft, output: OutputSpec) -> None:
        super().__init__(table, work)
        self.output = output

    def _to_read(self, candidates: Sequence[Candidate], replacing: Replacing) -> list[Candidate]:
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
        return super()._to_read(readable, replacing)

    def _wait(self, files: Sequence[SourceFile]) -> None:
        for file in files:
            self.prepared.defer(file.candidate)

    def _begin_staging(self) -> str:
        return f"{self.work.birth.location}/{self.work.birth.generation}/{self.work.n}-{ULID()}"

    def _object(self, staged: StagedObject, ending: str, index: int) -> OutputObject:
        """Return a staged object under its final name.

        Args:
            staged: the object.
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
        self._stage_all(self._fitting(files))


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
