"""What the company has in S3 besides inventories, and the last day, on which some deliveries have faults."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tidegate.platform.demo.storage.company import CompanyBucket
from tidegate.platform.demo.storage.deliveries import deliver, delivery
from tidegate.platform.demo.storage.planted import loaded_orders, lost_orders, order_body, young_order

#: Bucket of the inventories.
TO = "tidegate-landing"
_SIGNAL = "manifest.checksum"
#: Buckets with a weekly inventory that get one on the last day, too. Its file is not the manifest's, or is missing.
_OTHER, _MISSING = 1, 2


def create_bucket(s3: Any, bucket: CompanyBucket) -> None:
    """Create a bucket. It stays empty: what it has is known from its inventories."""
    s3.create_bucket(Bucket=bucket.name)
    if bucket.aborts_uploads:
        abort = {"DaysAfterInitiation": 7}
        rule = {"ID": "uploads", "Status": "Enabled", "Filter": {"Prefix": ""}, "AbortIncompleteMultipartUpload": abort}
        s3.put_bucket_lifecycle_configuration(Bucket=bucket.name, LifecycleConfiguration={"Rules": [rule]})


def notify_of_signals_only(s3: Any) -> None:
    """Let S3 send the events of `manifest.checksum` only, as the guide of inventories says."""
    found = s3.get_bucket_notification_configuration(Bucket=TO)
    queues = [
        {**queue, "Filter": {"Key": {"FilterRules": [{"Name": "suffix", "Value": _SIGNAL}]}}}
        for queue in found["QueueConfigurations"]
    ]
    s3.put_bucket_notification_configuration(Bucket=TO, NotificationConfiguration={"QueueConfigurations": queues})


def put_orders(s3: Any, bucket: str) -> None:
    """Put files of orders. While the bucket has no notifications, events are lost."""
    for key in loaded_orders():
        s3.put_object(Bucket=bucket, Key=key, Body=order_body(key))
    found = s3.get_bucket_notification_configuration(Bucket=bucket)
    s3.put_bucket_notification_configuration(Bucket=bucket, NotificationConfiguration={})
    for key in (*lost_orders(), young_order()):
        s3.put_object(Bucket=bucket, Key=key, Body=order_body(key))
    again = {"QueueConfigurations": found["QueueConfigurations"]}
    s3.put_bucket_notification_configuration(Bucket=bucket, NotificationConfiguration=again)


def deliver_last_day(s3: Any, buckets: Sequence[CompanyBucket], day: int) -> None:
    """Deliver a day on which a file is another one, a file is missing, and an event comes twice."""
    for bucket in buckets:
        if bucket.delivers(day):
            deliver(s3, TO, bucket, day)
    deliver(s3, TO, buckets[_OTHER], day, broken=True)
    for key, body in list(delivery(buckets[_MISSING], day))[1:]:
        s3.put_object(Bucket=TO, Key=key, Body=body)
    *_, (checksum, body) = delivery(buckets[0], day)
    s3.put_object(Bucket=TO, Key=checksum, Body=body)  # its event comes a second time
