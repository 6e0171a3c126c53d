"""What an S3 Inventory says of itself: its manifest, and the columns in it, which each format writes in its own way."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple

from tidegate.platform.core.errors import BadValue, DataError
from tidegate.platform.core.foreign_json import foreign_json, size_within
from tidegate.platform.core.inventory.delivery import BEGAN
from tidegate.platform.core.keys.object_key import decode_possible_key
from tidegate.platform.core.keys.s3_address import S3Address, spark_pattern

#: What Tidegate reads of an object's line.
InventoryField = Literal["key", "size", "etag", "islatest", "isdeletemarker"]

InventoryFormat = Literal["csv", "orc", "parquet"]

_FORMATS: dict[str, InventoryFormat] = {"CSV": "csv", "ORC": "orc", "Parquet": "parquet"}
_DELIVERY = re.compile(BEGAN, re.ASCII)
#: Milliseconds: the last second that Python's times have.
_LAST = 253_402_300_799_000
#: Characters of a wrong value in an error.
_SHOWN = 40

#: ORC's types that SQL has under the same name, and whose values have a text.
_ORC = re.compile(
    r"boolean|tinyint|smallint|int|bigint|float|double|string|binary|date"
    r"|decimal\(\d+,\d+\)|(?:var)?char\(\d+\)"
)
#: SQL types of Parquet's, by their annotations.
_PARQUET = (
    (re.compile(r"int64 TIMESTAMP(_|\()(MILLIS|MICROS).*|int96 "), "timestamp"),
    (re.compile(r"int32 DATE"), "date"),
    (re.compile(r"binary (UTF8|STRING|ENUM|JSON)"), "string"),
    (re.compile(r"binary "), "binary"),
    (re.compile(r"boolean "), "boolean"),
    (re.compile(r"int32 (INT_?\(?(8|16|32).*)?"), "int"),
    (re.compile(r"int64 (INT_?\(?64.*)?"), "bigint"),
    (re.compile(r"float "), "float"),
    (re.compile(r"double "), "double"),
)
_PARQUET_FIELD = re.compile(
    r"(?P<repeats>required|optional|repeated)\s+(?P<type>\w+(?:\(\d+\))?)\s+(?P<name>\w+)"
    r"(?:\s*\((?P<as>[^;{]*)\))?(?:\s*=\s*\d+)?\s*(?P<group>\{)?.*",
    re.DOTALL,
)


class InventoryError(DataError):
    """An inventory that cannot be used. The message names the object and says what to do."""


class InventoryIncomplete(InventoryError):
    """An object that belongs to an inventory is missing. It may still come.

    Args:
        key: of the object.
    """

    def __init__(self, message: str, key: str) -> None:
        super().__init__(message)
        self.key = key


class InventoryForbidden(InventoryError):
    """S3 refuses to return an object of an inventory."""


@dataclass(frozen=True)
class InventoryFile:
    """One file with a part of an inventory's lines.

    Attributes:
        md5: of its bytes, in hex.
    """

    key: str
    size: int
    md5: str


class Column(NamedTuple):
    """A column of an inventory's files.

    Attributes:
        name: its name there.
        type: its type, as the manifest has it.
        sql: the SQL type of its values. Empty: its values have no text.
    """

    name: str
    type: str
    sql: str


@dataclass(frozen=True)
class Inventory:
    """A delivery of an S3 Inventory that is complete.

    Attributes:
        uri: `s3://` address of its manifest.json.
        bucket: where that and its files lie.
        source: the bucket that it is of.
        created: epoch seconds at which S3 began to look at the source bucket.
        columns: names in the order of `fileSchema`, as the files have them, with their SQL types in the files.
        files: with the lines, in no order.
        left_out: fields of the files that are not read, because their types have no text: lists, maps, structs and
            types that are not known.
    """

    uri: str
    bucket: str
    source: str
    created: float
    format: InventoryFormat
    columns: Mapping[str, str]
    files: tuple[InventoryFile, ...]
    left_out: tuple[Column, ...] = ()

    @property
    def addresses(self) -> list[S3Address]:
        """The addresses of its files."""
        return [S3Address(self.bucket, file.key) for file in self.files]

    @classmethod
    def from_manifest(cls, body: bytes, uri: str, source: str | None = None) -> Inventory:
        """Read a manifest.json.

        Args:
            body: its bytes.
            uri: its `s3://` address.
            source: the bucket that the table's files are in, if it should be of that bucket.

        Raises:
            InventoryError: it is not a manifest, is of another bucket or of a kind that is not read, or names an object
                outside of its own folder, or one that Spark would not read.
        """
        try:
            manifest: dict[str, Any] = foreign_json(body)
            of, format = str(manifest["sourceBucket"]), str(manifest["fileFormat"])
            created = _parse_creation_time(manifest["creationTimestamp"])
            schema = str(manifest["fileSchema"])
            files = tuple(
                InventoryFile(decode_possible_key(str(file["key"])), _size(file["size"]), str(file["MD5checksum"]))
                for file in manifest["files"]
            )
        except KeyError as error:
            raise InventoryError(f"{uri} is not a manifest of an S3 Inventory: it has no {error}") from None
        except (TypeError, ValueError) as error:
            raise InventoryError(f"{uri} is not a manifest of an S3 Inventory: {error}") from None
        if source is not None and of != source:
            raise InventoryError(
                f"{uri} is an inventory of the bucket {of}, and the table's files are in {source}: let `inventory` "
                "name the folder of that bucket's"
            )
        _require_inside(files, S3Address.parse(uri))
        if format not in _FORMATS:
            raise InventoryError(f"{uri}: its format {format} is not read; choose CSV, ORC or Parquet")
        known = _FORMATS[format]
        fields = columns_of(known, schema)
        columns = {field.name: field.sql for field in fields if field.sql}
        left_out = tuple(field for field in fields if not field.sql)
        found = cls(uri, S3Address.parse(uri).bucket, of, created, known, columns, files, left_out)
        if found.column("key") is None:
            raise InventoryError(f"{uri}: its fileSchema has no column Key: {schema}")
        return found

    @property
    def began(self) -> str:
        """`created` as people read it, to the minute."""
        return f"{datetime.fromtimestamp(self.created, UTC):%Y-%m-%d %H:%M} UTC"

    def column(self, field: InventoryField) -> str | None:
        """Return the name of a field's column in the files; None where the inventory's configuration left it out."""
        return next((name for name in self.columns if name.replace("_", "").lower() == field), None)


def _parse_creation_time(millis: Any) -> float:
    """Return when an inventory began, in seconds. S3 writes the milliseconds as text.

    Raises:
        BadValue: it is not a time of the years 1970 to 9999.
    """
    if not isinstance(millis, (str, int)) or isinstance(millis, bool) or not 0 <= int(millis) <= _LAST:
        raise BadValue(f"its creationTimestamp {str(millis)[:_SHOWN]!r} is not a time in milliseconds")
    return int(millis) / 1000


def _size(size: Any) -> int:
    found = size_within(size)
    if found is None:
        raise BadValue(f"the size of a file is {str(size)[:_SHOWN]!r}, which is not a number of bytes")
    return found


def _require_inside(files: Sequence[InventoryFile], manifest: S3Address) -> None:
    """Refuse keys outside of the inventory's folder, which has the manifests' folders and `data/`.

    A key that Spark resolves to another one is refused first, so that a beginning of the key is a folder of the object.
    """
    for file in files:
        try:
            spark_pattern(S3Address(manifest.bucket, file.key))
        except ValueError as error:
            raise InventoryError(
                f"{manifest} names a file that cannot be read: {error}. If S3 wrote it, give the inventory's "
                "configuration another prefix; if not, see who else may write there"
            ) from None
    folder = "".join(f"{part}/" for part in manifest.key.split("/")[:-2])
    outside = [file.key for file in files if not file.key.startswith(folder)]
    if outside:
        others = f" and {len(outside) - 1} more" if len(outside) > 1 else ""
        raise InventoryError(
            f"{manifest} names {S3Address(manifest.bucket, outside[0])}{others}, which is outside of the inventory's "
            f"folder {S3Address(manifest.bucket, folder)}: S3 writes no such manifest. See who else may write there"
        )


def deliveries(folders: Iterable[str]) -> list[str]:
    """Return those of some folders that are an inventory's deliveries, the newest first."""
    return sorted((name for name in folders if _DELIVERY.fullmatch(name)), reverse=True)


