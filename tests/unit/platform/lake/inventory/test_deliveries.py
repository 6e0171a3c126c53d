"""The manifest of a delivery for S3 Batch Operations: what S3 refuses, does not have, or does not answer."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tidegate.platform.core.bronze.object_state import Probe, S3Forbidden, S3Found, S3Gone, S3Unavailable
from tidegate.platform.core.inventory.manifest import InventoryError
from tidegate.platform.core.keys.s3_address import S3Address, S3Object
from tidegate.platform.lake.aws.s3 import ObjectForbidden, StoreError
from tidegate.platform.lake.inventory.deliveries import delivered_manifest

FOLDER = S3Address("inventories", "acme/all/2026-11-25T01-00Z/")
FOUND = S3Found("etag", 10, 0)


class Objects:
    """A store with one delivery."""

    def __init__(self, head: Probe, *, checksum: bool = True, readable: bool = True) -> None:
        self._head, self._checksum, self._readable = head, checksum, readable

    def head_with_body(self, bucket: str, key: str, max_bytes: int) -> tuple[Probe, bytes | None]:
        assert bucket == "inventories"
        assert max_bytes == 16 << 20
        if key == f"{FOLDER.key}manifest.checksum":
            return (S3Found("checksum", 32, 0), b"0" * 32) if self._checksum else (S3Gone(), None)
        assert key == f"{FOLDER.key}manifest.json"
        return self._head, None

    @contextmanager
    def open_version(self, version: S3Object) -> Iterator[io.BytesIO]:
        assert version.etag != "checksum", "one request each"
        if not self._readable:
            raise ObjectForbidden("403")
        yield io.BytesIO(b"a manifest that is too large is not read")


def manifest_of(objects: Objects) -> None:
    delivered_manifest(objects, FOLDER, "acme", 1, 0)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "objects",
    [Objects(S3Forbidden("403")), Objects(FOUND, readable=False)],
    ids=["HEAD", "GET"],
)
def test_a_manifest_that_may_not_be_read_is_a_fault_of_its_bucket_and_names_the_permission(objects: Objects) -> None:
    with pytest.raises(InventoryError, match=r"manifest\.json may not be read: allow s3:GetObject on it"):
        manifest_of(objects)


def test_a_manifest_that_s3_never_writes_is_not_read() -> None:
    with pytest.raises(InventoryError, match=r"manifest\.json has more than 16,777,216 bytes, .* delete the delivery"):
        manifest_of(Objects(S3Found("etag", (16 << 20) + 1, 0)))


@pytest.mark.parametrize("objects", [Objects(S3Gone()), Objects(FOUND, checksum=False)], ids=["manifest", "checksum"])
def test_a_manifest_without_its_checksum_is_gone(objects: Objects) -> None:
    with pytest.raises(InventoryError, match="or the checksum next to it is gone"):
        manifest_of(objects)


def test_a_store_that_does_not_answer_has_not_lost_the_manifest() -> None:
    with pytest.raises(StoreError, match=r"manifest\.json: 503 Slow Down"):
        manifest_of(Objects(S3Unavailable("503 Slow Down")))
