"""The lake root: a prefix of a bucket."""

from __future__ import annotations

from tidegate.platform.core.keys.s3_address import S3Address
from tidegate.platform.core.keys.table_key import TableKey
from tidegate.platform.lake.aws.s3 import ObjectStore


class LakeRoot:
    """The bucket and prefix that hold the lake's own objects.

    Args:
        root: `s3://bucket/prefix`.
    """

    def __init__(self, objects: ObjectStore, root: str) -> None:
        self.objects = objects
        self.bucket, prefix = S3Address.parse(root)
        self._prefix = f"{prefix.rstrip('/')}/" if prefix.strip("/") else ""

    def key(self, *parts: str) -> str:
        """Return the key of an object under the root."""
        return self._prefix + "/".join(parts)

    def uri(self, *parts: str) -> str:
        """Return the `s3a://` URI under the root, as Spark takes it."""
        return S3Address(self.bucket, self.key(*parts)).s3a

    def remove_folder(self, folder: str) -> None:
        """Delete the objects of a folder (`s3a://` URI) under the root that nothing refers to any more."""
        bucket, prefix = S3Address.parse_s3a(folder)
        self.objects.delete(bucket, [item.key for item in self.objects.list_under(bucket, f"{prefix}/")])

    def address(self, key: str) -> str:
        """Return the `s3://` address of a key, as people read it."""
        return S3Address(self.bucket, key).s3


def is_table_key(text: str) -> bool:
    """Return whether a name found under the root is a table key."""
    try:
        TableKey.decode(text)
    except ValueError:
        return False
    return True
