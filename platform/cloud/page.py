"""The parts of docs/operate/aws.md that are derived, for the lake that the page shows.

`python -m tidegate.platform.cloud.page docs/operate/aws.md` renews them.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import yaml

from tidegate.platform.cloud.address import Address
from tidegate.platform.cloud.notifications import notification, queue_policy
from tidegate.platform.cloud.roles import ROLES, policy
from tidegate.platform.core.config.lake import LakeConfig

#: A block, below the comment that says what it holds.
_BLOCK = re.compile(r"(?P<head><!-- printed: (?P<what>[\w-]+) -->\n)(?P<body>.*?)(?P<foot><!-- end -->)", re.DOTALL)
_LAKE = re.compile(r"^```yaml\n(lake:.*?)^```", re.MULTILINE | re.DOTALL)
_WIDTH = 118


def renewed(page: str) -> str:
    """The page with its derived parts as they have to be.

    Raises:
        ValueError: it shows no lake, or has a part that nobody makes.
    """
    shown = _LAKE.search(page)
    if shown is None:
        raise ValueError("the page shows no lake.yaml: its first yaml block that begins with `lake:`")
    config = LakeConfig.model_validate(yaml.safe_load(shown[1]))

    def block(found: re.Match[str]) -> str:
        return f"{found['head']}{_part(config, found['what'])}{found['foot']}"

    return _BLOCK.sub(block, page)


def _part(config: LakeConfig, what: str) -> str:
    queue = config.queues[0]
    arn = Address.of(config).queue(queue)
    if what == "queue-policy":
        return _json(queue_policy(arn, config.buckets, Address.of(config).account))
    if what == "notification":
        return _json({"QueueConfigurations": [notification(arn)]})
    role, _, kind = what.partition("-")
    if role not in ROLES or kind not in ("policy", "reasons"):
        raise ValueError(f"nothing prints {what!r}")
    statements = ROLES[role](config)
    if kind == "policy":
        return _json(policy(statements))
    return "| statement | why |\n|---|---|\n" + "".join(f"| `{one.sid}` | {one.why} |\n" for one in statements)


def _json(value: Any) -> str:
    return f"```json\n{_text(value)}\n```\n"


def _text(value: Any, indent: int = 0, before: int = 0) -> str:
    """JSON that people read: what fits into a line is in a line, but for the statements."""
    line = json.dumps(value)
    whole = indent + before + len(line) + 1 <= _WIDTH and '"Effect"' not in line and '"QueueArn"' not in line
    if whole or not isinstance(value, dict | list):
        return line
    deeper = " " * (indent + 2)
    if isinstance(value, dict):
        inner = [f"{deeper}{json.dumps(k)}: {_text(v, indent + 2, len(json.dumps(k)) + 2)}" for k, v in value.items()]
        brackets = "{}"
    else:
        inner, brackets = [f"{deeper}{_text(one, indent + 2)}" for one in value], "[]"
    return f"{brackets[0]}\n" + ",\n".join(inner) + f"\n{' ' * indent}{brackets[1]}"


if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.write_text(renewed(target.read_text(encoding="utf-8")), encoding="utf-8")
