"""A delivery of S3 Inventory: which bucket and configuration it is of, when it was begun, and which one counts.

A bucket leaves the table of inventories with an empty delivery, as if S3 had written it. So the rows leave by the way
of every inventory: in one commit, once, and earlier versions keep them. If S3 delivers a newer inventory of the
bucket after all, that one counts.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple

from tidegate.platform.core.keys.table_key import TableKey

#: The folder of a delivery: when S3 began to look at the bucket.
BEGAN = r"\d{4}-\d\d-\d\dT\d\d-\d\dZ"
#: The end of the folder of an empty delivery that `tidegate inventory drop-bucket` wrote.
DROPPED = "-dropped"
_CHECKSUM = re.compile(
    rf"(?P<bucket>[^/]+)/(?P<configuration>[^/]+)/(?P<began>{BEGAN}(?:{DROPPED})?)/manifest\.checksum", re.ASCII
)
_OLDER = "older than the inventory of "
BEGAN_TIME = "%Y-%m-%dT%H-%MZ"


class Subject(NamedTuple):
    """What a series of inventories is of. Each subject is one partition of the table of inventories."""

    bucket: str
    configuration: str

    def __str__(self) -> str:
        return f"{self.bucket} by configuration {self.configuration}"


@dataclass(frozen=True)
class Delivery:
    """One delivery, as its key says it.

    Attributes:
        began: name of its folder. Later names sort behind earlier ones, and a drop behind an inventory of its minute.
    """

    subject: Subject
    began: str

    @classmethod
    def from_key(cls, key: str, prefix: str) -> Delivery | None:
        """Return the delivery that a `manifest.checksum` completes. None for every other object.

        Nothing may be between the prefix and the source bucket: then a folder and a subject are the same.

        Args:
            key: of the object.
            prefix: key prefix of the table.
        """
        found = _CHECKSUM.fullmatch(key.removeprefix(prefix)) if key.startswith(prefix) else None
        delivery = cls(Subject(found["bucket"], found["configuration"]), found["began"]) if found else None
        try:
            return delivery if delivery and delivery.began_at else None
        except ValueError:
            # A person named the folder: there is no such day or minute, and its order among others has no meaning.
            return None

    @property
    def began_at(self) -> datetime:
        """When S3 began to look at the bucket, to the minute."""
        return datetime.strptime(self.began.removesuffix(DROPPED), BEGAN_TIME).replace(tzinfo=UTC)

    @property
    def is_drop(self) -> bool:
        """Whether a person dropped the subject: no inventory of it is expected any more."""
        return self.began.endswith(DROPPED)


def group_by_subject(deliveries: Iterable[Delivery]) -> dict[Subject, list[Delivery]]:
    """Return the deliveries of each subject, the newest first."""
    found: dict[Subject, list[Delivery]] = {}
    for delivery in deliveries:
        found.setdefault(delivery.subject, []).append(delivery)
    return {subject: sorted(some, key=lambda delivery: delivery.began, reverse=True) for subject, some in found.items()}


def find_newer_folder(delivery: Delivery, loaded: Mapping[Subject, str]) -> str | None:
    """Return the folder of a newer inventory of the same subject that the table has. None if there is none.

    A delivery that S3 or a person wrote again under the same name replaces the earlier one.

    Args:
        delivery: that may enter the table.
        loaded: the newest folder of each subject that the table has.
    """
    known = loaded.get(delivery.subject)
    return known if known is not None and known > delivery.began else None


def superseded_reason(newer: str) -> str:
    """Return the reason of a delivery that brings no rows, because the table has a newer one of its subject.

    Args:
        newer: when S3 began the newer one.
    """
    return f"{_OLDER}{newer}, which the table has: it brings no rows"


def has_entered(reason: str | None) -> bool:
    """Return whether a committed delivery with this reason replaced the rows of its subject.

    It may lack some fields.
    """
    return reason is None or not reason.startswith(_OLDER)


def dropped_delivery(subject: Subject, table: TableKey, destination: str, now: datetime) -> dict[str, bytes]:
    """Return the objects of the delivery by key, in the order in which they must be written.

    Args:
        subject: that leaves the table.
        table: key of the table of inventories.
        destination: ARN of the bucket of the inventories.
        now: the time. Only its minute counts, so that the same command in the same minute writes the same objects.
    """
    began = now.astimezone(UTC).replace(second=0, microsecond=0)
    manifest = json.dumps(
        {
            "sourceBucket": subject.bucket,
            "destinationBucket": destination,
            "version": "2016-11-30",
            "creationTimestamp": str(int(began.timestamp() * 1000)),
            "fileFormat": "CSV",
            "fileSchema": "Bucket, Key",
            "files": [],
        }
    ).encode()
    folder = f"{table.prefix}{subject.bucket}/{subject.configuration}/{began:{BEGAN_TIME}}{DROPPED}/"
    checksum = hashlib.md5(manifest, usedforsecurity=False).hexdigest()
    return {f"{folder}manifest.json": manifest, f"{folder}manifest.checksum": f"{checksum}\n".encode()}
