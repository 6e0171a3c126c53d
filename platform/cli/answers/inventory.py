"""What `tidegate inventory` prints with `--json`."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from tidegate.platform.cli.answers.answer import Answer


class CostGroup(Answer):
    """Objects that a report of costs puts together."""

    group: Mapping[str, str]
    """Values by the names of the dimensions."""
    objects: int
    """Number of versions of objects, without delete markers."""
    bytes: int
    """Their size."""
    cost_a_month: float
    """Cost of a month. Objects of classes without a price cost nothing in it."""
    bytes_without_price: int
    """Size of objects of classes without a price."""
    reads: int | None = None
    """Objects that runs of Tidegate read in the last 30 days, by the ledgers. null unless the dimensions are `bucket`,
    `prefix` or both."""


class StaleBucket(Answer):
    """A bucket whose newest inventory is much older than those of other buckets."""

    bucket: str
    """Name of the bucket."""
    configuration: str
    """Name of the inventory configuration."""
    inventory: datetime
    """When S3 began the inventory."""


class CostAnswer(Answer):
    """What the objects of all inventories cost a month."""

    by: tuple[str, ...]
    """The dimensions."""
    currency: str
    """Currency of the costs."""
    prices_from: str
    """Date from which the prices are valid, the newest of the price lists."""
    lines: tuple[CostGroup, ...]
    """The groups, the most expensive first."""
    more: int
    """Number of groups that `--limit` left out."""
    cost_a_month: float
    """Cost of a month of all groups."""
    reads_unknown: str
    """Why the groups have no reads: a table that cannot be read. Empty if that is not so."""
    bytes_without_price: int
    """Size of all objects of classes without a price. Their cost is not known."""
    objects_without_fee: int
    """Number of objects that `INTELLIGENT_TIERING` monitors, if the price list has no price of that. Their fee is not
    in the cost."""
    stale: tuple[StaleBucket, ...]
    """Buckets that may be deleted. Their objects are in the cost, as their last inventory has them."""


class AdvisedTransition(Answer):
    """A lifecycle rule that makes objects cost less."""

    bucket: str
    """Bucket of the objects."""
    prefix: str
    """Prefix of the rule."""
    storage_class: str
    """The storage classes that objects leave, separated by commas."""
    days: int
    """Age in days from which on the rule moves objects, or days since which a version is noncurrent."""
    size: str
    """Class of their size."""
    version: str
    """`current` or `noncurrent` versions."""
    rule: str
    """The action of a lifecycle rule that makes it: `Transition`, or `NoncurrentVersionTransition`."""
    to: str
    """The storage class in which they would cost less."""
    objects: int
    """Number of versions of objects."""
    bytes: int
    """Their size."""
    cost_once: float
    """What the transition costs."""
    saving_a_month: float
    """What a month costs less, when the objects are where they stay."""
    break_even_months: int
    """Months after which the transition has cost no more than none."""
    minimum_months: int
    """Months that S3 bills at least."""
    net_saving: float
    """What is saved in all months, after the cost of the transition."""
    readable_a_month: float | None
    """Part of the bytes that may be read each month until nothing is saved. null if reading costs no more; 0 if objects
    have to be restored first."""


class AdviceAnswer(Answer):
    """The transitions that save more than they cost."""

    currency: str
    """Currency of the amounts."""
    prices_from: str
    """Date from which the prices are valid, the newest of the price lists."""
    months: int
    """Months for which the objects stay."""
    transitions: tuple[AdvisedTransition, ...]
    """The transitions, the largest saving first."""
    more: int
    """Number of transitions that `--limit` left out."""
    net_saving: float
    """What all transitions save in all months."""
    without_price: tuple[str, ...]
    """Storage classes of which the price lists lack a price that is needed. There is no advice for them."""


class FoundPlace(Answer):
    """A bucket or folder with objects that an audit found."""

    place: str
    """Name of the bucket, or bucket and folder."""
    objects: int
    """Number of versions of objects."""
    bytes: int
    """Their size, as far as it is listed."""


class FoundObjects(Answer):
    """The objects that an audit found."""

    audit: str
    """`unencrypted`, `replication_failed`, `replication_pending`, `noncurrent`, `lone_delete_markers`, `orphaned` or
    `outside`."""
    of: str
    """SQL name of the table with `orphaned`, and the bucket with `outside`. Else empty."""
    objects: int
    """Number of versions of objects."""
    bytes: int
    """Their size, as far as it is listed."""
    places: tuple[FoundPlace, ...]
    """The buckets or folders with the most of them."""
    examples: tuple[str, ...]
    """Up to three `s3://` addresses."""
    sql: str
    """A query that shows all of them, for `tidegate sql` and `tidegate inventory manifest`."""


class UnlistedField(Answer):
    """A field that some inventories do not list."""

    field: str
    """AWS's name of the field."""
    buckets: tuple[str, ...]
    """The buckets of these inventories."""
    audits: tuple[str, ...]
    """The audits that find nothing there; of `Size`, those whose bytes are not known."""