def columns_of(format: InventoryFormat, schema: str) -> list[Column]:
    """Return the columns of a `fileSchema`. Fields of structs, lists and maps are none."""
    match format:
        case "csv":
            return [Column(name, "string", "string") for name in re.findall(r"[^,\s]+", schema)]
        case "orc":
            parts = _parts(schema.strip().removeprefix("struct<").removesuffix(">"), ",", "<(", ">)")
            return [_orc(*map(str.strip, part.partition(":")[::2])) for part in parts if ":" in part]
        case "parquet":
            parts = _parts(schema.partition("{")[2].rpartition("}")[0], ";", "{", "}")
            found = (_PARQUET_FIELD.fullmatch(part.strip()) for part in parts)
            return [_parquet(field) for field in found if field]


def _orc(name: str, kind: str) -> Column:
    kind = re.sub(r"(?<=[(),<>:])\s+|(?<!\s)\s++(?=[(),<>:])", "", kind.lower())
    sql = "timestamp" if kind in ("timestamp", "timestamp with local time zone") else kind
    return Column(name, kind, sql if sql == "timestamp" or _ORC.fullmatch(sql) else "")


def _parquet(field: re.Match[str]) -> Column:
    annotation = field["as"] or ""
    kind = f"{field['type']} {annotation}"
    if field["group"] or field["repeats"] == "repeated":
        sql = ""
    else:
        sql = next((sql for pattern, sql in _PARQUET if pattern.fullmatch(kind)), "")
    return Column(field["name"], f"{field['type']} ({annotation})" if annotation else field["type"], sql)


def _parts(text: str, end: str, opens: str, closes: str) -> Iterator[str]:
    """Yield the parts of a text between `end`s that no bracket encloses. A closed brace ends a part, too."""
    depth, part = 0, ""
    for character in text:
        depth += (character in opens) - (character in closes)
        if depth == 0 and character in (end, "}"):
            yield part
            part = ""
        else:
            part += character
    yield part
