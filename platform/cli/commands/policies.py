"""`tidegate policy` prints the IAM policy that a role needs."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tidegate.platform.cli.errors import CommandError
from tidegate.platform.cloud.roles.roles import ROLES, policy
from tidegate.platform.core.config.load import load_lake
from tidegate.platform.core.health.alarms import without_dead_letters

#: Characters, without blanks, that AWS accepts in a managed policy.
_MAX_CHARACTERS = 6144


def run_policy(role: str, lake: Path) -> None:
    """Print a role's policy, and on standard error what it leaves out.

    Args:
        role: the name of the role.
        lake: the lake.yaml; nothing else is read.

    Raises:
        CommandError: there is no such role, or the lake has no use for it.
        LakeConfigError: the lake.yaml is wrong.
    """
    if role not in ROLES:
        raise CommandError(f"{role!r} is not a role: give one of {', '.join(ROLES)}")
    config = load_lake(lake)
    statements = ROLES[role](config)
    if not statements:
        raise CommandError(f"the role {role} needs no permissions: {lake} has no `webhooks`")
    found = policy(statements)
    print(json.dumps(found, indent=2))
    if role in ("dagster", "operator"):
        for queue in without_dead_letters(config):
            print(f"the dead-letter queue of {queue} is left out: name it as `dlq` in {lake}", file=sys.stderr)
    if (size := len(json.dumps(found, separators=(",", ":")))) > _MAX_CHARACTERS:
        print(
            f"AWS accepts {_MAX_CHARACTERS:,} characters in a managed policy, this has {size:,}: split its statements",
            file=sys.stderr,
        )