class AuditAnswer(Answer):
    """What the audits of all inventories found."""

    findings: tuple[FoundObjects, ...]
    """The findings, those with the most objects first."""
    more: int
    """Number of findings that `--limit` left out."""
    not_listed: tuple[UnlistedField, ...]
    """The fields that are missing for more."""


class ForecastBucket(Answer):
    """The growth of a bucket, or of all buckets together."""

    bucket: str
    """Name of the bucket, or `all buckets`."""
    first_day: str
    """First day of the history."""
    days: int
    """Days of the history."""
    bytes: int
    """Bytes on its last day."""
    objects: int
    """Objects on its last day."""
    method: str
    """`last value`, `drift` or `trend`. Empty if there is too little history."""
    error: float | None
    """Mean error of the method in forecasts of the past, as a part of the bytes that came. null if none came."""
    naive_error: float | None
    """That of the last value."""
    tested_days: int
    """Days that each of the forecasts of the past was long: the errors are over so many days. 0 without a forecast."""
    remark: str
    """Why there is no forecast, or none that is better than the last value; and if the error is of forecasts that are
    much shorter, or is not known. May be empty."""
    bytes_ahead: tuple[int, ...]
    """Bytes after each month of 30 days."""
    objects_ahead: tuple[int, ...]
    """Objects after each month of 30 days."""


class WrittenManifest(Answer):
    """A manifest of S3 Batch Operations."""

    bucket: str
    """The bucket of its objects."""
    uri: str
    """Where it is."""
    etag: str
    """Its ETag, which a job must name."""
    objects: int
    """Number of objects or versions that it lists."""
    duplicates: int
    """Number of rows of the query that are left out, because the manifest has their object already."""
    format: str
    """Name of the format in a job."""
    fields: tuple[str, ...]
    """The fields of each line of a list. Empty for an inventory, whose manifest names them."""
    call: str
    """A shell command that makes a job of it."""


class UnusableInventory(Answer):
    """An inventory that a job cannot take."""

    bucket: str
    """The bucket that it is of."""
    reason: str
    """Why, and what to do."""


class ManifestAnswer(Answer):
    """Manifests of S3 Batch Operations."""

    manifests: tuple[WrittenManifest, ...]
    """One for each bucket."""
    refused: tuple[UnusableInventory, ...]
    """Inventories that a job cannot take."""


class BucketOfUploads(Answer):
    """The incomplete multipart uploads of a bucket."""

    bucket: str
    """Name of the bucket."""
    uploads: int
    """Number of uploads that are as old as was asked for."""
    parts: int
    """Number of their parts."""
    bytes: int
    """Size of their parts."""
    uploads_without_size: int
    """Number of these uploads whose parts were not listed, because there are too many uploads."""
    younger: int
    """Number of younger uploads, which may be in progress."""
    oldest: datetime
    """When the oldest upload began."""
    example: str
    """Key of the oldest upload."""
    cost_a_month: float | None
    """What the parts cost a month. null without price lists."""
    command: str | None
    """A shell command that gives the bucket a lifecycle rule which removes such uploads, and keeps its other rules.
    null if it has such a rule."""


class RefusedBucket(Answer):
    """A bucket that S3 did not list."""

    bucket: str
    """Name of the bucket."""
    reason: str
    """What S3 answered."""


class UploadsAnswer(Answer):
    """The incomplete multipart uploads of all buckets of a table of inventories."""

    days: int
    """Age from which on an upload is shown."""
    buckets: tuple[BucketOfUploads, ...]
    """Buckets with such uploads, the one with the most bytes first."""
    more: int
    """Number of buckets that `--limit` left out."""
    currency: str | None
    """Currency of the costs. null without price lists."""
    without_rule: tuple[str, ...]
    """Buckets without a lifecycle rule that removes incomplete uploads."""
    refused: tuple[RefusedBucket, ...]
    """Buckets whose uploads are not known."""


class ForecastAnswer(Answer):
    """How the objects of all inventories grow."""

    buckets: tuple[ForecastBucket, ...]
    """All buckets together, then the one with the most bytes."""
    more: int
    """Number of buckets that `--limit` left out."""
    known_from: str | None
    """First day of the histories, if the files of older versions of the table may be deleted. Else null."""
