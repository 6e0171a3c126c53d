"""One statement of an IAM policy."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

_WILDCARDS = re.compile(r"[*?$]")


@dataclass(frozen=True)
class Statement:
    """A permission of a role, and why the role needs it.

    Attributes:
        sid: its name, of letters and digits, unique within a role.
        actions: for example `s3:GetObject`.
        resources: ARNs, in which `*` and `?` are wildcards.
        why: the calls that need it, as a sentence.
        condition: the condition in IAM's form. Empty: none.
    """

    sid: str
    actions: tuple[str, ...]
    resources: tuple[str, ...]
    why: str
    condition: Mapping[str, Mapping[str, str]] = field(default_factory=dict, hash=False)

    def allows(self, action: str, resource: str, context: Mapping[str, str] | None = None) -> bool:
        """Return whether the statement allows an action on a resource.

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

    def as_json(self) -> dict[str, Any]:
        """Return the statement in IAM's form."""
        return {
            "Sid": self.sid,
            "Effect": "Allow",
            "Action": list(self.actions),
            "Resource": list(self.resources) if len(self.resources) > 1 else self.resources[0],
            **({"Condition": self.condition} if self.condition else {}),
        }


Statements = tuple[Statement, ...]


def without_empty(*statements: Statement) -> Statements:
    """Return the statements that have resources."""
    return tuple(statement for statement in statements if statement.resources)


def _holds(test: str, found: str | None, wanted: str) -> bool:
    """Return whether a condition holds: `Null`, or a comparison of texts."""
    return (found is None) is (wanted == "true") if test == "Null" else found == wanted


def literal(text: str) -> str:
    """Escape IAM's wildcards in a text for use in an ARN, because S3 keys may contain them."""
    return _WILDCARDS.sub(lambda found: f"${{{found[0]}}}", text)


@lru_cache(1000)
def _pattern(resource: str) -> re.Pattern[str]:
    parts = re.split(r"(\$\{[*?$]\}|[*?])", resource)
    special = {"*": ".*", "?": "."}
    return re.compile(
        "".join(special.get(part) or re.escape(part[2] if part.startswith("${") else part) for part in parts if part),
        re.DOTALL,
    )
