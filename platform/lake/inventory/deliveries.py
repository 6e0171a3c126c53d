"""Deliveries of S3 Inventory: proves that one is complete and as S3 wrote it, and finds the newest of a folder."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from botocore.exceptions import ClientError

from tidegate.platform.core.bronze.object_state import S3Forbidden, S3Found, S3Gone
from tidegate.platform.core.errors import BadValue
from tidegate.platform.core.inventory.manifest import (
    Inventory,
    InventoryError,
    InventoryFile,
    InventoryForbidden,
    InventoryIncomplete,
    deliveries,
)
from tidegate.platform.core.keys.s3_address import S3Address, S3Object
from tidegate.platform.core.storage.batch_manifest import INVENTORY, BatchManifest
from tidegate.platform.core.wording import first_line
from tidegate.platform.lake.aws.s3 import ObjectForbidden, ObjectStore, StoreError
from tidegate.platform.lake.capacity import run_bounded
from tidegate.platform.lake.threads import parallel

#: Folders that the error names if there is no delivery.
_MAX_NAMED_FOLDERS = 5
#: Bytes of a manifest or its checksum: who writes into the folder chooses the size. A file of an inventory takes about
#: 150 bytes of its manifest.
_MAX_BYTES = 16 << 20
#: Bytes of a manifest that is parsed next to others.
_SMALL_BYTES = 1 << 18
_CHUNK = 1 << 20
_DAY_SECONDS = 86_400
_KMS_HINT = "and kms:Decrypt with its key where it is encrypted with KMS"


@dataclass(frozen=True)
class ProvenInventory:
    """An inventory whose manifest and files are as S3 wrote them.

    Attributes:
        etags: of its files, by key. A file with another etag is another file.
    """

    inventory: Inventory
    etags: Mapping[str, str]


def newest_inventory(
    objects: ObjectStore, folder: str, source: str, log: Callable[[str], None] = lambda _: None
) -> Inventory:
    """Return the newest inventory below a folder whose delivery is complete, with all of its files.

    Args:
        folder: `s3://<destination>/<prefix>/<source bucket>/<configuration>/`.
        source: the bucket that it should be of.
        log: receives a line for each delivery that is not complete.

    Raises:
        InventoryError: there is no delivery, or it cannot be used.
        StoreError: S3 did not answer.
    """
    bucket, prefix = S3Address.parse(folder)
    names = _folders(objects, bucket, prefix)
    for name in deliveries(names):
        uri = S3Address(bucket, f"{prefix}{name}/manifest.json").s3
        checksum = _get(objects, bucket, f"{prefix}{name}/manifest.checksum")
        body = _get(objects, bucket, f"{prefix}{name}/manifest.json") if checksum is not None else None
        if checksum is None or body is None:
            log(f"the inventory {uri} is not complete yet: looking at the one before")
            continue
        return prove_inventory(objects, S3Address(bucket, f"{prefix}{name}/"), checksum, body, source).inventory
    there = ", ".join(names[:_MAX_NAMED_FOLDERS]) or "nothing"
    raise InventoryError(
        f"no complete inventory is below {folder}, only: {there}. `inventory` names the folder that holds folders "
        "like 2026-01-31T01-00Z: s3://<destination>/<prefix>/<source bucket>/<configuration>/. S3 delivers the first "
        "one within 48 hours"
    )


def manifest_of(objects: ObjectStore, folder: S3Address) -> bytes:
    """Return the manifest of a delivery.

    Raises:
        InventoryIncomplete: it is missing.
        InventoryForbidden: S3 refuses to return it.
        StoreError: S3 did not answer.
    """
    body = _get(objects, folder.bucket, f"{folder.key}manifest.json")
    if body is None:
        key = f"{folder.key}manifest.json"
        raise InventoryIncomplete(f"its manifest {S3Address(folder.bucket, key)} is missing", key)
    return body


def prove_inventory(
    objects: ObjectStore, folder: S3Address, checksum: bytes, body: bytes, source: str | None = None
) -> ProvenInventory:
    """Prove an inventory: the manifest by its checksum, and the files by the sizes and MD5s in the manifest.

    Args:
        folder: of the delivery, with the "/" at its end.
        checksum: the content of manifest.checksum.
        body: the content of manifest.json.
        source: the bucket that the inventory should be of, if that is known.

    Raises:
        InventoryIncomplete: a file is missing.
        InventoryForbidden: S3 refuses to return a file.
        InventoryError: an object is not what S3 wrote, or cannot be used.
        StoreError: S3 did not answer.
    """
    uri = f"{folder}manifest.json"
    if hashlib.md5(body, usedforsecurity=False).hexdigest() != checksum.decode(errors="replace").strip().lower():
        raise InventoryError(
            f"{uri} is not what S3 wrote: its MD5 differs from the one in manifest.checksum next to it. Delete "
            f"{folder}, so that the delivery before is read, or wait for the next one"
        )
    # What a large one says takes several times its bytes.
    inventory = run_bounded(
        lambda _: Inventory.from_manifest(body, uri, source),
        _MAX_BYTES,
        shared_max_bytes=_SMALL_BYTES,
        min_bytes=len(body),
    )
    if inventory.created > time.time() + _DAY_SECONDS:
        raise InventoryError(
            f"{uri} says that it began at {inventory.began}, after tomorrow: later ones would be older"
        )
    return ProvenInventory(inventory, dict(parallel(lambda file: _require(objects, inventory, file), inventory.files)))


def delivered_manifest(objects: ObjectStore, folder: S3Address, source: str, count: int, null: int) -> BatchManifest:
    """Return the manifest of a delivery for S3 Batch Operations, after it is proven.

    Args:
        folder: of the delivery, with the "/" at its end.
        source: the bucket that the inventory is of.
        count: number of its lines.
        null: number of its lines that are null versions.

    Raises:
        BadValue: Batch Operations cannot take the inventory.
        InventoryError: an object is missing, may not be read, or is not what S3 wrote.
        StoreError: S3 did not answer.
    """
    address = S3Address(folder.bucket, f"{folder.key}manifest.json")
    checksum = _get(objects, folder.bucket, f"{folder.key}manifest.checksum")
    found = _read(objects, address) if checksum is not None else None
    if checksum is None or found is None:
        raise InventoryIncomplete(
            f"its manifest {address} or the checksum next to it is gone: choose objects with --sql, or wait for the "
            "next delivery",
            address.key,
        )
    etag, manifest = found
    inventory = prove_inventory(objects, folder, checksum, manifest, source).inventory
    if inventory.format != "csv":
        raise BadValue(
            f"its inventory is {inventory.format.upper()}, and S3 Batch Operations takes only CSV inventories: choose "
            "objects with --sql, or let the inventory configuration have the format CSV"
        )
    if null:
        raise BadValue(
            f"its inventory has no version ID of {null:,} null versions, for which a job would fail: choose objects "
            "with --sql, which gives them the ID 'null'"
        )
    has_versions = any(name.lower() == "versionid" for name in inventory.columns)
    return BatchManifest(source, address, etag, count, INVENTORY, has_versions)


def _folders(objects: ObjectStore, bucket: str, prefix: str) -> list[str]:
    try:
        return objects.folders(bucket, prefix)
    except ClientError as error:
        status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode")
        if status == 403:
            raise InventoryError(f"s3://{bucket} may not be listed: allow s3:ListBucket on it") from error
        if status == 404:
            raise InventoryError(f"there is no bucket {bucket}, which `inventory` names") from error
        raise StoreError(f"{S3Address(bucket, prefix)}: {first_line(error)}") from error


def _get(objects: ObjectStore, bucket: str, key: str) -> bytes | None:
    found = _read(objects, S3Address(bucket, key))
    return found and found[1]


def _read(objects: ObjectStore, address: S3Address) -> tuple[str, bytes] | None:
    """Return the etag and the content of a manifest or its checksum; None if there is no such object."""
    found, content = objects.head_with_body(*address, _MAX_BYTES)
    if isinstance(found, S3Gone):
        return None
    if isinstance(found, S3Forbidden):
        raise _access_error(*address)
    if not isinstance(found, S3Found):
        raise StoreError(f"{address}: {found.detail}")
    if found.size > _MAX_BYTES:
        raise InventoryError(
            f"{address} has more than {_MAX_BYTES:,} bytes, which S3 never writes there: find out who wrote it, and "
            "delete the delivery"
        )
    if content is not None:
        return found.etag, content
    try:  # S3 gave the state and not the bytes. It says why.
        with objects.open_version(S3Object(address, found.etag)) as body:
            return found.etag, body.read()
    except ObjectForbidden as error:
        raise _access_error(*address) from error


def _access_error(bucket: str, key: str) -> InventoryError:
    return InventoryForbidden(f"{S3Address(bucket, key)} may not be read: allow s3:GetObject on it, {_KMS_HINT}")


def _require(objects: ObjectStore, inventory: Inventory, file: InventoryFile) -> tuple[str, str]:
    """Check that a file exists with the size and MD5 that the manifest gives. Returns its key and etag."""
    address = S3Address(inventory.bucket, file.key)
    found = objects.head(*address)
    if isinstance(found, S3Gone):
        raise InventoryIncomplete(
            f"{address} is gone, which {inventory.uri} names: a lifecycle rule must keep an inventory's files as long "
            "as its manifest. Wait for the next delivery",
            file.key,
        )
    if isinstance(found, S3Forbidden):
        raise _access_error(*address)
    if not isinstance(found, S3Found):
        raise StoreError(f"{address}: {found.detail}")
    # The etag of an object that was put in one part and has no KMS key is its MD5. Then the file need not be read.
    if found.size != file.size or (found.etag != file.md5 and _md5(objects, S3Object(address, found.etag)) != file.md5):
        raise InventoryError(
            f"{address} is not what {inventory.uri} says: its size or MD5 differs. Wait for the next delivery, or "
            "delete this one's folder, so that the one before is read"
        )
    return file.key, found.etag


def _md5(objects: ObjectStore, version: S3Object) -> str:
    digest = hashlib.md5(usedforsecurity=False)
    try:
        with objects.open_version(version) as body:
            while chunk := body.read(_CHUNK):
                digest.update(chunk)
    except ObjectForbidden as error:
        raise _access_error(*version.address) from error
    return digest.hexdigest()
