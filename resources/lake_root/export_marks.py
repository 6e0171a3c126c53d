"""How far the changes of silver tables are exported."""

from __future__ import annotations

from tidegate.platform.core.silver.export_manifest import ExportMark
from tidegate.resources.lake_root.root import LakeRoot


class ExportMarks:
    """The objects `exports/<name>/<Delta's id of the silver table>.json`."""

    def __init__(self, root: LakeRoot) -> None:
        self._root = root

    def ensure(self, name: str, table_id: str, start: int) -> ExportMark:
        """Return the mark of a table. If there is none, begin at a version, unless another run has begun meanwhile.

        Raises:
            ValueError: the object is no mark.
            StoreError: S3 did not answer.
        """
        key = self._key(name, table_id)
        body = self._root.objects.get(self._root.bucket, key)
        if body is None:
            self._root.objects.put_if_absent(self._root.bucket, key, ExportMark(start).to_json())
            body = self._root.objects.get(self._root.bucket, key)
        return ExportMark.from_json(body or "", self._root.address(key))

    def write(self, name: str, table_id: str, mark: ExportMark) -> None:
        """Write the mark of a table."""
        self._root.objects.put(self._root.bucket, self._key(name, table_id), mark.to_json())

    def _key(self, name: str, table_id: str) -> str:
        return self._root.key("exports", name, f"{table_id}.json")
