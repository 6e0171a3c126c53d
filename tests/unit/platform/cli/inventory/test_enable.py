"""`tidegate inventory enable` over a real client of S3: what differs, what is written, and what stays."""

from __future__ import annotations

import io
import json
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from tests.support.lakes.bucket_settings import BucketSettings
from tests.unit.conftest import PAPER
from tidegate.platform.cli.answers.plans import EnableAnswer
from tidegate.platform.cli.check.inventory import check_inventories
from tidegate.platform.cli.errors import CommandError
from tidegate.platform.cli.inventory.enable import run_enable
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.lake.aws.bucket_inventories import BucketInventories

ACCOUNT = "111122223333"
TABLE = {
    "name": "objects",
    "prefix": "s3://second/inventory/",
    "mode": "inventory",
    "inventories": {"buckets": ["acme-*", "other"]},
}
CONFIG = LakeConfig.model_validate({**PAPER, "tables": [TABLE]})


def enable(
    settings: BucketSettings, *, yes: bool = False, config: LakeConfig = CONFIG, table: str = "", as_json: bool = False
) -> str:
    console = Console(file=io.StringIO(), width=800)
    run_enable(console, config, table, ACCOUNT, BucketInventories(settings.client), yes=yes, as_json=as_json)
    return console.file.getvalue()  # type: ignore[attr-defined,no-any-return]


def check(settings: BucketSettings, *delivered: str) -> tuple[str, str]:
    objects: Any = SimpleNamespace(folders=lambda bucket, prefix: list(delivered))
    found = check_inventories(BucketInventories(settings.client), objects, CONFIG.tables[0], lambda: ACCOUNT)
    return found.outcome, found.detail


def test_it_shows_what_differs_writes_only_that_and_keeps_what_others_set() -> None:
    settings = BucketSettings("acme-a", "acme-b", "second", "unrelated")
    stores = BucketInventories(settings.client)
    kept: Any = {"Sid": "Kept", "Effect": "Deny", "Principal": "*", "Action": "s3:*", "Resource": "arn:aws:s3:::second"}
    stores.put_policy("second", {"Version": "2012-10-17", "Statement": [kept]})
    own = {
        "Id": "tidegate",
        "IsEnabled": True,
        "IncludedObjectVersions": "All",
        "Schedule": {"Frequency": "Weekly"},
        "Filter": {"Prefix": "logs/"},
        "OptionalFields": ["ObjectAccessControlList", "Size"],
        "Destination": {
            "S3BucketDestination": {"Bucket": "arn:aws:s3:::second", "Format": "ORC", "Prefix": "inventory"}
        },
    }
    stores.put_configuration("acme-b", own)
    settings.written.clear()

    said = enable(settings)

    assert settings.written == []
    assert "inventory tidegate of acme-a:\n  there is none" in said
    assert "  Schedule.Frequency: Weekly → Daily" in said
    assert "  Destination.S3BucketDestination.Format: ORC → Parquet" in said
    assert "  Statement.TidegateInventories" in said
    assert ': none → {"Sid"' in said
    assert "unrelated" not in said
    assert said.endswith("4 would change. With --yes they are written\n")
    answer = EnableAnswer.model_validate_json(enable(settings, as_json=True), strict=True)
    assert settings.written == []
    assert (answer.buckets, len(answer.changes), answer.refused) == (3, 4, ())
    assert all(f"{change.of}:\n  {change.differences[0]}" in said for change in answer.changes)
    outcome, detail = check(settings)
    assert (outcome, detail.split(":")[0]) == ("warning", "7 differ")

    enable(settings, yes=True)

    assert settings.written[0] == ("second", "policy"), "without the policy, S3 refuses a configuration"
    assert sorted(settings.written[1:]) == [(name, "inventory tidegate") for name in ("acme-a", "acme-b", "other")]
    changed = stores.configuration("acme-b", "tidegate")
    assert changed is not None
    assert changed["Filter"] == {"Prefix": "logs/"}
    assert changed["OptionalFields"][:2] == ["ObjectAccessControlList", "Size"]
    assert changed["Destination"]["S3BucketDestination"] == {
        "AccountId": ACCOUNT, "Bucket": "arn:aws:s3:::second", "Format": "Parquet", "Prefix": "inventory",
    }  # fmt: skip
    first, second = json.loads(settings.stored["second", "policy"])["Statement"]
    assert first == kept
    assert second["Resource"] == "arn:aws:s3:::second/inventory/*"
    assert second["Condition"]["ArnLike"] == {"aws:SourceArn": ["arn:aws:s3:::acme-*", "arn:aws:s3:::other"]}
    assert enable(settings, yes=True) == "nothing to do: policy and inventory configurations are as lake.yaml says\n"
    assert check(settings) == ("ok", "3 buckets")


