"""A file format as one object: what is known of its files, what their content says, which reader gives their rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from base64 import b64encode
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from tidegate.assets.bronze.prepare.prepared import PreparedBatch
from tidegate.platform.core.bronze.plan import Candidate
from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.core.files.parquet.footer import Footer
from tidegate.platform.core.keys.file_format import FileFormat
from tidegate.platform.core.schema.column_types import Field
from tidegate.platform.core.schema.table_schema import Policy, TableSchema
from tidegate.resources.lake import Table
from tidegate.resources.spark.delta import Delta

#: Bytes from a file's beginning that tell its header and its shape.
HEAD_BYTES = 1 << 20


@dataclass(frozen=True)
class SourceFile:
    """A candidate, ready to be read.

    Attributes:
        path: ``s3a://`` path that Spark reads: the object itself, or a copy of it.
        size: bytes that lie there; of a Parquet file's copy, which Spark looks at itself, those of the object.
        names: a CSV file's column names, in its own order; of JSON those of its first object, as far as they have
            values; empty for other formats.
        footer: a Parquet file's; None for other formats.
        fields: the columns that the file declares; None where only its rows show them.
        body: the content of a small file, unpacked, which goes with the request; None where it is read at ``path``.
        by_line: whether each line is a row; where one may go on in the next, the file is read as a whole, by one task.
        line_end: what ends the rows of a CSV file, as far as its beginning tells.
    """

    candidate: Candidate
    format: Format
    path: str
    size: int
    names: tuple[str, ...] = ()
    footer: Footer | None = None
    fields: tuple[Field, ...] | None = None
    body: bytes | None = field(default=None, repr=False)
    by_line: bool = True
    line_end: str | None = None

    def place(self) -> dict[str, Any]:
        """Where its bytes are: they lie in S3, or are told (``LoadRequest.Source`` of platform/jvm)."""
        told = {} if self.body is None else {"body": b64encode(self.body).decode()}
        return {"path": self.path, "size": self.size, **told}


@dataclass(frozen=True)
class Look:
    """What the beginning of a file tells.

    Attributes:
        names: column names, where the format has a header; names of the first object otherwise.
        rewrite: how the file must be rewritten before Spark reads it; None to read it as it is.
        by_line: whether each line is a row, as far as can be seen.
        line_end: what ends a row, if that can be seen.
    """

    names: tuple[str, ...] = ()
    rewrite: Rewrite | None = None
    by_line: bool = True
    line_end: str | None = None


class Rewrite(ABC):
    """A plain copy of a text file that Spark cannot read as it is.

    Attributes:
        most: bytes of its content, unpacked, that are read; a file that is not packed may have more where ``streams``.
        streams: the content is not held as a whole.
        too_large: what is wrong with a file that has more, and what to do.
    """

    most: int
    streams: bool
    too_large: str

    @abstractmethod
    def write(self, body: BinaryIO, target: BinaryIO) -> None:
        """Copy a whole file, unpacked.

        Raises:
            Misfit: the file is not what its beginning promised; the message is the reason.
        """


class Format(ABC):
    """One file format of loaded tables.

    Attributes:
        file_format: what is known of the format without a look into its files.
        readers: names of the Spark server's readers of its files (``ReaderKind`` of platform/jvm).
        names_columns: whether the beginning of a file names all its columns.
        guesses: whether the spelling of values decides types, which `doubts` then compares.
    """

    file_format: FileFormat
    readers: tuple[str, ...]
    names_columns = False
    guesses = False

    @property
    def name(self) -> str:
        """The format's name in lake.yaml."""
        return self.file_format.name

    def look(self, head: bytes, whole: bool, spec: TableSpec) -> Look:
        """What the beginning of a file tells.

        Args:
            head: the first bytes, unpacked.
            whole: whether that is all of the file.
            spec: the table's configuration.

        Raises:
            Misfit: the file cannot be read; the message is the reason.
        """
        return Look()

    def declared(self, table: Table, files: Sequence[SourceFile], prepared: PreparedBatch) -> list[SourceFile]:
        """Returns the files with the columns that they declare; as they are, where only their rows show the columns.

        Args:
            table: the table.
            files: of this format.
            prepared: takes what becomes of files that are not returned.

        Raises:
            StoreError: S3 did not answer, or does not take a copy.
        """
        return list(files)

    def doubts(self, key: str, head: bytes, whole: bool, spec: TableSpec, schema: TableSchema) -> list[str]:
        """Returns what a file that gave a table its columns may have been intended as instead.

        Args:
            key: of the file.
            head: its first bytes, unpacked.
            whole: whether that is all of the file.
            spec: the table's configuration.
            schema: the columns that the table was born with.

        Raises:
            ValueError: the beginning cannot be read.
        """
        return []

    def check_path(self, file: SourceFile, values: Mapping[str, str | None]) -> None:
        """Check that a file does not say of a column of its path what the path does not.

        Args:
            file: with the columns that it declares.
            values: texts of the path's columns, by name.

        Raises:
            Misfit: it may.
        """
        return

    def group(self, file: SourceFile) -> Hashable:
        """What files must share to be read together."""
        return None

    @abstractmethod
    def infer(self, delta: Delta, files: Sequence[SourceFile], spec: TableSpec) -> list[Field]:
        """The columns of some files of one group; a column without a value is left out where its type is unknown."""

    @abstractmethod
    def read(self, files: Sequence[SourceFile], schema: TableSchema, spec: TableSpec) -> dict[str, Any]:
        """How some files of one group are read (``LoadRequest.Group`` of platform/jvm, but for the files)."""

    def problem(self, body: BinaryIO, *, packed: bool, spec: TableSpec, most: int) -> str | None:
        """Why a suspect file cannot be read after all; None if it can.

        Raises:
            TooLarge: a row has more than ``most`` characters.
        """
        return None

    def written_anew(self, table: Table, file: SourceFile) -> SourceFile | None:
        """Returns a copy by another program of a file that Spark cannot read; None where there is no such program.

        Raises:
            Misfit: that program cannot read the file either.
            StoreError: S3 did not answer, does not take the copy, or the file is no longer what the look saw.
        """
        return None

    def new_names(self, file: SourceFile, schema: TableSchema) -> Collection[str]:
        """Columns that the header of a file names, and the table has not."""
        return [name for name in file.names if schema.named(name) is None]

    def tells_more(self, file: SourceFile, schema: TableSchema) -> bool:
        """Whether the rows of a file tell columns of a table that is not born yet: no header does."""
        return not file.names


def refusal(policy: Policy) -> str:
    """Why unknown fields keep a row out."""
    if policy == "strict":
        return "fields that are not in the table, and its `schema` in lake.yaml is strict"
    return "fields that cannot become columns; write them under other names, or as text"
