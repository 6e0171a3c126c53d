"""Evaluates a queue's policy: whether a service may send to the queue."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Any

_SOURCE_TESTS = ("arnlike", "arnequals", "stringlike", "stringequals")


def lets_send(policy: dict[str, Any], queue_arn: str, service: str, source_arn: str) -> bool:
    """Return whether a policy allows `sqs:SendMessage` to a service on behalf of a source.

    A statement that denies counts no matter what its conditions are. A statement that allows must hold for the source.
    Other conditions, such as `aws:SourceAccount`, are assumed to hold.

    Args:
        policy: the queue's policy, parsed.
        queue_arn: ARN of the queue.
        service: for example `s3.amazonaws.com`.
        source_arn: ARN of the bucket, topic or rule, for `aws:SourceArn`.
    """
    allowed = False
    for statement in _listed(policy.get("Statement")):
        if not (_names_action(statement) and _names(statement.get("Resource", "*"), queue_arn)):
            continue
        if not _names_principal(statement.get("Principal"), service) or not _holds(statement, source_arn):
            continue
        if statement.get("Effect") == "Deny":
            return False
        allowed = allowed or statement.get("Effect") == "Allow"
    return allowed


def _names_action(statement: dict[str, Any]) -> bool:
    return any(fnmatchcase("sqs:sendmessage", str(pattern).lower()) for pattern in _listed(statement.get("Action")))


def _names(patterns: Any, arn: str) -> bool:
    return any(fnmatchcase(arn, str(pattern)) for pattern in _listed(patterns))


def _names_principal(principal: Any, service: str) -> bool:
    if principal == "*":
        return True
    if not isinstance(principal, dict):
        return False
    return service in _listed(principal.get("Service")) or "*" in _listed(principal.get("AWS"))


def _holds(statement: dict[str, Any], source_arn: str) -> bool:
    for test, keys in (statement.get("Condition") or {}).items():
        for key, patterns in keys.items():
            if key.lower() == "aws:sourcearn" and test.lower() in _SOURCE_TESTS and not _names(patterns, source_arn):
                return False
    return True


def _listed(value: Any) -> list[Any]:
    if value is None:
        return []
    return list(value) if isinstance(value, list | tuple) else [value]
