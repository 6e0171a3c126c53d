"""What the table of inventories and its reports must contain, object by object. It knows nothing of Tidegate."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tidegate.platform.demo.storage.company import CompanyBucket, StoredObject

_GIB, _KIB = 1 << 30, 1 << 10
#: Dollars for a gigabyte and month. They are made for the demo; the prices of S3 are in its price list.
PRICES = {"STANDARD": 0.023, "STANDARD_IA": 0.0125, "DEEP_ARCHIVE": 0.00099}


@dataclass(frozen=True)
class Expected:
    """What the table must contain after a day.

    Attributes:
        rows: objects by bucket.
        size: bytes by bucket.
        classes: bytes by storage class.
        dollars: dollars a month by storage class.
        late: buckets whose newest inventory is older than it should be.
    """

    rows: Mapping[str, int]
    size: Mapping[str, int]
    classes: Mapping[str, float]
    dollars: Mapping[str, float]
    late: frozenset[str]


def expected(buckets: Sequence[CompanyBucket], day: int) -> Expected:
    """Compute what the table must contain after the inventories of a day."""
    newest = {bucket.name: _newest(bucket, day) for bucket in buckets}
    found = {bucket.name: bucket.on(newest[bucket.name]) for bucket in buckets}
    every = [one for objects in found.values() for one in objects]
    return Expected(
        rows={name: len(objects) for name, objects in found.items()},
        size={name: sum(one.size for one in objects) for name, objects in found.items()},
        classes=_sums((one.storage_class, one.size) for one in every),
        dollars=_sums((one.storage_class, dollars(one)) for one in every),
        late=frozenset(bucket.name for bucket in buckets if bucket.daily and day - newest[bucket.name] >= 3),
    )


def dollars(one: StoredObject) -> float:
    """Returns what an object costs a month. S3 bills small and archived objects as larger than they are."""
    if one.storage_class == "STANDARD_IA":
        return max(one.size, 128 * _KIB) / _GIB * PRICES["STANDARD_IA"]
    if one.storage_class == "DEEP_ARCHIVE":
        return (one.size + 32 * _KIB) / _GIB * PRICES["DEEP_ARCHIVE"] + 8 * _KIB / _GIB * PRICES["STANDARD"]
    return one.size / _GIB * PRICES["STANDARD"]


def _newest(bucket: CompanyBucket, day: int) -> int:
    return max(each for each in range(day + 1) if bucket.delivers(each))


def _sums(pairs: Iterable[tuple[str, float]]) -> dict[str, float]:
    found: dict[str, float] = {}
    for name, value in pairs:
        found[name] = found.get(name, 0) + value
    return found
