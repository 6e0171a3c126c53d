"""Evaluates a queue's policy: whether a service may send to the queue, and who else may."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

#: Condition keys that restrict who sends, or on whose behalf a service sends. A service names only the latter.
_SOURCES = frozenset({"aws:sourcearn", "aws:sourceaccount", "aws:sourceorgid", "aws:sourceorgpaths"})
_SENDERS = _SOURCES | {"aws:principalarn", "aws:principalaccount", "aws:principalorgid", "aws:principalorgpaths"}
#: Of these, those that name an account. The name of a bucket does not: another account may create it again.
_ACCOUNTS = _SENDERS - {"aws:sourcearn"}
_EVERYBODY = "everybody"
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


@dataclass(frozen=True)
class Others:
    """Who may send to a queue in addition to the principals of its account and to services on its behalf.

    Attributes:
        everybody: whether anybody may.
        named: others, in words.
    """

    everybody: bool
    named: tuple[str, ...]


def other_senders(policy: dict[str, Any], queue_arn: str) -> Others:
    """Return who else may send than the account of the queue, and services for sources of this account.

    Statements that deny are not evaluated: a finding may name a sender that another statement excludes.

    Args:
        policy: the queue's policy, parsed.
        queue_arn: ARN of the queue.
    """
    account = queue_arn.split(":")[4]
    found: list[str] = []
    for statement in _listed(policy.get("Statement")):
        if statement.get("Effect") == "Allow" and _names_action(statement):
            found += _others(statement, account)
    return Others(_EVERYBODY in found, tuple(dict.fromkeys(name for name in found if name != _EVERYBODY)))


def _others(statement: dict[str, Any], account: str) -> Iterator[str]:
    keys = {key.lower(): _listed(value) for test in _conditions(statement) for key, value in test.items()}
    restricted = {key for key, values in keys.items() if values and "*" not in values}
    principal = statement.get("Principal")
    principals = {"AWS": "*"} if principal == "*" else principal if isinstance(principal, dict) else {}
    for name in _listed(principals.get("AWS")):
        if name == "*":
            if not restricted & _SENDERS:
                yield _EVERYBODY
        elif account not in str(name).split(":"):
            yield str(name)
    for service in _listed(principals.get("Service")):
        sources = [str(source) for source in keys.get("aws:sourcearn", [])]
        if restricted & _ACCOUNTS or ("aws:sourcearn" in restricted and all(map(_names_account, sources))):
            continue
        on = ", ".join(sources) or "anything"
        yield f"{service} on behalf of {on} of every account"
    if "NotPrincipal" in statement:
        yield _EVERYBODY


def _conditions(statement: dict[str, Any]) -> list[dict[str, Any]]:
    return [keys for test, keys in (statement.get("Condition") or {}).items() if "not" not in test.lower()]


def _names_account(arn: str) -> bool:
    """Whether the ARN of a source contains its account. That of a bucket does not."""
    parts = arn.split(":")
    return len(parts) > 4 and parts[4].isdigit()


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
