"""Incomplete multipart uploads: which are old, what their parts cost, and the lifecycle rule that removes them."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from weakref import WeakSet

import botocore.session
import pytest
from botocore.validate import ParamValidator

from tidegate.platform.core.storage.prices import FREQUENT, GIGABYTE, StoragePrices
from tidegate.platform.core.storage.uploads import (
    MAX_SIZED,
    RULE,
    BucketUploads,
    Lifecycle,
    Upload,
    UploadsReport,
    divide_uploads,
    uploads_cost,
)

NOW = datetime(2026, 11, 26, tzinfo=UTC)


def _abort(days: int) -> dict[str, Any]:
    return {"AbortIncompleteMultipartUpload": {"DaysAfterInitiation": days}}


ABORT = _abort(3)


def upload(days: float, kind: str = "STANDARD", size: int | None = None, key: str = "a") -> Upload:
    parts = None if size is None else 1
    return Upload(key, f"u{days}", NOW - timedelta(days=days), kind, parts, size)


def test_uploads_are_old_from_the_day_on_that_was_asked_for() -> None:
    oldest, old, young = divide_uploads([upload(6.99), upload(7), upload(400)], 7, NOW)
    assert ([item.upload_id for item in oldest], old, young) == (["u400", "u7"], 2, 1)


def test_of_millions_only_the_oldest_are_held() -> None:
    held: WeakSet[Upload] = WeakSet()
    most = 0

    def listed() -> Iterator[Upload]:
        nonlocal most
        for days in range(5 * MAX_SIZED):
            # Ages go up and down, so the heap takes uploads and drops others until the end.
            item = upload(days * 7919 % (5 * MAX_SIZED))
            held.add(item)
            most = max(most, len(held))
            yield item

    oldest, old, young = divide_uploads(listed(), 7, NOW)
    ages = [(NOW - item.initiated).days for item in oldest]
    assert ages == list(range(5 * MAX_SIZED - 1, 4 * MAX_SIZED - 1, -1))
    assert (old, young) == (5 * MAX_SIZED - 7, 7)
    assert most <= MAX_SIZED + 10


def test_parts_are_billed_in_the_class_of_the_upload_and_parts_of_archives_in_standard() -> None:
    tiers = {"STANDARD": ((0.0, 2.0), (1.0, 1.0)), "STANDARD_IA": ((0.0, 0.5),), FREQUENT: ((0.0, 3.0),)}
    prices = StoragePrices("USD", "x", tiers)
    kinds = "STANDARD", "STANDARD_IA", "INTELLIGENT_TIERING", "GLACIER", "DEEP_ARCHIVE"
    some = [upload(8, kind, GIGABYTE) for kind in kinds]
    assert uploads_cost([*some, upload(8, "OTHER", 7), upload(9)], prices) == (2.0 + 0.5 + 3.0 + 2.0 + 2.0, 7)


@pytest.mark.parametrize(
    ("rule", "aborts"),
    [
        ({**ABORT, "Status": "Enabled", "Filter": {}}, True),
        ({**ABORT, "Status": "Enabled", "Filter": {"Prefix": ""}}, True),
        ({**ABORT, "Status": "Enabled", "Prefix": ""}, True),
        ({**ABORT, "Status": "Disabled", "Filter": {}}, False),
        ({**ABORT, "Status": "Enabled", "Filter": {"Prefix": "logs/"}}, False),
        ({**ABORT, "Status": "Enabled", "Prefix": "logs/"}, False),
        ({**ABORT, "Status": "Enabled", "Filter": {"ObjectSizeGreaterThan": 5}}, False),
        ({"Status": "Enabled", "Filter": {}, "Expiration": {"Days": 1}}, False),
        ({**_abort(7), "Status": "Enabled", "Filter": {}}, True),
        ({**_abort(8), "Status": "Enabled", "Filter": {}}, False),
        ({**_abort(3650), "Status": "Enabled", "Filter": {}}, False),
    ],
)
def test_only_an_enabled_rule_of_the_whole_bucket_removes_all_incomplete_uploads_within_the_days(
    rule: dict[str, Any], aborts: bool
) -> None:
    assert Lifecycle([rule]).aborts(7) is aborts
    assert Lifecycle([{"Status": "Enabled", "Filter": {}}, rule]).aborts(7) is aborts


@pytest.mark.parametrize("prefix", ["", "logs/"])
def test_rules_with_the_older_prefix_are_repeated_with_a_filter_because_s3_refuses_both_kinds_together(
    prefix: str,
) -> None:
    older = {"ID": "older", "Status": "Enabled", "Prefix": prefix, "Expiration": {"Days": 9}}
    words = shlex.split(Lifecycle([older]).command("b", 7))
    kept, added = json.loads(words[words.index("--lifecycle-configuration") + 1])["Rules"]
    assert kept == {"ID": "older", "Status": "Enabled", "Filter": {"Prefix": prefix}, "Expiration": {"Days": 9}}
    assert added["ID"] == RULE


def test_the_command_adds_a_rule_and_keeps_everything_else_as_s3_takes_it() -> None:
    theirs = {"ID": "theirs", "Status": "Enabled", "Filter": {"Prefix": "x/"}, "Expiration": {"Date": NOW}}
    words = shlex.split(
        Lifecycle([theirs, {"ID": RULE, "Status": "Disabled"}], "varies_by_storage_class").command("b", 7)
    )
    assert words[:5] == ["aws", "s3api", "put-bucket-lifecycle-configuration", "--bucket", "b"]
    assert words[-2:] == ["--transition-default-minimum-object-size", "varies_by_storage_class"]
    body = json.loads(words[words.index("--lifecycle-configuration") + 1])
    assert [rule["ID"] for rule in body["Rules"]] == ["theirs", RULE]
    assert body["Rules"][0] == {**theirs, "Expiration": {"Date": NOW.isoformat()}}
    assert Lifecycle(body["Rules"]).aborts(7)
    model = botocore.session.get_session().get_service_model("s3")
    shape = model.operation_model("PutBucketLifecycleConfiguration").input_shape
    asked = {"Bucket": "b", "LifecycleConfiguration": body, "TransitionDefaultMinimumObjectSize": words[-1]}
    assert not ParamValidator().validate(asked, shape).has_errors()


def test_buckets_without_a_rule_are_named_although_they_have_no_upload() -> None:
    rule = Lifecycle([{**ABORT, "Status": "Enabled", "Filter": {}}])
    buckets = [
        BucketUploads("empty", [], 0, 2, Lifecycle()),
        BucketUploads("small", [upload(8, size=5)], 2, 0, rule),
        BucketUploads("large", [upload(8, size=50)], 1, 0, Lifecycle()),
    ]
    report = UploadsReport.from_buckets(buckets, {"gone": "no bucket"}, 7)
    assert [uploads.bucket for uploads in report.found] == ["large", "small"]
    assert (report.without_rule, report.refused) == (["empty", "large"], {"gone": "no bucket"})
    assert (report.found[1].size, report.found[1].parts, report.found[1].unsized) == (5, 1, 1)
