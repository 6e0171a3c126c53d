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
    """What a role may do, and why it has to.

    Attributes:
        sid: its name, unique within a role: letters and digits.
        actions: for example ``s3:GetObject``.
        resources: ARNs, in which ``*`` and ``?`` are wildcards.
        why: the calls that need it, in a sentence.
        condition: as IAM writes it; empty for none.
    """

    sid: str
    actions: tuple[str, ...]
    resources: tuple[str, ...]
    why: str
    condition: Mapping[str, Mapping[str, str]] = field(default_factory=dict, hash=False)

    def allows(self, action: str, resource: str, context: Mapping[str, str] | None = None) -> bool:
        """Whether an action on a resource is allowed by it.

        Args:
            action: IAM's name.
            resource: ARN, without wildcards.
            context: what the request says of the keys of conditions; None where the conditions are taken to hold.
        """
        asked = ((key, value) for test in self.condition.values() for key, value in test.items())
        return (
            action in self.actions
            and any(_pattern(one).fullmatch(resource) for one in self.resources)
            and (context is None or all(context.get(key) == value for key, value in asked))
        )

    def as_json(self) -> dict[str, Any]:
        """The statement as IAM reads it."""
        return {
            "Sid": self.sid,
            "Effect": "Allow",
            "Action": list(self.actions),
            "Resource": list(self.resources) if len(self.resources) > 1 else self.resources[0],
            **({"Condition": self.condition} if self.condition else {}),
        }


def literal(text: str) -> str:
    """A text as a part of a resource's ARN that stands for itself: S3's keys may hold IAM's wildcards."""
    return _WILDCARDS.sub(lambda found: f"${{{found[0]}}}", text)


@lru_cache(1000)
def _pattern(resource: str) -> re.Pattern[str]:
    parts = re.split(r"(\$\{[*?$]\}|[*?])", resource)
    special = {"*": ".*", "?": "."}
    return re.compile(
        "".join(special.get(part) or re.escape(part[2] if part.startswith("${") else part) for part in parts if part),
        re.DOTALL,
    )
