"""Evaluates a queue's policy: whether a service may send to the queue, and who else may."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tidegate.platform.cloud.statement import list_values, matches

#: What the value of a condition key must be to name an account or an organization; its group is that account.
_ARN = re.compile(r"arn:[^:*?]+:[^:*?]+:[^:*?]*:(\d{12}):.*")
_ACCOUNT, _ORGANIZATION = re.compile(r"(\d{12})"), re.compile(r"o-[a-z0-9]+()(/.*)?")
#: Condition keys that restrict who sends, or on whose behalf a service sends. A service names only the latter.
_SOURCES = {
    "aws:sourcearn": _ARN,
    "aws:sourceaccount": _ACCOUNT,
    "aws:sourceorgid": _ORGANIZATION,
    "aws:sourceorgpaths": _ORGANIZATION,
}
_SENDERS = _SOURCES | {
    "aws:principalarn": _ARN,
    "aws:principalaccount": _ACCOUNT,
    "aws:principalorgid": _ORGANIZATION,
    "aws:principalorgpaths": _ORGANIZATION,
}
_EVERYBODY = "everybody"
#: The tests that hold only for a request that has the key, with one of the values.
_SOURCE_TESTS = ("arnlike", "arnequals", "stringlike", "stringequals")


def allows_send(policy: dict[str, Any], queue_arn: str, service: str, source_arn: str) -> bool:
    """Return whether a policy allows `sqs:SendMessage` to a service on behalf of a source.

    A statement that denies counts no matter what its conditions are. A statement that allows must hold for the source.
    Other conditions, such as `aws:SourceAccount`, are assumed to hold.

    Args:
        policy: the queue's policy, parsed.
        service: for example `s3.amazonaws.com`.
        source_arn: ARN of the bucket, topic or rule, for `aws:SourceArn`.
    """
    allowed = False
    for statement in list_values(policy.get("Statement")):
        if not (_names_action(statement) and _names(statement.get("Resource", "*"), queue_arn)):
            continue
        if not _is_about(statement, service) or not _holds(statement, source_arn):
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
    """
    account = queue_arn.split(":")[4]
    found: list[str] = []
    for statement in list_values(policy.get("Statement")):
        if statement.get("Effect") == "Allow" and _names_action(statement):
            found += _other_principals(statement, account)
    return Others(_EVERYBODY in found, tuple(dict.fromkeys(name for name in found if name != _EVERYBODY)))


def _other_principals(statement: dict[str, Any], account: str) -> Iterator[str]:
    principal = statement.get("Principal")
    principals = {"AWS": "*"} if principal == "*" else principal if isinstance(principal, dict) else {}
    sources = [value for key, values in _conditions(statement) if key == "aws:sourcearn" for value in values]
    # Of an account, of a provider of identities, or a canonical user.
    for name in (name for kind, names in principals.items() if kind != "Service" for name in list_values(names)):
        if name != "*":
            yield from () if account in str(name).split(":") else (str(name),)
            continue
        # A request that is not a service's has no source.
        named = sources and not any(set(source) & {"*", "?"} for source in sources)
        unbound = f"services on behalf of {', '.join(sources)} of every account" if named else _EVERYBODY
        yield from _foreign_conditions(statement, _SENDERS, account, unbound)
    for service in list_values(principals.get("Service")):
        unbound = f"{service} on behalf of {', '.join(sources) or 'anything'} of every account"
        yield from _foreign_conditions(statement, _SOURCES, account, unbound)
    if "NotPrincipal" in statement:
        yield _EVERYBODY


def _foreign_conditions(
    statement: dict[str, Any], keys: dict[str, re.Pattern[str]], account: str, unbound: str
) -> tuple[str, ...]:
    """Return what the conditions let in besides the account; `unbound` if they name nobody.

    An organization is named: nobody can see here whether it is that of the account, and it has other accounts.
    """
    found: tuple[str, ...] = (unbound,)
    for key, values in _conditions(statement):
        owners = [keys[key].fullmatch(value) for value in values] if key in keys else [None]
        if all(owners):
            found = tuple(value for value, owner in zip(values, owners, strict=True) if owner and owner[1] != account)
            if not found:
                return ()
    return found


def _conditions(statement: dict[str, Any]) -> Iterator[tuple[str, list[str]]]:
    """Yield the keys and values of the tests that restrict: others hold for a request without the key, or negate."""
    for test, keys in (statement.get("Condition") or {}).items():
        if test.lower().removeprefix("foranyvalue:") in _SOURCE_TESTS:
            for key, values in keys.items():
                yield key.lower(), [str(value) for value in list_values(values)] or ["*"]


def _names_action(statement: dict[str, Any]) -> bool:
    excepted = "NotAction" in statement
    patterns = list_values(statement.get("NotAction" if excepted else "Action"))
    return excepted != any(matches(str(pattern).lower(), "sqs:sendmessage") for pattern in patterns)


def _names(patterns: Any, arn: str) -> bool:
    return any(matches(str(pattern), arn) for pattern in list_values(patterns))


def _is_about(statement: dict[str, Any], service: str) -> bool:
    if "NotPrincipal" in statement:
        return not _names_principal(statement["NotPrincipal"], service)
    return _names_principal(statement.get("Principal"), service)


def _names_principal(principal: Any, service: str) -> bool:
    if principal == "*":
        return True
    if not isinstance(principal, dict):
        return False
    return service in list_values(principal.get("Service")) or "*" in list_values(principal.get("AWS"))


def _holds(statement: dict[str, Any], source_arn: str) -> bool:
    for test, keys in (statement.get("Condition") or {}).items():
        for key, patterns in keys.items():
            if key.lower() == "aws:sourcearn" and test.lower() in _SOURCE_TESTS and not _names(patterns, source_arn):
                return False
    return True
