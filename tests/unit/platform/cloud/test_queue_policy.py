"""Who may send to a queue, in addition to its account."""

from __future__ import annotations

from typing import Any

import pytest

from tidegate.platform.cloud.queue_policy import other_senders
from tidegate.platform.cloud.requirements import queue_policy

QUEUE = "arn:aws:sqs:eu-west-1:111122223333:events"
BUCKET, TOPIC = "arn:aws:s3:::landing", "arn:aws:sns:eu-west-1:111122223333:topic"
OURS = {"StringEquals": {"aws:SourceAccount": "111122223333"}}

#: An account or organization, as each key names it.
NAMED = {
    "aws:SourceArn": TOPIC,
    "aws:SourceAccount": "111122223333",
    "aws:SourceOrgID": "o-1",
    "aws:SourceOrgPaths": "o-1/r-1/*",
    "aws:PrincipalArn": "arn:aws:iam::111122223333:role/*",
    "aws:PrincipalAccount": "111122223333",
    "aws:PrincipalOrgID": "o-1",
    "aws:PrincipalOrgPaths": "o-1/*",
}
#: Tests that hold for a request without the key, or for all values but these.
_LOOSE = (
    "StringEqualsIfExists",
    "ArnLikeIfExists",
    "ForAllValues:StringEquals",
    "StringNotEquals",
    "ArnNotLike",
    "Null",
)
#: Values that name no account.
_WILD = (
    "*",
    "?*",
    "arn:aws:sns:*:*:*",
    "arn:aws:iam::*:*",
    "arn:aws:iam::1111*:root",
    "1111????????",
    "o-*",
    "*/*",
    "arn:aws:*:*:111122223333:*",
)
RESTRICT_NOBODY = [
    *({test: {key: "true" if test == "Null" else value}} for test in _LOOSE for key, value in NAMED.items()),
    *({"StringLike": {key: value}} for key in NAMED for value in _WILD),
    *({"StringLike": {key: [good, "*"]}} for key, good in NAMED.items()),
]


def allow(principal: Any, condition: dict[str, Any] | None = None, action: Any = "sqs:SendMessage") -> dict[str, Any]:
    given = {"Principal": principal, "Action": action, "Condition": condition or {}}
    return {"Effect": "Allow", "Resource": QUEUE, **given}


@pytest.mark.parametrize("name", ["f" * 64, "accounts.google.com", "arn:aws:iam::999900001111:saml-provider/x"])
@pytest.mark.parametrize("kind", ["CanonicalUser", "Federated", "AWS"])
def test_a_sender_is_found_whatever_its_kind(kind: str, name: str) -> None:
    found = other_senders({"Statement": allow({kind: ["arn:aws:iam::111122223333:root", name]})}, QUEUE)
    assert not found.everybody
    assert found.named == (name,)
    assert other_senders({"Statement": allow({kind: "*"})}, QUEUE).everybody


@pytest.mark.parametrize("condition", [{}, {"Bool": {"aws:SecureTransport": "true"}}, *RESTRICT_NOBODY], ids=str)
def test_a_queue_to_which_everybody_may_send_is_found_however_it_is_written(condition: Any) -> None:
    for principal in ("*", {"AWS": "*"}, {"AWS": ["*"]}, {"AWS": ["arn:aws:iam::111122223333:root", "*"]}):
        statements = [
            allow(principal, condition, action)
            for action in ("sqs:SendMessage", "sqs:*", "SQS:Send*", ["sqs:ReceiveMessage", "*"])
        ]
        excepted = allow(principal, condition) | {"NotAction": "sqs:DeleteQueue"}
        del excepted["Action"]
        for statement in [*statements, excepted]:
            assert other_senders({"Statement": [statement]}, QUEUE).everybody


def test_those_who_are_not_excluded_are_everybody() -> None:
    statement = allow(None) | {"NotPrincipal": {"AWS": "arn:aws:iam::4:root"}}
    assert other_senders({"Statement": [statement]}, QUEUE).everybody


@pytest.mark.parametrize(
    "statement",
    [
        allow({"AWS": "arn:aws:iam::111122223333:role/x"}),
        allow({"AWS": "111122223333"}),
        allow("*", OURS),
        *(allow("*", {"StringLike": {key.upper(): value}}) for key, value in NAMED.items() if "Org" not in key),
        allow("*", {"StringLike": {"aws:PrincipalOrgPaths": "o-1/*"}, **OURS}),
        allow("*", {"ArnEquals": {"aws:SourceArn": TOPIC}, "StringEquals": {"aws:SourceAccount": "999988887777"}}),
        allow({"Service": "sns.amazonaws.com"}, {"ArnLike": {"aws:SourceArn": TOPIC}}),
        allow({"Service": "s3.amazonaws.com"}, {"ArnLike": {"aws:SourceArn": BUCKET}, **OURS}),
        allow("*", action="sqs:ReceiveMessage"),
        allow("*") | {"Effect": "Deny"},
    ],
)
def test_its_account_and_services_on_its_behalf_are_not_others(statement: dict[str, Any]) -> None:
    found = other_senders({"Statement": statement}, QUEUE)
    assert (found.everybody, found.named) == (False, ())


@pytest.mark.parametrize(
    ("statement", "named"),
    [
        (allow({"AWS": ["arn:aws:iam::444455556666:root"]}), "arn:aws:iam::444455556666:root"),
        (allow("*", {"StringEquals": {"aws:PrincipalAccount": ["111122223333", "999988887777"]}}), "999988887777"),
        *((allow("*", {"StringLike": {key: value}}), value) for key, value in NAMED.items() if "Org" in key),
        (allow("*", {"ForAnyValue:StringLike": {"aws:PrincipalOrgPaths": "o-1/*"}}), "o-1/*"),
        (allow("*", {"ArnLike": {"aws:SourceArn": BUCKET}}), f"services on behalf of {BUCKET} of every account"),
        (
            allow({"Service": "sns.amazonaws.com"}, {"ArnLike": {"aws:SourceArn": "arn:aws:sns:*:*:*"}}),
            "sns.amazonaws.com on behalf of arn:aws:sns:*:*:* of every account",
        ),
        (allow({"Service": "sns.amazonaws.com"}), "sns.amazonaws.com on behalf of anything of every account"),
        (
            allow({"Service": "s3.amazonaws.com"}, {"ArnLike": {"aws:SourceArn": BUCKET}}),
            f"s3.amazonaws.com on behalf of {BUCKET} of every account",
        ),
    ],
)
def test_others_are_named(statement: dict[str, Any], named: str) -> None:
    assert other_senders({"Statement": [statement]}, QUEUE).named == (named,)


def test_the_policy_that_is_printed_lets_nobody_else_send() -> None:
    found = other_senders(queue_policy(QUEUE, ["landing"]), QUEUE)
    assert (found.everybody, found.named) == (False, ())
    assert other_senders({}, QUEUE).named == ()
