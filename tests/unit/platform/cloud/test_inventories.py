"""The inventory configuration of a bucket and the policy of the destination, as they should be."""

from __future__ import annotations

import pytest

from tidegate.platform.cloud.inventories import WantedInventories, differences
from tidegate.platform.core.inventory.spec import InventoriesSpec
from tidegate.platform.core.keys.s3_address import S3Address


def wanted(prefix: str = "inventory/", **spec: object) -> WantedInventories:
    found = InventoriesSpec.model_validate({"buckets": ["acme"], **spec})
    return WantedInventories(found, S3Address("central", prefix), "111122223333")


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
        "Statement.TidegateInventories.Condition.ArnLike.aws:SourceArn: remove arn:aws:s3:::bravo"
    ]
    with pytest.raises(ValueError, match="fewer names and more patterns with"):
        wanted(buckets=[f"bucket-with-a-name-{number}" for number in range(600)]).policy(None)


def test_what_the_grammar_of_policies_writes_in_two_ways_is_no_difference() -> None:
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
        "Statement.TidegateInventories.Condition.ArnLike.aws:SourceArn: add arn:aws:s3:::bravo"
    ]
