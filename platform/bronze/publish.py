"""Step 4 of an output: copies of the staged objects under their final names, and the end of the staged ones."""

from __future__ import annotations

import math
from functools import partial

from tidegate.platform.core.bronze.batch import Batch, OutputObject
from tidegate.platform.core.bronze.object_state import S3Found
from tidegate.platform.core.keys.s3_address import S3Address
from tidegate.platform.core.seams import seam
from tidegate.platform.lake.aws.s3 import ObjectGone, ObjectStore, StoreError
from tidegate.platform.lake.lake import Table
from tidegate.platform.lake.lake_root.store import LakeStore
from tidegate.platform.lake.threads import parallel

#: The seam within the step: some of the objects are copied.
SEAMS = ("copy",)


def publish(table: Table, batch: Batch, *, found: bool) -> None:
    """Copy the objects of a batch to the output. Repeating it changes nothing.

    Names are the batch's own, so a copy never meets the object of another batch. A run that was paused and copies late
    writes the bytes that are there already, or finds that the staged objects are gone and does nothing.

    Args:
        found: whether an earlier run decided the batch, and may have copied some of its objects.

    Raises:
        GenerationRetired: a reset ended the generation of the batch.
        StoreError: S3 refused a copy or did not answer, or an object is in neither place.
    """
    copy = partial(_copy, table, batch, found=found)
    if not batch.objects or not copy(batch.objects[0]):
        return
    seam("copy")
    for _ in parallel(copy, batch.objects[1:]):
        pass


def clear_staged(store: LakeStore, batch: Batch) -> None:
    """Delete what was staged for a batch that the ledger has recorded, and for earlier ones.

    Runs that died before they decided a batch, or that lost the race for it, left objects that no batch names. A later
    batch names none of them, because the folder of a staged object begins with the number of its batch. So a batch
    without objects ends them too.
    """
    if batch.location != store.uri("outputs", batch.table):
        return
    objects, (bucket, location) = store.objects, S3Address.parse_s3a(batch.location)
    folder = f"{location}/{batch.generation}/"
    keys = [item.key for item in objects.list_under(bucket, folder)]
    objects.delete(bucket, [key for key in keys if _number(key.removeprefix(folder)) <= batch.n])


def _number(name: str) -> float:
    """Return the number of the batch for which an object was staged. Infinite for an object that is not Tidegate's."""
    number = name.partition("-")[0]
    return int(number) if number.isdecimal() else math.inf


def _copy(table: Table, batch: Batch, item: OutputObject, *, found: bool) -> bool:
    """Copy an object, if it is not there. Returns False if the ledger has the batch: nothing is left to copy then."""
    objects, target = table.lake.store.objects, S3Address(item.bucket, item.key)
    if found and _has_property(table.lake.store.objects, item):
        return True
    try:
        objects.publish(S3Address(table.lake.store.bucket, item.staged), target)
    except ObjectGone:
        # The ledger's row comes before the end of the staged objects, and so does a reset's retirement. A reader of the
        # output may have removed the object since.
        if _has_property(table.lake.store.objects, item):
            return True
        if table.ledger.clock().n >= batch.n:
            return False
        table.batches.require_current(batch.n)
        raise StoreError(
            f"{target} of batch {batch.n} of {table.table_key} is not there, and its staged object {item.staged} in "
            f"the bucket {table.lake.store.bucket} is gone. Restore one of them from a version of its bucket; then the "
            "next run continues. Nothing else of the table is processed until then"
        ) from None
    return True


def _has_property(objects: ObjectStore, item: OutputObject) -> bool:
    state = objects.head(item.bucket, item.key)
    return isinstance(state, S3Found) and state.size == item.size
