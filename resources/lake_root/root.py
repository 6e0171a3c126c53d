"""The lake root: a prefix of a bucket."""

from __future__ import annotations

from tidegate.platform.core.keys.object_key import parse_s3_uri
from tidegate.platform.core.keys.table_key import TableKey
from tidegate.resources.aws.s3 import ObjectStore


class LakeRoot:
    """Where the lake's own objects lie.

    Args:
        objects: handle on S3.
        root: ``s3://bucket/prefix``.
    """

    def __init__(self, objects: ObjectStore, root: str) -> None:
        self.objects = objects
        self.bucket, prefix = parse_s3_uri(root)
        self._prefix = f"{prefix.rstrip('/')}/" if prefix.strip("/") else ""

    def key(self, *parts: str) -> str:
        """Key of an object under the root."""
        return self._prefix + "/".join(parts)

    def uri(self, *parts: str) -> str:
        """``s3a://`` URI under the root, as Spark takes it."""
        return f"s3a://{self.bucket}/{self.key(*parts)}"

    def remove_folder(self, folder: str) -> None:
        """Delete the objects in a folder under the root, given as ``uri`` gives it: one that nothing names."""
        prefix = folder.removeprefix(f"s3a://{self.bucket}/")
        self.objects.delete(self.bucket, [one.key for one in self.objects.under(self.bucket, f"{prefix}/")])

    def address(self, key: str) -> str:
        """``s3://`` address of a key, as people read it."""
        return f"s3://{self.bucket}/{key}"


def is_table_key(text: str) -> bool:
    """Whether a name that was found under the root is a table's."""
    try:
        TableKey.decode(text)
    except ValueError:
        return False
    return True
