"""Checks of the queues: reachable, with sufficient timeouts and a dead-letter queue."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from tidegate.platform.cli.check.findings import Failed, Finding, Warned, call_permitted, make_finding, try_call
from tidegate.platform.cli.check.known_checks import Check
from tidegate.platform.cloud.queue_policy import other_senders
from tidegate.platform.cloud.requirements import (
    DEAD_LETTER_ARN,
    MAX_RECEIVES,
    RECEIVE_COUNT,
    REDRIVE,
    RETENTION,
    VISIBILITY,
)
from tidegate.platform.core.config.lake import QueueSpec
from tidegate.platform.lake.aws.answers import code_of

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

_MORE_THAN_SQS_GIVES = 11


@dataclass(frozen=True)
class CheckedQueue:
    """A queue that answered: its ARN, its policy, parsed, and the largest message that it accepts, in bytes."""

    name: str
    arn: str
    policy: dict[str, Any]
    max_bytes: int | None = None


def check_queue(sqs: SQSClient, spec: QueueSpec, found: list[CheckedQueue]) -> Iterator[Finding]:
    """Check one queue.

    Args:
        spec: the configuration of the queue.
        found: takes the queue if it answers.
    """
    name = spec.name
    attributes: dict[str, str] = {}

    def check_reachable() -> str:
        url = spec.url or _url(sqs, name)
        attributes.update(_attributes(sqs, url, name), url=url)
        largest = attributes.get("MaximumMessageSize", "")
        policy = json.loads(attributes.get("Policy") or "{}")
        found.append(CheckedQueue(name, attributes["QueueArn"], policy, int(largest) if largest.isdigit() else None))
        waiting, hidden = (attributes.get(f"ApproximateNumberOfMessages{which}", "?") for which in ("", "NotVisible"))
        return f"{waiting} messages wait, {hidden} are in flight"

    first = make_finding(Check.QUEUE_REACHABLE, name, check_reachable)
    yield first
    if first.ok:
        yield make_finding(Check.QUEUE_RECEIVE, name, lambda: _check_receive(sqs, attributes, name))
        yield make_finding(Check.QUEUE_DELETE, name, lambda: _check_delete(sqs, attributes["url"], name))
        yield make_finding(Check.QUEUE_HIDE, name, lambda: _check_change_visibility(sqs, attributes["url"], name))
        yield make_finding(Check.QUEUE_SEND, name, lambda: _check_send(sqs, attributes["url"], name))
        yield make_finding(Check.QUEUE_VISIBILITY, name, lambda: _check_visibility_timeout(attributes))
        yield make_finding(Check.QUEUE_RETENTION, name, lambda: _describe_retention(attributes))
        yield make_finding(Check.QUEUE_SENDERS, name, lambda: _senders(found[-1]))
        yield make_finding(Check.QUEUE_DEAD_LETTERS, name, lambda: _dead_letters(sqs, spec, attributes))


def _url(sqs: SQSClient, name: str) -> str:
    try:
        return str(call_permitted("sqs:GetQueueUrl", name, sqs.get_queue_url, QueueName=name)["QueueUrl"])
    except ClientError as error:
        raise _missing_queue_error(error, name) from None


def _attributes(sqs: SQSClient, url: str, name: str) -> dict[str, str]:
    try:
        answer = call_permitted(
            "sqs:GetQueueAttributes", name, sqs.get_queue_attributes, QueueUrl=url, AttributeNames=["All"]
        )
    except ClientError as error:
        raise _missing_queue_error(error, name) from None
    return {str(key): str(value) for key, value in answer.get("Attributes", {}).items()}


def _missing_queue_error(error: ClientError, name: str) -> Exception:
    if "NonExistentQueue" in code_of(error) or "QueueDoesNotExist" in code_of(error):
        return Failed(
            f"there is no queue {name} in this account and region: create it, or correct `queues` of lake.yaml"
        )
    return error


def _check_receive(sqs: SQSClient, attributes: dict[str, str], name: str) -> str:
    # Each receive of a message counts towards the dead-letter queue. If messages wait, this asks for more than SQS
    # returns at once, so that SQS refuses the number when receiving is allowed.
    number = 1 if attributes.get("ApproximateNumberOfMessages") == "0" else _MORE_THAN_SQS_GIVES
    return _check_permission(
        "sqs:ReceiveMessage",
        name,
        sqs.receive_message,
        QueueUrl=attributes["url"],
        MaxNumberOfMessages=number,
        VisibilityTimeout=0,
        WaitTimeSeconds=0,
    )


def _check_delete(sqs: SQSClient, url: str, name: str) -> str:
    # No message has this receipt. SQS refuses it as invalid, or ignores it, when deleting is allowed.
    return _check_permission(
        "sqs:DeleteMessage", name, sqs.delete_message, QueueUrl=url, ReceiptHandle="tidegate-check"
    )


def _check_send(sqs: SQSClient, url: str, name: str) -> str:
    # SQS refuses an empty batch when sending is allowed.
    return _check_permission("sqs:SendMessage", name, sqs.send_message_batch, QueueUrl=url, Entries=[])


def _check_change_visibility(sqs: SQSClient, url: str, name: str) -> str:
    # No message has this receipt. A long tick extends the timeout of the messages it works on.
    return _check_permission(
        "sqs:ChangeMessageVisibility",
        name,
        sqs.change_message_visibility,
        QueueUrl=url,
        ReceiptHandle="tidegate-check",
        VisibilityTimeout=0,
    )


def _check_permission(action: str, name: str, call: Callable[..., Any], **arguments: Any) -> str:
    """Check a permission by a call with arguments that SQS refuses only after it has checked the permission."""
    try_call(action, name, call, **arguments)
    return "allowed"


def _senders(queue: CheckedQueue) -> str:
    others = other_senders(queue.policy, queue.arn)
    if others.everybody:
        raise Failed(
            "its policy lets everybody send, so anybody can send rows and events: name the principals, or add "
            "conditions on aws:SourceArn and aws:SourceAccount"
        )
    if others.named:
        raise Warned(
            f"in addition to its own account, {'; '.join(others.named)} may send: if that is not intended, remove it "
            "or add a condition on aws:SourceAccount"
        )
    return "its account, and services on behalf of its account"


def _check_visibility_timeout(attributes: dict[str, str]) -> str:
    seconds = int(attributes.get(VISIBILITY.name, 0))
    if seconds < VISIBILITY.min_seconds:
        raise Failed(
            f"{seconds} s, so messages come back while a tick still works on them: set {VISIBILITY.name} to "
            f"{VISIBILITY.seconds}, at least {VISIBILITY.min_seconds}"
        )
    if VISIBILITY.max_seconds and seconds > VISIBILITY.max_seconds:
        raise Failed(
            f"{seconds / 3600:g} h, for which the messages of a tick that died stay hidden: "
            f"set {VISIBILITY.name} to {VISIBILITY.seconds}"
        )
    return f"{seconds} s"


def _describe_retention(attributes: dict[str, str]) -> str:
    seconds = int(attributes.get(RETENTION.name, RETENTION.min_seconds))
    if seconds < RETENTION.min_seconds:
        raise Failed(
            f"{seconds / 3600:g} h, so events are lost when intake pauses for longer, for example over a weekend: set "
            f"{RETENTION.name} to {RETENTION.seconds}"
        )
    return f"{seconds / 86400:g} days"


def _dead_letters(sqs: SQSClient, spec: QueueSpec, attributes: dict[str, str]) -> str:
    if not attributes.get(REDRIVE):
        raise Failed(
            "there is none, so a message that cannot be processed returns for ever: create a dead-letter queue and set "
            f"{REDRIVE} ({DEAD_LETTER_ARN}, {RECEIVE_COUNT} {MAX_RECEIVES})"
        )
    redrive = json.loads(attributes[REDRIVE])
    name = str(redrive.get(DEAD_LETTER_ARN, "")).rsplit(":", 1)[-1]
    if spec.dlq and spec.dlq != name:
        raise Failed(f"the queue's RedrivePolicy names {name}, lake.yaml names {spec.dlq}: correct one of them")
    url = _url(sqs, name)
    found = {**_attributes(sqs, url, name), "url": url}
    _check_receive(sqs, found, name)
    _check_delete(sqs, url, name)
    _check_change_visibility(sqs, url, name)
    dead = found.get("ApproximateNumberOfMessages", "?")
    return f"{name}, after {redrive.get(RECEIVE_COUNT)} receives; {dead} messages are in it"
