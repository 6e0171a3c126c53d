"""Writes the derived parts of docs/operate/aws.md, for the lake that the page shows.

`python -m tidegate.platform.cloud.policy_page docs/operate/aws.md` writes them again.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import yaml

from tidegate.platform.cloud.arns import Address
from tidegate.platform.cloud.commit_table import CommitTable
from tidegate.platform.cloud.requirements import MAX_RECEIVES, QUEUE_ATTRIBUTES, RECEIVE_COUNT, REDRIVE, WantedResources
from tidegate.platform.cloud.roles.roles import ROLES, policy
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.errors import BadSetting

#: A block, after the comment that names its content.
_BLOCK = re.compile(r"(?P<head><!-- printed: (?P<what>[\w-]+) -->\n)(?P<body>.*?)(?P<foot><!-- end -->)", re.DOTALL)
_LAKE = re.compile(r"^```yaml\n(lake:.*?)^```", re.MULTILINE | re.DOTALL)
_WIDTH = 118


def renew_page(page: str) -> str:
    """Return the page with its derived parts written again.

    Raises:
        BadSetting: the page shows no lake, or has a part that is not derived here.
    """
    shown = _LAKE.search(page)
    if shown is None:
        raise BadSetting("the page shows no lake.yaml: its first yaml block that begins with `lake:`")
    config = LakeConfig.model_validate(yaml.safe_load(shown[1]))

    def block(found: re.Match[str]) -> str:
        return f"{found['head']}{_part(config, found['what'])}{found['foot']}"

    return _BLOCK.sub(block, page)


def _part(config: LakeConfig, what: str) -> str:
    wanted, address = WantedResources.from_config(config), Address.from_config(config)
    arn = address.queue(config.queues[0])
    match what:
        case "queue-attributes":
            return _queue_attributes()
        case "queue-policy":
            return _json(wanted.queue_policy(arn))
        case "notification":
            return _json({"QueueConfigurations": [wanted.notification(arn)]})
        case "commit-table":
            return _json(CommitTable().definition())
        case "commit-table-expiry":
            return _json(CommitTable().time_to_live())
    role, _, kind = what.partition("-")
    if role not in ROLES or kind not in ("policy", "reasons"):
        raise BadSetting(f"nothing prints {what!r}")
    statements = ROLES[role](config)
    if kind == "policy":
        return _json(policy(statements))
    return "| statement | why |\n|---|---|\n" + "".join(
        f"| `{statement.sid}` | {statement.why} |\n" for statement in statements
    )


def _queue_attributes() -> str:
    rows = [f"| `{attribute.name}` | {attribute.shown} | {attribute.why} |\n" for attribute in QUEUE_ATTRIBUTES]
    dead_letters = "a message that cannot be taken in moves to the dead-letter queue and blocks nothing"
    rows.append(f"| `{REDRIVE}` | dead-letter queue, `{RECEIVE_COUNT}` {MAX_RECEIVES} | {dead_letters} |\n")
    return "| attribute | value | why |\n|---|---|---|\n" + "".join(rows)


def _json(value: Any) -> str:
    return f"```json\n{_text(value)}\n```\n"


def _text(value: Any, indent: int = 0, before: int = 0) -> str:
    """Format JSON for people: a value is on one line if it fits, except statements and notifications."""
    line = json.dumps(value)
    whole = indent + before + len(line) + 1 <= _WIDTH and '"Effect"' not in line and '"QueueArn"' not in line
    if whole or not isinstance(value, dict | list):
        return line
    deeper = " " * (indent + 2)
    if isinstance(value, dict):
        inner = [f"{deeper}{json.dumps(k)}: {_text(v, indent + 2, len(json.dumps(k)) + 2)}" for k, v in value.items()]
        brackets = "{}"
    else:
        inner, brackets = [f"{deeper}{_text(item, indent + 2)}" for item in value], "[]"
    return f"{brackets[0]}\n" + ",\n".join(inner) + f"\n{' ' * indent}{brackets[1]}"


if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.write_text(renew_page(target.read_text(encoding="utf-8")), encoding="utf-8")