def test_a_bucket_that_s3_refuses_keeps_no_other_from_its_configuration() -> None:
    settings = BucketSettings("acme-a", "second")
    settings.refused.add("other")
    outcome, detail = check(settings)
    assert (outcome, detail.split(";")[1].split(":")[0]) == ("failed", " 2 differ"), "of the buckets that are known"
    with pytest.raises(CommandError, match=r"^inventory tidegate of other: .*AccessDenied"):
        enable(settings, yes=True)
    assert settings.written == [("second", "policy"), ("acme-a", "inventory tidegate")]
    outcome, detail = check(settings)
    assert (outcome, "AccessDenied" in detail) == ("failed", True)
    assert detail.startswith("1 of 2 buckets are not known: inventory tidegate of other: ")


def test_check_names_some_of_the_differences_with_a_refusal_and_counts_the_others() -> None:
    settings = BucketSettings(*(f"acme-{number}" for number in range(9)), "second")
    settings.refused.add("other")
    outcome, detail = check(settings)
    assert (outcome, detail.count("there is none"), "; 10 differ: " in detail) == ("failed", 3, True)
    assert detail.endswith("; and 7 more")


def test_check_names_buckets_that_deliver_nothing_although_their_configuration_is_right() -> None:
    settings = BucketSettings("acme-a", "acme-b", "second")
    enable(settings, yes=True)
    assert check(settings)[0] == "ok", "until the first inventory has come, nothing is missing"
    outcome, detail = check(settings, "acme-a", "unrelated")
    assert outcome == "warning"
    assert detail.startswith("2 buckets have delivered no inventory yet: acme-b, other. S3 delivers the first one")
    assert check(settings, "acme-a", "acme-b", "other") == ("ok", "3 buckets")


def test_what_it_cannot_do_is_one_readable_error() -> None:
    settings = BucketSettings()
    bare = LakeConfig.model_validate({**PAPER, "tables": [{**TABLE, "inventories": None}]})
    with pytest.raises(CommandError, match=r"no table of lake.yaml has `mode: inventory` and `inventories`"):
        enable(settings, config=bare)
    second = {**TABLE, "name": "more", "prefix": "s3://second/more/"}
    two = LakeConfig.model_validate({**PAPER, "tables": [TABLE, second]})
    with pytest.raises(CommandError, match=r"name one of the tables with `inventories`: objects, more"):
        enable(settings, config=two)
    settings.refused.add("second")
    with pytest.raises(CommandError, match=r"^second: .*AccessDenied"):
        enable(settings)


def test_buckets_of_other_regions_are_left_out_because_s3_delivers_within_a_region() -> None:
    settings = BucketSettings("acme-a", "acme-far", "other", "second")
    settings.regions = {name: "eu-west-1" for name in ("acme-a", "other", "second")} | {"acme-far": "us-east-1"}
    said = enable(settings, yes=True)
    assert "only within a region: 1 buckets of other regions (acme-far)" in said
    assert sorted(settings.written) == [
        ("acme-a", "inventory tidegate"), ("other", "inventory tidegate"), ("second", "policy")
    ]  # fmt: skip
    answer = EnableAnswer.model_validate_json(enable(settings, as_json=True), strict=True)
    assert (answer.buckets, answer.changes, answer.elsewhere) == (2, (), ("acme-far",))
    assert check(settings) == ("ok", "2 buckets")
    settings.regions["other"] = "us-east-1"
    with pytest.raises(CommandError, match="other is in us-east-1, and S3 delivers inventories only within the region"):
        enable(settings)
