"""The manifest of an export: which files have the changes of one version. What no manifest names is not exported."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass

from tidegate.platform.core.stored_members import read_members, reading, require_format

FORMAT = 1


@dataclass(frozen=True)
class ExportedFile:
    """A file of an export, as S3 has it.

    Attributes:
        key: in the bucket of the export.
        size: bytes.
        etag: of the object.
    """

    key: str
    size: int
    etag: str


@dataclass(frozen=True)
class ExportManifest:
    """The changes of one version of a silver table.

    Attributes:
        table: SQL name.
        table_id: Delta's id of the table.
        version: Delta version whose commit made the changes.
        previous: the version of the manifest before. None for the first one.
        snapshot: whether its rows are all rows that the table had, as inserts. If there is a `previous` one, they take
            the place of all that was exported before: the changes in between are not known any more.
        format: `parquet` or `csv`.
        rows: number of rows by change type.
        files: the files, in order of their keys.
    """

    table: str
    table_id: str
    version: int
    previous: int | None
    snapshot: bool
    format: str
    rows: Mapping[str, int]
    files: tuple[ExportedFile, ...]

    def to_json(self) -> str:
        """Return the body of the manifest."""
        return json.dumps({"format_version": FORMAT, **asdict(self)}, indent=2)


def exported_rows(text: str | bytes, where: str) -> dict[str, int]:
    """Return the number of rows by change type, as a manifest has them.

    Raises:
        NewerVersionError: a newer version wrote it.
        BadValue: the text is not a manifest. The message names it.
    """
    with reading(where, "a manifest of an export", "delete it"):
        body = json.loads(text)
        require_format(body["format_version"], FORMAT)
        return dict(body["rows"])


@dataclass(frozen=True)
class ExportMark:
    """How far the changes of a table are exported.

    Attributes:
        start: the version whose rows are the first export, or the first one after changes that are not known any more.
        done: the last version whose changes are exported, or that has none. None before the export of `start`.
        last: the version of the last manifest. None before the first one.
        folder: the `export.folder` in which an attempt may have put the manifest of the next version. None in marks of
            before it was noted.
    """

    start: int
    done: int | None = None
    last: int | None = None
    folder: str | None = None

    def to_json(self) -> str:
        """Return the body of the mark."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str | bytes, where: str) -> ExportMark:
        """Read a mark.

        Raises:
            BadValue: the text is not a mark. The message names it.
        """
        remedy = "restore its last version, or delete it to begin the export again with all rows"
        with reading(where, "a mark of an export", remedy):
            return read_members(cls, json.loads(text), "a mark")


def manifest_name(version: int) -> str:
    """Return the name of the manifest of a version. Names have the order of versions."""
    return f"{version:020}.json"
