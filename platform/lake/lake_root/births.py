"""Births: the choices fixed at a table's first write."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator

from tidegate.platform.core.bronze.birth import Birth
from tidegate.platform.core.keys.file_format import OutputMode
from tidegate.platform.core.keys.s3_address import S3Address
from tidegate.platform.core.keys.table_key import TableKey
from tidegate.platform.core.stored_members import read_members, reading
from tidegate.platform.lake.aws.s3 import Listed, StoreError
from tidegate.platform.lake.lake_root.root import LakeRoot, is_table_key

#: Names in the object of fields that have another name here.
_ON_DISK = {"generation_folder": "folder"}


class Births:
    """`tables/<table key>.json`."""

    def __init__(self, root: LakeRoot) -> None:
        self._root = root

    def read(self, table: str) -> Birth | None:
        """Return the table's birth record, if it has been born.

        Raises:
            BadValue: the object is not a birth record. The message names it.
        """
        body = self._root.objects.get(self._root.bucket, self._key(table))
        with reading(self._root.address(self._key(table)), "a birth record"):
            return _from_json(body) if body is not None else None

    def ensure_birth(self, table: str, name: str, *, registered: bool, output: OutputMode | None = None) -> Birth:
        """Write the table's birth record unless another run already has. Returns the record that exists afterwards."""
        key = TableKey.decode(table)
        own = self._root.uri("outputs" if output else "bronze", table)
        location = S3Address(key.bucket, key.prefix).s3a.rstrip("/") if registered else own
        birth = Birth(str(uuid.uuid4()), location, name, registered, output=output)
        self._root.objects.put_if_absent(self._root.bucket, self._key(table), _to_json(birth))
        found = self.read(table)
        if found is None:
            raise StoreError(f"the birth record of {table} vanished right after it was written")
        return found

    def replace(self, table: str, birth: Birth) -> None:
        """Write the birth record of the next generation. Only the end of a reset or of an adoption does that."""
        self._root.objects.put(self._root.bucket, self._key(table), _to_json(birth))

    def tables(self) -> list[str]:
        """Return table keys of all tables that were born."""
        return list(self.birth_times())

    def birth_times(self) -> dict[str, float]:
        """Return epoch seconds at which each table's birth record was written, by S3's clock.

        A reset writes it again.
        """
        return {name.removesuffix(".json"): item.modified for name, item in self._list_records() if _is_birth(name)}

    def describe_strays(self) -> list[str]:
        """Return a sentence for each object that is not a birth record. It names the object and the remedy."""
        return [
            f"{self._root.address(self._root.key('tables', name))} is not a table's birth record and is skipped. "
            "Move it away"
            for name, _ in self._list_records()
            if not _is_birth(name)
        ]

    def _list_records(self) -> Iterator[tuple[str, Listed]]:
        start = self._root.key("tables", "")
        return ((item.key[len(start) :], item) for item in self._root.objects.list_under(self._root.bucket, start))

    def _key(self, table: str) -> str:
        return self._root.key("tables", f"{table}.json")


def _to_json(birth: Birth) -> str:
    # Omitted when unset: records of tables are as older versions read them.
    stored = {name: value for name, value in vars(birth).items() if name not in ("output", "adopted") or value}
    if birth.output == "repartition":
        stored["output"] = True  # The only mode of the versions that wrote no name.
    return json.dumps({_ON_DISK.get(name, name): value for name, value in stored.items()})


def _from_json(body: str | bytes) -> Birth:
    values = json.loads(body)
    if "output" in values:
        values["output"] = "repartition" if values["output"] is True else values["output"] or None
    renamed = {name: values.pop(stored) for name, stored in _ON_DISK.items() if stored in values}
    return read_members(Birth, values, "the record of a birth", **renamed)


def _is_birth(name: str) -> bool:
    return name.endswith(".json") and is_table_key(name.removesuffix(".json"))
