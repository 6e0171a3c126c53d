"""The permissions of a proof: its own names only, and small enough for one policy."""

from __future__ import annotations

import json

import pytest
from botocore.exceptions import ClientError

from tidegate.platform.cloud.roles.roles import policy
from tidegate.platform.cloud.statement import permits
from tidegate.platform.prove.policy import missing_permission, prove_statements

OWN, OTHER = "tidegate-prove-0123456789-lake", "tidegate-prod-lake"
ADDRESS = "us-east-1:000000000000"


@pytest.mark.parametrize(
    ("action", "resource"),
    [
        ("s3:DeleteBucket", "arn:aws:s3:::{}"),
        ("s3:DeleteObject", "arn:aws:s3:::{}/a"),
        ("s3:PutObject", "arn:aws:s3:::{}/a"),
        ("s3:ListBucket", "arn:aws:s3:::{}"),
        ("sqs:DeleteQueue", f"arn:aws:sqs:{ADDRESS}:{{}}"),
        ("sqs:ReceiveMessage", f"arn:aws:sqs:{ADDRESS}:{{}}"),
        ("dynamodb:DeleteTable", f"arn:aws:dynamodb:{ADDRESS}:table/{{}}"),
        ("dynamodb:UpdateItem", f"arn:aws:dynamodb:{ADDRESS}:table/{{}}"),
    ],
)
def test_what_is_permitted_is_permitted_for_names_of_runs_only(action: str, resource: str) -> None:
    assert permits(prove_statements(), action, resource.format(OWN))
    assert not permits(prove_statements(), action, resource.format(OTHER))


def test_only_lists_are_permitted_on_every_resource() -> None:
    found = [each for each in prove_statements() if "*" in each.resources]
    assert [each.actions for each in found] == [("dynamodb:ListTables", "s3:ListAllMyBuckets", "sqs:ListQueues")]


def test_it_fits_into_one_managed_policy_in_which_nothing_is_forbidden() -> None:
    statements = prove_statements()
    assert len(json.dumps(policy(statements), separators=(",", ":"))) < 6144
    assert not any(each.denies for each in statements)
    assert not [action for each in statements for action in each.actions if "*" in action]


@pytest.mark.parametrize(
    ("operation", "action"),
    [
        ("PutBucketNotificationConfiguration", "s3:PutBucketNotification"),
        ("ListBuckets", "s3:ListAllMyBuckets"),
        ("ListObjectsV2", "s3:ListBucket"),
        ("DeleteTable", "dynamodb:DeleteTable"),
        ("Another", "Another"),
    ],
)
def test_a_refused_call_names_its_permission(operation: str, action: str) -> None:
    refused = ClientError({"Error": {"Code": "AccessDenied", "Message": ""}}, operation)
    assert missing_permission(refused) == action
