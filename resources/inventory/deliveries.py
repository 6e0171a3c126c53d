"""S3 Inventories as S3 delivers them: the newest complete one, proven to be whole."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

from botocore.exceptions import ClientError

from tidegate.platform.core.bronze.object_state import S3Forbidden, S3Found, S3Gone
from tidegate.platform.core.first_line import first_line
from tidegate.platform.core.inventory_manifest import Inventory, InventoryError, InventoryFile, deliveries
from tidegate.platform.core.keys.object_key import parse_s3_uri
from tidegate.resources.aws.s3 import ObjectForbidden, ObjectStore, StoreError
from tidegate.resources.threads import parallel

#: Folders that are named where no delivery is.
_MOST_TOLD = 5
_CHUNK = 1 << 20
_MAY = "and kms:Decrypt with its key where it is encrypted with KMS"


def newest_inventory(
    objects: ObjectStore, folder: str, source: str, log: Callable[[str], None] = lambda _: None
) -> Inventory:
    """The newest inventory below a folder whose delivery is complete, with every file that it names.

    Args:
        objects: S3.
        folder: ``s3://<destination>/<prefix>/<source bucket>/<configuration>/``.
        source: the bucket that it should be of.
        log: told which deliveries are not complete.

    Raises:
        InventoryError: there is none, or it cannot be used.
        StoreError: S3 did not answer.
    """
    bucket, prefix = parse_s3_uri(folder)
    names = _folders(objects, bucket, prefix)
    for name in deliveries(names):
        uri = f"s3://{bucket}/{prefix}{name}/manifest.json"
        checksum = _get(objects, bucket, f"{prefix}{name}/manifest.checksum")
        body = _get(objects, bucket, f"{prefix}{name}/manifest.json") if checksum is not None else None
        if checksum is None or body is None:
            log(f"the inventory {uri} is not complete yet: looking at the one before")
            continue
        if hashlib.md5(body, usedforsecurity=False).hexdigest() != checksum.decode(errors="replace").strip().lower():
            raise InventoryError(
                f"{uri} is not what S3 wrote: its MD5 is not the one in manifest.checksum beside it. Delete "
                f"s3://{bucket}/{prefix}{name}/, so that the delivery before is read, or wait for the next one"
            )
        inventory = Inventory.from_manifest(body, uri, source)
        for _ in parallel(lambda file: _require(objects, inventory, file), inventory.files):  # noqa: B023
            pass
        return inventory
    there = ", ".join(names[:_MOST_TOLD]) or "nothing"
    raise InventoryError(
        f"no complete inventory lies below {folder}, only: {there}. `inventory` names the folder that holds folders "
        "like 2026-01-31T01-00Z: s3://<destination>/<prefix>/<source bucket>/<configuration>/. S3 delivers the first "
        "one within 48 hours"
    )


def _folders(objects: ObjectStore, bucket: str, prefix: str) -> list[str]:
    try:
        return objects.folders(bucket, prefix)
    except ClientError as error:
        status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode")
        if status == 403:
            raise InventoryError(f"s3://{bucket} may not be listed: allow s3:ListBucket on it") from error
        if status == 404:
            raise InventoryError(f"there is no bucket {bucket}, which `inventory` names") from error
        raise StoreError(f"s3://{bucket}/{prefix}: {first_line(error)}") from error


def _get(objects: ObjectStore, bucket: str, key: str) -> bytes | None:
    try:
        return objects.get(bucket, key)
    except ObjectForbidden as error:
        raise _denied(bucket, key) from error


def _denied(bucket: str, key: str) -> InventoryError:
    return InventoryError(f"s3://{bucket}/{key} may not be read: allow s3:GetObject on it, {_MAY}")


def _require(objects: ObjectStore, inventory: Inventory, file: InventoryFile) -> None:
    """That a file is there, with the bytes that the manifest says."""
    uri = f"s3://{inventory.bucket}/{file.key}"
    lies = objects.head(inventory.bucket, file.key)
    if isinstance(lies, S3Gone):
        raise InventoryError(
            f"{uri} is gone, which {inventory.uri} names: a lifecycle rule must keep an inventory's files as long as "
            "its manifest. Wait for the next delivery"
        )
    if isinstance(lies, S3Forbidden):
        raise _denied(inventory.bucket, file.key)
    if not isinstance(lies, S3Found):
        raise StoreError(f"{uri}: {lies.detail}")
    # The etag of an object that was put at once and has no KMS key is its MD5: then it need not be read.
    if lies.size != file.size or (lies.etag != file.md5 and _md5(objects, inventory.bucket, file, lies) != file.md5):
        raise InventoryError(
            f"{uri} is not what {inventory.uri} says: its size or MD5 differs. Wait for the next delivery, or delete "
            "this one's folder, so that the one before is read"
        )


def _md5(objects: ObjectStore, bucket: str, file: InventoryFile, lies: S3Found) -> str:
    found = hashlib.md5(usedforsecurity=False)
    try:
        with objects.reading(bucket, file.key, lies.etag) as body:
            while chunk := body.read(_CHUNK):
                found.update(chunk)
    except ObjectForbidden as error:
        raise _denied(bucket, file.key) from error
    return found.hexdigest()
