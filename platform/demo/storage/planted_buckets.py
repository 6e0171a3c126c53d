"""Buckets of the company that have something for each report to find, and the files of its table of orders."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

from tidegate.platform.demo.storage.stored_object import Replication, StoredObject

#: Numbers of the buckets, each of which has a daily inventory to the last day.
ORDERS, STEADY, STILL, VERSIONS, LEGACY, REPLICATED = 0, 10, 30, 40, 60, 70
#: Folder of the table of orders, in the bucket `ORDERS`.
ORDERS_FOLDER = "orders/"
#: The steady bucket gets an object of this size each day.
STEADY_BYTES = 4 << 30
_LOADED, _LOST = 5, 3
#: Buckets whose daily inventory stops ten days before the last day: somebody changed their configuration.
STOPPED = (20, 50, 90)


def planted_objects(number: int, days: int) -> Iterator[StoredObject]:
    """Yield the objects that a bucket has in addition to those by chance. Most buckets have none."""
    last = days - 1
    if number == ORDERS:
        # A file of the last day is not an orphan yet: its event may still come.
        created = {**dict.fromkeys([*loaded_orders(), *lost_orders()], last - 3), young_order(): last}
        for key, day in created.items():
            yield StoredObject(key, len(order_body(key)), "STANDARD", day, None)
    elif number == STEADY:
        for day in range(-20, days):
            yield StoredObject(f"archive/{day + 20:03d}.bin", STEADY_BYTES, "STANDARD", day, None)
    elif number == STILL:
        for part in range(30):
            yield StoredObject(f"archive/{part:03d}.bin", 8 << 30, "STANDARD_IA", -90, None)
    elif number == VERSIONS:
        yield from _versions()
    elif number == LEGACY:
        for part in range(9):
            yield StoredObject(f"legacy/{part}, 50%+.csv", 1_000 + part, "STANDARD", -300, None, encrypted=False)
    elif number == REPLICATED:
        states: list[tuple[Replication, int, int]] = [("FAILED", -8, 4), ("PENDING", last - 3, 3), ("PENDING", last, 2)]
        for state, created_day, objects in states:
            for part in range(objects):
                key = f"replicated/{state.lower()}-{created_day}-{part}"
                yield StoredObject(key, 500, "STANDARD", created_day, None, replication=state)


def _versions() -> Iterator[StoredObject]:
    """Yield keys with an older version, keys that a delete marker hides, and delete markers without a version."""
    for part in range(7):
        now = StoredObject(f"versions/edited-{part}", 2_000, "STANDARD", -2, None, version=f"now{part}")
        yield now
        yield replace(now, size=1_500, created=-40, version=f"old{part}", is_latest=False)
    for part in range(4):
        marker = StoredObject(f"versions/deleted-{part}", 0, "", -1, None, version=f"mark{part}", is_marker=True)
        yield marker
        yield replace(
            marker, size=700, storage_class="STANDARD", version=f"was{part}", is_latest=False, is_marker=False
        )
    for part in range(3):
        yield StoredObject(f"versions/gone-{part}", 0, "", -5, None, version=f"lone{part}", is_marker=True)


def loaded_orders() -> list[str]:
    """Return the keys of the files of orders whose events arrive."""
    return [f"{ORDERS_FOLDER}{part:03d}.json" for part in range(_LOADED)]


def lost_orders() -> list[str]:
    """Return the keys of the files of orders whose events are lost."""
    return [f"{ORDERS_FOLDER}{_LOADED + part:03d}.json" for part in range(_LOST)]


def young_order() -> str:
    """Return the key of a file of orders that is too young to be called an orphan. Its event is lost too."""
    return f"{ORDERS_FOLDER}{_LOADED + _LOST:03d}.json"


def order_body(key: str) -> bytes:
    """Return the lines of a file of orders."""
    return b"".join(json.dumps({"order": f"{key}-{line}", "amount": line}).encode() + b"\n" for line in range(20))
