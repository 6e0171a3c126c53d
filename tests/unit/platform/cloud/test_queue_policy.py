"""Who may send to a queue, in addition to its account."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from tidegate.platform.cloud.notifications import queue_policy
from tidegate.platform.cloud.queue_policy import other_senders

QUEUE = "arn:aws:sqs:eu-west-1:111122223333:events"
BUCKET, TOPIC = "arn:aws:s3:::landing", "arn:aws:sns:eu-west-1:111122223333:topic"
OURS = {"StringEquals": {"aws:SourceAccount": "111122223333"}}


def allow(principal: Any, condition: dict[str, Any] | None = None, action: Any = "sqs:SendMessage") -> dict[str, Any]:
    given = {"Principal": principal, "Action": action, "Condition": condition or {}}
    return {"Effect": "Allow", "Resource": QUEUE, **given}


@pytest.mark.parametrize(
    ("principal", "condition"),
    itertools.product(
        ["*", {"AWS": "*"}, {"AWS": ["*"]}, {"AWS": ["arn:aws:iam::111122223333:root", "*"]}],
        [{}, {"Bool": {"aws:SecureTransport": "true"}}, {"ArnLike": {"aws:SourceArn": "*"}},
         {"StringNotEquals": {"aws:SourceAccount": "4"}}],
    ),
)  # fmt: skip
def test_a_queue_to_which_everybody_may_send_is_found_however_it_is_written(principal: Any, condition: Any) -> None:
    for action in ("sqs:SendMessage", "sqs:*", "SQS:Send*", ["sqs:ReceiveMessage", "*"]):
        assert other_senders({"Statement": [allow(principal, condition, action)]}, QUEUE).everybody


def test_those_who_are_not_excluded_are_everybody() -> None:
    statement = allow(None) | {"NotPrincipal": {"AWS": "arn:aws:iam::4:root"}}
    assert other_senders({"Statement": [statement]}, QUEUE).everybody


@pytest.mark.parametrize(
    "statement",
    [
        allow({"AWS": "arn:aws:iam::111122223333:role/x"}),
        allow({"AWS": "111122223333"}),
        allow("*", OURS),
        allow("*", {"StringEquals": {"AWS:PrincipalOrgID": "o-1"}}),
        allow("*", {"ArnEquals": {"aws:SourceArn": TOPIC}}),
        allow({"Service": "sns.amazonaws.com"}, {"ArnLike": {"aws:SourceArn": TOPIC}}),
        allow({"Service": "s3.amazonaws.com"}, {"ArnLike": {"aws:SourceArn": BUCKET}, **OURS}),
        allow("*", action="sqs:ReceiveMessage"),
        allow("*") | {"Effect": "Deny"},
    ],
)
def test_its_account_and_services_on_its_behalf_are_no_others(statement: dict[str, Any]) -> None:
    found = other_senders({"Statement": statement}, QUEUE)
    assert (found.everybody, found.named) == (False, ())


@pytest.mark.parametrize(
    ("statement", "named"),
    [
        (allow({"AWS": ["arn:aws:iam::444455556666:root"]}), "arn:aws:iam::444455556666:root"),
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
