"""The inventory configuration of a bucket and the policy of the destination, as they should be."""

from __future__ import annotations

import hashlib
import json

import pytest

from tidegate.platform.cloud.arns import Address
from tidegate.platform.cloud.inventories import WantedInventories, differences
from tidegate.platform.core.config.inventories import InventoriesSpec
from tidegate.platform.core.keys.s3_address import S3Address

#: `inventory/` in SHA-256.
SID_OF_PREFIX = f"TidegateInventories{hashlib.sha256(b'inventory/').hexdigest()[:12]}"


def wanted(prefix: str = "inventory/", region: str = "eu-central-1", **spec: object) -> WantedInventories:
    found = InventoriesSpec.model_validate({"buckets": ["acme"], **spec})
    return WantedInventories(found, S3Address("central", prefix), Address(region, "111122223333"))


def test_a_new_configuration_is_as_lake_yaml_says() -> None:
    found = wanted(frequency="weekly", format="orc", versions="current", configuration="mine").configuration(None)
    assert (found["Id"], found["IsEnabled"], found["IncludedObjectVersions"]) == ("mine", True, "Current")
    assert found["Schedule"] == {"Frequency": "Weekly"}
    assert found["Destination"]["S3BucketDestination"]["Format"] == "ORC"
    assert found["Destination"]["S3BucketDestination"]["Prefix"] == "inventory", "S3 writes the / itself"
    assert "Prefix" not in wanted("").configuration(None)["Destination"]["S3BucketDestination"]
    assert differences(found, found) == []
    assert differences({**found, "IsEnabled": False}, found) == ["IsEnabled: false → true"]
    assert differences(None, found) == ["there is none"]


def test_the_statement_is_replaced_and_never_doubled_and_a_policy_has_a_bound() -> None:
    first = wanted().policy(None)
    again = wanted(buckets=["acme", "bravo"]).policy(first)
    assert len(again["Statement"]) == 1
    assert again["Statement"][0]["Condition"]["ArnLike"]["aws:SourceArn"] == ["arn:aws:s3:::acme", "arn:aws:s3:::bravo"]
    # A bucket that `lake.yaml` does not name any more could still write there.
    assert differences(again, first) == [
        f"Statement.{SID_OF_PREFIX}.Condition.ArnLike.aws:SourceArn: remove arn:aws:s3:::bravo"
    ]
    with pytest.raises(ValueError, match="fewer names and more patterns with"):
        wanted(buckets=[f"bucket-with-a-name-{number}" for number in range(600)]).policy(None)


def test_what_the_grammar_of_policies_writes_in_two_ways_is_not_a_difference() -> None:
    """A statement alone, or a value alone, need not be in a list."""
    (statement,) = wanted().policy(None)["Statement"]
    alone = {
        **statement,
        "Action": ["s3:PutObject"],
        "Condition": {**statement["Condition"], "ArnLike": {"aws:SourceArn": "arn:aws:s3:::acme"}},
    }
    present = {"Version": "2012-10-17", "Statement": alone}
    assert differences(present, wanted().policy(present)) == []
    theirs = {"Effect": "Deny", "Principal": "*", "Action": "s3:*", "Resource": "*"}
    assert wanted().policy({"Statement": theirs})["Statement"] == [theirs, statement]
    # Statements without a name stay in their places.
    present = {"Version": "2012-10-17", "Statement": [theirs, statement, {**theirs, "Resource": "x"}]}
    assert wanted().policy(present) == present
    assert differences(present, wanted(buckets=["acme", "bravo"]).policy(present)) == [
        f"Statement.{SID_OF_PREFIX}.Condition.ArnLike.aws:SourceArn: add arn:aws:s3:::bravo"
    ]


def test_buckets_that_are_left_out_may_not_deliver_either() -> None:
    (statement,) = wanted(buckets=["acme-*", "!acme-logs"]).policy(None)["Statement"]
    assert statement["Condition"]["ArnLike"] == {"aws:SourceArn": ["arn:aws:s3:::acme-*"]}
    assert statement["Condition"]["ArnNotLike"] == {"aws:SourceArn": ["arn:aws:s3:::acme-logs"]}
    assert "ArnNotLike" not in wanted().policy(None)["Statement"][0]["Condition"]


def test_in_china_all_arns_are_of_china() -> None:
    china = wanted(region="cn-north-1", buckets=["acme-*", "!acme-logs"])
    written = json.dumps([china.policy(None), china.configuration(None)])
    assert written.count("arn:") == written.count("arn:aws-cn:s3:::") == 4


def test_tables_with_one_destination_bucket_have_a_statement_each_and_remove_none() -> None:
    daily, weekly = wanted("daily/", buckets=["acme-*"]), wanted("weekly/", buckets=["beta-*"])
    both = weekly.policy(daily.policy(None))
    assert [item["Resource"].partition("central")[2] for item in both["Statement"]] == ["/daily/*", "/weekly/*"]
    assert differences(both, daily.policy(both)) == differences(both, weekly.policy(both)) == []
    assert daily.policy(both) == both
    # Earlier versions gave the statement of each prefix the same name.
    old = {"Statement": [{**item, "Sid": "TidegateInventories"} for item in both["Statement"][:1]]}
    assert weekly.policy(old)["Statement"] == [*old["Statement"], both["Statement"][1]]
    assert daily.policy(old)["Statement"] == both["Statement"][:1]
    assert all(item["Sid"].isalnum() for item in both["Statement"])
