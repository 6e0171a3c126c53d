"""Incomplete multipart uploads: parts that are stored and billed, and that no inventory has."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from heapq import nsmallest
from typing import Any

from tidegate.platform.core.storage.prices import ARCHIVE_CLASSES, FREQUENT, GIGABYTE, TIERING, StoragePrices

#: Uploads of a bucket whose parts are listed, the oldest ones. Each costs a request.
MAX_SIZED = 1_000
#: Name of the rule that removes incomplete uploads.
RULE = "tidegate-abort-incomplete-uploads"


@dataclass(frozen=True)
class Upload:
    """An upload that is neither completed nor aborted.

    Attributes:
        key: of the object that it would become.
        initiated: when it began.
        storage_class: of that object.
        parts: number of its parts. None if they were not listed.
        size: bytes of its parts. None if they were not listed.
    """

    key: str
    upload_id: str
    initiated: datetime
    storage_class: str
    parts: int | None = None
    size: int | None = None


@dataclass(frozen=True)
class Lifecycle:
    """The lifecycle configuration of a bucket.

    Attributes:
        rules: as S3 has them.
        minimum_size: `TransitionDefaultMinimumObjectSize`, which a new configuration must repeat. Empty: S3 has none.
    """

    rules: Sequence[Mapping[str, Any]] = ()
    minimum_size: str = ""

    def aborts(self, days: int) -> bool:
        """Return whether a rule removes incomplete uploads of the whole bucket within some days."""
        return any(_aborts_all(rule, days) for rule in self.rules)

    def command(self, bucket: str, days: int) -> str:
        """Return the shell command that adds a rule which removes incomplete uploads.

        S3 replaces the whole configuration, so the command repeats all rules that there are.

        Args:
            bucket: name of the bucket.
            days: after which an upload is removed.
        """
        rule = {
            "ID": RULE,
            "Status": "Enabled",
            "Filter": {},
            "AbortIncompleteMultipartUpload": {"DaysAfterInitiation": days},
        }
        kept = [_with_filter(rule) for rule in self.rules if rule.get("ID") != RULE]
        body = json.dumps({"Rules": [*kept, rule]}, default=_iso)
        parts = ["aws", "s3api", "put-bucket-lifecycle-configuration", "--bucket", bucket]
        size = ["--transition-default-minimum-object-size", self.minimum_size] if self.minimum_size else []
        return shlex.join([*parts, "--lifecycle-configuration", body, *size])


@dataclass(frozen=True)
class BucketUploads:
    """The incomplete uploads of a bucket.

    Attributes:
        oldest: the first `MAX_SIZED` uploads that are as old as was asked for, the oldest first. Their parts are known.
        old: number of uploads that are as old as was asked for.
        young: number of the younger ones, which may be in progress.
        lifecycle: of the bucket.
    """

    bucket: str
    oldest: Sequence[Upload]
    old: int
    young: int
    lifecycle: Lifecycle

    @property
    def parts(self) -> int:
        """Number of the parts that are known."""
        return sum(upload.parts or 0 for upload in self.oldest)

    @property
    def size(self) -> int:
        """Bytes of the parts that are known."""
        return sum(upload.size or 0 for upload in self.oldest)

    @property
    def unsized(self) -> int:
        """Number of old uploads whose parts were not listed."""
        return self.old - sum(upload.size is not None for upload in self.oldest)


@dataclass(frozen=True)
class UploadsReport:
    """The incomplete uploads of many buckets.

    Attributes:
        found: buckets with old uploads, the one with the most bytes first.
        without_rule: buckets without a rule that removes incomplete uploads within `days`. They need not have any.
        refused: what S3 refused, by bucket.
        days: age from which on an upload counts as old.
    """

    found: Sequence[BucketUploads]
    without_rule: Sequence[str]
    refused: Mapping[str, str] = field(default_factory=dict)
    days: int = 7

    @classmethod
    def from_buckets(cls, buckets: Iterable[BucketUploads], refused: Mapping[str, str], days: int) -> UploadsReport:
        """Make the report."""
        every = list(buckets)
        found = sorted(
            (uploads for uploads in every if uploads.oldest),
            key=lambda uploads: (-uploads.size, -uploads.old, uploads.bucket),
        )
        return cls(
            found,
            sorted(uploads.bucket for uploads in every if not uploads.lifecycle.aborts(days)),
            dict(refused),
            days,
        )


def divide_uploads(uploads: Iterable[Upload], days: int, now: datetime) -> tuple[list[Upload], int, int]:
    """Return the oldest `MAX_SIZED` uploads, the oldest first, the number of old uploads, and of younger ones.

    A bucket may have millions of uploads, so only the oldest ones are kept.

    Args:
        uploads: all uploads of a bucket.
        days: age from which on an upload counts as old.
        now: the present time.
    """
    counts = {True: 0, False: 0}

    def old_uploads() -> Iterator[Upload]:
        for upload in uploads:
            is_old = now - upload.initiated >= timedelta(days=days)
            counts[is_old] += 1
            if is_old:
                yield upload

    oldest = nsmallest(MAX_SIZED, old_uploads(), key=lambda upload: (upload.initiated, upload.key, upload.upload_id))
    return oldest, counts[True], counts[False]


def uploads_cost(uploads: Iterable[Upload], prices: StoragePrices) -> tuple[float, int]:
    """Return what the parts of uploads cost a month, and the bytes of classes without a price.

    A part is billed in the class of the upload, and parts of archive classes in STANDARD until the upload is complete.
    The price is that of the first tier: how much else the account has is not known here.
    """
    cost, unpriced = 0.0, 0
    for upload in uploads:
        kind = "STANDARD" if upload.storage_class in ARCHIVE_CLASSES else upload.storage_class
        tiers = prices.tiers.get(FREQUENT if kind == TIERING else kind)
        if tiers:
            cost += (upload.size or 0) / GIGABYTE * tiers[0][1]
        else:
            unpriced += upload.size or 0
    return cost, unpriced


def _aborts_all(rule: Mapping[str, Any], days: int) -> bool:
    of = rule.get("Filter") or {"Prefix": rule.get("Prefix") or ""}
    whole = set(of) <= {"Prefix"} and not of.get("Prefix")
    after = rule.get("AbortIncompleteMultipartUpload", {}).get("DaysAfterInitiation")
    return rule.get("Status") == "Enabled" and whole and after is not None and after <= days


def _with_filter(rule: Mapping[str, Any]) -> dict[str, Any]:
    """Return a rule with `Filter`. S3 refuses a configuration in which others have the older `Prefix`."""
    found = dict(rule)
    prefix = found.pop("Prefix", None)
    return found if prefix is None else {**found, "Filter": {"Prefix": prefix}}


def _iso(value: object) -> str:
    if isinstance(value, date):
        return value.isoformat()
    raise TypeError(f"{value!r} is not JSON")
