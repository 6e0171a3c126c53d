"""The lines of a manifest of S3 Batch Operations: `S3BatchOperations_CSV_20180820`.

The format is that of AWS's page "Creating an Amazon S3 Batch Operations job": no header, the bucket, the URL-encoded
key, and the version ID of all objects or of none. The objects of a manifest are in one bucket.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import quote

#: The name of the format in a job.
FORMAT = "S3BatchOperations_CSV_20180820"
#: The columns of a query that become fields.
BUCKET, KEY, VERSION = "bucket", "key", "version_id"


class BatchManifestError(ValueError):
    """A query does not give the objects of a manifest."""


class ListedObject(NamedTuple):
    """A row of a query.

    Attributes:
        bucket: its bucket.
        key: its key, decoded.
        version: version ID, or None.
    """

    bucket: str | None
    key: str | None
    version: str | None = None


@dataclass(frozen=True)
class ManifestFields:
    """The fields of a manifest.

    Attributes:
        columns: names of the columns of the query, in the order of `names`.
        names: the fields, as a job names them.
    """

    columns: tuple[str, ...]
    names: tuple[str, ...]

    @classmethod
    def of(cls, columns: Iterable[str]) -> ManifestFields:
        """Return the fields that the columns of a query give. Upper and lower case are the same.

        Raises:
            BatchManifestError: a column is missing, or two have one name.
        """
        found: dict[str, str] = {}
        given = list(columns)
        for column in given:
            if found.setdefault(column.lower(), column) is not column and column.lower() in (BUCKET, KEY, VERSION):
                raise BatchManifestError(f"two columns of the query have the name {column}: select one of them")
        if missing := [name for name in (BUCKET, KEY) if name not in found]:
            raise BatchManifestError(
                f"the query has no column {' and no column '.join(missing)}, only {', '.join(given)}: "
                "give a column its name with AS"
            )
        fields = {BUCKET: "Bucket", KEY: "Key"} | ({VERSION: "VersionId"} if VERSION in found else {})
        return cls(tuple(found[name] for name in fields), tuple(fields.values()))


def manifest_lines(objects: Iterable[ListedObject], *, with_versions: bool) -> Iterator[str]:
    """Yield the lines of a manifest.

    Args:
        objects: all of one bucket.
        with_versions: whether the manifest has the field VersionId.

    Raises:
        BatchManifestError: a bucket or a key is NULL, or a version ID is NULL in a manifest with versions.
    """
    for number, (bucket, key, version) in enumerate(objects, 1):
        if not bucket or not key:
            raise BatchManifestError(f"the bucket or the key of row {number} is NULL or empty: exclude it with WHERE")
        line = f"{bucket},{quote(key)}"
        if with_versions:
            if not version:
                raise BatchManifestError(
                    f"{bucket}/{key} has no version ID, and a manifest has the version of all objects or of none: "
                    "exclude it with WHERE, or do not select version_id"
                )
            line = f"{line},{quote(version)}"
        yield f"{line}\n"
