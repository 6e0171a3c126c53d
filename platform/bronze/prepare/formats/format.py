"""A file format as one object: what is known of its files, what their content shows, which reader has their rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from base64 import b64encode
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from tidegate.platform.bronze.prepare.file_access import FileAccess
from tidegate.platform.bronze.prepared_batch import PreparedBatch
from tidegate.platform.core.bronze.plan import Candidate
from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.core.files.parquet.footer import Footer
from tidegate.platform.core.keys.file_format import FileFormat
from tidegate.platform.core.schema.column_types import Field
from tidegate.platform.core.schema.table_schema import Policy, TableSchema
from tidegate.platform.lake.spark.delta import Delta

#: Bytes at a file's beginning that show its header and its shape.
HEAD_BYTES = 1 << 20


@dataclass(frozen=True)
class SourceFile:
    """A candidate, ready to be read.

    Attributes:
        path: `s3a://` path that Spark reads: the object itself, or a copy of it. The object's `s3://` address if `body`
            has the content.
        size: bytes at `path`; if that is a copy of a Parquet file, bytes of the object, because Spark itself finds the
            size of the copy.
        names: a CSV file's column names, in its own order; for JSON, the names of the first object that have values;
            empty for other formats.
        footer: a Parquet file's footer; None for other formats.
        fields: the columns that the file declares; None if only its rows show them.
        body: the content of a small file, unpacked, which is sent with the request; None if it is read at `path`.
        by_line: whether each line is a row; if a row may continue in the next line, one task reads the whole file.
        trailing: whether rows of a CSV file end with a delimiter that its header has not.
        unnamed: the places of the empty cells of a CSV file's header, which have a name in `names` all the same.
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
    trailing: bool = False
    unnamed: tuple[int, ...] = ()

    def place(self) -> dict[str, Any]:
        """Return where the bytes are: in S3, or in the request itself (`LoadRequest.Source` of platform/jvm)."""
        content = {} if self.body is None else {"body": b64encode(self.body).decode()}
        return {"path": self.path, "size": self.size, **content}


@dataclass(frozen=True)
class Look:
    """What the beginning of a file shows.

    Attributes:
        names: column names if the format has a header; for JSON, names of the first object.
        rewrite: how the file must be rewritten before Spark reads it; None if Spark reads it unchanged.
        by_line: whether each line is a row, as far as can be seen.
        trailing: whether rows of CSV end with a delimiter that the header has not.
        unnamed: the places of the empty cells of the header.
    """

    names: tuple[str, ...] = ()
    rewrite: Rewrite | None = None
    by_line: bool = True
    trailing: bool = False
    unnamed: tuple[int, ...] = ()


@dataclass(frozen=True)
class Known:
    """What a table has when its new columns are asked for. A row that a load with these columns refuses has no say.

    Attributes:
        schema: the columns whose types are known, with those of the path, and names that no new column can have.
        refusing: what a load says of its batch besides the files (`LoadRequest` of platform/jvm).
        values: returns the texts of the columns that the path of a file has.
    """

    schema: TableSchema
    refusing: Mapping[str, Any]
    values: Callable[[SourceFile], Mapping[str, str | None]]

    def request(self, groups: Iterable[tuple[Mapping[str, Any], Sequence[SourceFile]]]) -> dict[str, Any]:
        """Return what the server is asked (`LoadRequest`): how the files of each group are read, and the files."""
        asked = [
            {**how, "files": [{**file.place(), "values": self.values(file)} for file in files]} for how, files in groups
        ]
        return {**self.refusing, "groups": asked}


class Rewrite(ABC):
    """A plain copy of a text file that Spark cannot read as it is.

    Attributes:
        limit: bytes of the content, unpacked, that are read; if `streams`, a file that is not packed may have more.
        streams: whether the content is copied without being held as a whole.
        too_large: what is wrong with a file that has more bytes, and what to do.
    """

    limit: int
    streams: bool
    too_large: str

    @abstractmethod
    def write(self, body: BinaryIO, target: BinaryIO) -> None:
        """Copy a whole file, unpacked.

        Raises:
            Misfit: the file is not what its beginning shows; the message is the reason.
        """


