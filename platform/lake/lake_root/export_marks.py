"""How far the changes of silver tables are exported."""

from __future__ import annotations

from tidegate.platform.core.silver.export_manifest import ExportMark
from tidegate.platform.lake.lake_root.root import LakeRoot


class ExportMarks:
    """The objects `exports/<name>/<Delta's id of the silver table>.json`."""

    def __init__(self, root: LakeRoot) -> None:
        self._root = root

    def get(self, name: str, table_id: str) -> ExportMark | None:
        """Return the mark of a table. None if it has none.

        Raises:
            ValueError: the object is no mark.
            StoreError: S3 did not answer.
        """
        key = self._key(name, table_id)
        body = self._root.objects.get(self._root.bucket, key)
        return None if body is None else ExportMark.from_json(body, self._root.address(key))

    def ensure(self, name: str, table_id: str, start: int, folder: str) -> ExportMark:
        """Return the mark of a table. If there is none, begin at a version, unless another run has begun meanwhile.

        Raises:
            ValueError: the object is no mark.
            StoreError: S3 did not answer.
        """
        if mark := self.get(name, table_id):
            return mark
        begun = ExportMark(start, folder=folder)
        self._root.objects.put_if_absent(self._root.bucket, self._key(name, table_id), begun.to_json())
        return self.get(name, table_id) or begun

    def write(self, name: str, table_id: str, mark: ExportMark) -> None:
        """Write the mark of a table."""
        self._root.objects.put(self._root.bucket, self._key(name, table_id), mark.to_json())

    def _key(self, name: str, table_id: str) -> str:
        return self._root.key("exports", name, f"{table_id}.json")
