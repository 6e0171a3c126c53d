"""A delivery that is proven: its inventory, and the candidate of the batch that brings it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tidegate.platform.core.bronze.plan import Candidate
from tidegate.platform.core.inventory.columns import column_name
from tidegate.platform.core.inventory.delivery import Delivery
from tidegate.platform.core.inventory.manifest import Inventory, InventoryError
from tidegate.platform.core.keys.object_key import folder_of
from tidegate.platform.core.keys.s3_address import S3Address
from tidegate.platform.lake.inventory.deliveries import manifest_of, proven
from tidegate.platform.lake.lake import Table

#: An MD5 in hex, and what a producer may write around it.
_CHECKSUM_BYTES = 1024


@dataclass(frozen=True)
class Entry:
    """A delivery that may enter the table.

    Attributes:
        etags: of its files when they were proven, by key.
    """

    delivery: Delivery
    candidate: Candidate
    inventory: Inventory
    etags: Mapping[str, str]

    @property
    def size(self) -> int:
        """Bytes of its files."""
        return sum(file.size for file in self.inventory.files)

    @property
    def columns(self) -> list[str]:
        """The columns of its fields in the table."""
        return [column_name(name) for name in self.inventory.columns]

    @property
    def left_out(self) -> str | None:
        """Which fields of its files the table does not get. None: it gets all."""
        fields = ", ".join(f"{field.name} ({field.type})" for field in self.inventory.left_out)
        return f"without the fields {fields}: a column of text cannot have their types" if fields else None


def prove_entry(table: Table, delivery: Delivery, candidate: Candidate) -> Entry:
    """Read the manifest of a delivery, and prove it and the files that it names.

    Raises:
        InventoryError: it cannot be used. A subclass says whether it may become usable.
        StoreError: S3 did not answer, or the checksum was written again since the look.
    """
    objects, folder = table.source.objects, S3Address(table.key.bucket, folder_of(candidate.key))
    checksum = candidate.found.body
    if checksum is None:
        with objects.reading(table.source.version(candidate.key, candidate.found.etag)) as body:
            checksum = body.read(_CHECKSUM_BYTES)
    found = proven(objects, folder, checksum, manifest_of(objects, folder))
    if found.inventory.source != delivery.subject.bucket:
        raise InventoryError(
            f"{found.inventory.uri} is an inventory of the bucket {found.inventory.source}, and its folder is that of "
            f"{delivery.subject.bucket}: it was copied, or written by hand. Remove it"
        )
    return Entry(delivery, candidate, found.inventory, found.etags)