class Format(ABC):
    """One file format of loaded tables.

    Attributes:
        file_format: what is known of the format without reading its files.
        readers: names of the Spark server's readers of its files (`ReaderKind` of platform/jvm).
        names_columns: whether the beginning of a file names all its columns.
        guesses: whether the spelling of values decides types; `doubts` then compares them.
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
        """Return what the beginning of a file shows.

        Args:
            head: the first bytes, unpacked.
            whole: whether `head` is the whole file.

        Raises:
            Misfit: the file cannot be read; the message is the reason.
        """
        return Look()

    def add_declared_columns(
        self, access: FileAccess, files: Sequence[SourceFile], prepared: PreparedBatch
    ) -> list[SourceFile]:
        """Return the files with the columns that they declare, or unchanged if only their rows show the columns.

        Args:
            files: of this format.
            prepared: records what happens to the files that are not returned.

        Raises:
            StoreError: S3 did not answer, or does not accept a copy.
        """
        return list(files)

    def doubts(self, key: str, head: bytes, whole: bool, spec: TableSpec, schema: TableSchema) -> list[str]:
        """Return how a file that gave a table its columns may have been intended instead.

        Args:
            key: of the file.
            head: the file's first bytes, unpacked.
            whole: whether `head` is the whole file.
            schema: the columns that the table was born with.

        Raises:
            ValueError: the beginning cannot be read.
        """
        return []

    def check_path(self, file: SourceFile, values: Mapping[str, str | None]) -> None:
        """Check that a column which is in a file and in its path has the same value in both.

        Args:
            file: with the columns that it declares.
            values: texts of the path's columns, by name.

        Raises:
            Misfit: the values may differ.
        """
        return

    def group(self, file: SourceFile) -> Hashable:
        """Return what files must share to be read together."""
        return None

    @abstractmethod
    def infer(self, delta: Delta, groups: Sequence[Sequence[SourceFile]], spec: TableSpec, known: Known) -> list[Field]:
        """Return the columns of all files of the format, each once, without columns that have no known type.

        Their types follow from the values, however these are distributed over files and groups.

        Args:
            delta: asks the server.
            groups: the files, in the groups that are read together.
            known: what a row must fit to have a say.
        """

    @abstractmethod
    def read(self, files: Sequence[SourceFile], schema: TableSchema, spec: TableSpec) -> dict[str, Any]:
        """Return how some files of one group are read (`LoadRequest.Group` of platform/jvm, without the files)."""

    def problem(self, body: BinaryIO, *, packed: bool, spec: TableSpec, limit: int) -> str | None:
        """Return why a suspect file cannot be read, or None if it can.

        Raises:
            TooLarge: a row has more than `limit` characters.
        """
        return None

    def rewritten_copy(self, access: FileAccess, file: SourceFile) -> SourceFile | None:
        """Return a copy, by another program, of a file that Spark cannot read, or None if there is no such program.

        Raises:
            Misfit: that program cannot read the file either.
            StoreError: S3 did not answer or does not accept the copy, or the file changed since the look.
        """
        return None

    def new_names(self, file: SourceFile, schema: TableSchema) -> Collection[str]:
        """Return the columns that the header of a file names and the table does not have."""
        return [name for name in file.names if schema.find_column(name) is None]

    def has_unnamed_columns(self, file: SourceFile, schema: TableSchema) -> bool:
        """Return whether, before a table's birth, the rows of a file show columns that no header names."""
        return not file.names


def refusal(policy: Policy) -> str:
    """Return why unknown fields keep a row out of the table."""
    if policy == "strict":
        return "fields that are not in the table, and its `schema` in lake.yaml is strict"
    if policy == "variant":
        return "fields that the type of their column in lake.yaml does not have"
    if policy == "rescue":
        return "fields that cannot be rescued; write them under other names"
    return "fields that cannot become columns; write them under other names, or as text"
