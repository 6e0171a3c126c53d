"""One statement of an IAM policy."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

_WILDCARDS = re.compile(r"[*?$]")
_PARTS = re.compile(r"(\$\{[*?$]\}|[*?])")


#: The value of a condition key, or the patterns for it.
Values = str | tuple[str, ...]


@dataclass(frozen=True)
class Statement:
    """A permission of a role, and why the role needs it; or what it may never do, and why.

    Attributes:
        sid: its name, of letters and digits, unique within a role.
        actions: for example `s3:GetObject`.
        resources: ARNs, in which `*` and `?` are wildcards.
        why: the calls that need it, as a sentence.
        condition: the condition in IAM's form. Empty: none.
        denies: whether it forbids the actions, whatever other statements allow.
    """

    sid: str
    actions: tuple[str, ...]
    resources: tuple[str, ...]
    why: str
    condition: Mapping[str, Mapping[str, Values]] = field(default_factory=dict, hash=False)
    denies: bool = False

    def covers(self, action: str, resource: str, context: Mapping[str, str] | None = None) -> bool:
        """Return whether the statement is about an action on a resource.

        Args:
            action: IAM's name.
            resource: ARN, without wildcards.
            context: values of the condition keys in the request. None: the conditions are assumed to hold.
        """
        tests = [(test, *pair) for test, pairs in self.condition.items() for pair in pairs.items()]
        return (
            action in self.actions
            and any(_pattern(arn).fullmatch(resource) for arn in self.resources)
            and (context is None or all(_holds(test, context.get(key), value) for test, key, value in tests))
        )

    def to_json(self) -> dict[str, Any]:
        """Return the statement in IAM's form."""
        return {
            "Sid": self.sid,
            "Effect": "Deny" if self.denies else "Allow",
            "Action": list(self.actions),
            "Resource": list(self.resources) if len(self.resources) > 1 else self.resources[0],
            **({"Condition": _json(self.condition)} if self.condition else {}),
        }


Statements = tuple[Statement, ...]


def permits(
    statements: Iterable[Statement], action: str, resource: str, context: Mapping[str, str] | None = None
) -> bool:
    """Return whether statements together allow an action on a resource: one allows it and none forbids it.

    Args:
        statements: those of a role.
        action: IAM's name.
        resource: ARN, without wildcards.
        context: values of the condition keys in the request. None: the conditions are assumed to hold.
    """
    found = {statement.denies for statement in statements if statement.covers(action, resource, context)}
    return found == {False}


def restrict_to_account(statement: Statement, account: str) -> Statement:
    """Restrict a statement to resources of an account: somebody may create a deleted bucket again. `*`: of any."""
    if account == "*":
        return statement
    owner = {"aws:ResourceAccount": account}
    equal = {**statement.condition.get("StringEquals", {}), **owner}
    return replace(statement, condition={**statement.condition, "StringEquals": equal})


def without_empty(*statements: Statement) -> Statements:
    """Return the statements that have resources."""
    return tuple(statement for statement in statements if statement.resources)


def _holds(test: str, found: str | None, wanted: Values) -> bool:
    """Return whether a condition holds: `Null`, a comparison of texts or truths, or one with patterns."""
    if test == "Null":
        return (found is None) is (wanted == "true")
    patterns = (wanted,) if isinstance(wanted, str) else wanted
    if test.endswith("StringLike"):
        # ForAllValues holds for a request without the key.
        return found is None or any(_pattern(pattern).fullmatch(found) for pattern in patterns)
    return found in patterns


def _json(condition: Mapping[str, Mapping[str, Values]]) -> dict[str, Any]:
    return {
        test: {key: value if isinstance(value, str) else list(value) for key, value in pairs.items()}
        for test, pairs in condition.items()
    }


def escape_wildcards(text: str) -> str:
    """Escape IAM's wildcards in a text for use in an ARN, because S3 keys may contain them."""
    return _WILDCARDS.sub(lambda found: f"${{{found[0]}}}", text)


def matches(pattern: str, text: str) -> bool:
    """Return whether a text is one of those of a pattern of IAM."""
    return _pattern(pattern).fullmatch(text) is not None


def samples(pattern: str) -> tuple[str, str]:
    """Return two texts of a pattern of IAM. A pattern that matches both matches all texts of the first pattern."""

    def sample_values(any: str) -> str:
        return _PARTS.sub(lambda found: found[0][2] if len(found[0]) > 1 else any, pattern)

    return sample_values("\0"), sample_values("\0/\0\0")


def list_values(value: Any) -> list[Any]:
    """Return an element of a policy as a list: AWS takes one value without a list, too."""
    if value is None:
        return []
    return list(value) if isinstance(value, list | tuple) else [value]


@lru_cache(1000)
def _pattern(resource: str) -> re.Pattern[str]:
    parts = _PARTS.split(resource)
    special = {"*": ".*", "?": "."}
    return re.compile(
        "".join(special.get(part) or re.escape(part[2] if part.startswith("${") else part) for part in parts if part),
        re.DOTALL,
    )
