"""Proofs, made once a lake, that an S3 endpoint heeds the conditions that the lake relies on."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from tidegate.platform.core.keys.s3_address import S3Address, S3Object
from tidegate.platform.lake.aws.s3 import ObjectChanged, ObjectStore, StoreError


def prove_conditional_put(objects: ObjectStore, bucket: str, key: str, racers: int = 8) -> None:
    """Prove by a race that the endpoint lets exactly one of several creations of a key win.

    Every exclusive decision of the platform (batches, generations, lake id) rests on it.

    Raises:
        StoreError: none or several won: this endpoint's conditional put cannot be trusted.
    """
    start = threading.Barrier(racers)

    def race(racer: int) -> bool:
        start.wait(timeout=30)
        return objects.put_if_absent(bucket, key, f"{racer}")

    try:
        with ThreadPoolExecutor(racers) as pool:
            won = sum(pool.map(race, range(racers)))
    finally:
        objects.delete(bucket, [key])
    if won != 1:
        raise StoreError(
            f"{won} of {racers} racing conditional puts (If-None-Match: *) to s3://{bucket} won, it must "
            "be 1: this S3 endpoint cannot hold a lake. Use AWS S3 or a store that honours the header"
        )


def prove_conditional_delete(objects: ObjectStore, bucket: str, key: str) -> None:
    """Prove that the endpoint deletes and copies an object only if it has the given etag.

    Raises:
        StoreError: the endpoint ignores the etag, or S3 did not answer.
    """
    wrong, copy = S3Object(S3Address(bucket, key), "0" * 32), S3Address(bucket, f"{key}-copy")
    objects.put(bucket, key, "probe")
    try:
        heeded = [
            _is_refused(lambda: objects.copy(wrong, copy)),
            _is_refused(lambda: objects.delete_if(wrong)),
        ]
        if not all(heeded) or objects.get(bucket, key) is None:
            raise StoreError(
                f"{objects.endpoint} copied or deleted an object that had another etag than the one it was asked for "
                "(If-Match): a file that was overwritten meanwhile would be lost, so after_load can only `keep` or "
                "`tag` there"
            )
    finally:
        objects.delete(bucket, [key, copy.key])


def _is_refused(request: Callable[[], None]) -> bool:
    try:
        request()
    except ObjectChanged:
        return True
    return False
