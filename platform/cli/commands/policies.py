"""`tidegate policy` prints the IAM policy that a role needs, and the policies of source buckets."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from tidegate.platform.cli.errors import CommandError
from tidegate.platform.cloud.arns import Address
from tidegate.platform.cloud.log_policy import log_policies
from tidegate.platform.cloud.roles.roles import ROLES, policy
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.config.load import load_lake
from tidegate.platform.core.health.alarms import without_dead_letters

#: Characters, without blanks, that AWS accepts in a managed policy.
_MAX_CHARACTERS = 6144


#: In place of a role: the policies of buckets.
BUCKETS = "buckets"


def run_policy(role: str, lake: Path, writers: Sequence[str] = ()) -> None:
    """Print a role's policy, and on standard error what it leaves out. Or print the policies of source buckets.

    Args:
        role: the name of the role, or `buckets`.
        lake: the lake.yaml; nothing else is read.
        writers: ARNs of the roles that may write logs of registered tables, for `buckets`.

    Raises:
        CommandError: there is no such role, the lake has no use for it, or the ARNs are missing or not needed.
        LakeConfigError: the lake.yaml is wrong.
    """
    if role not in (*ROLES, BUCKETS):
        raise CommandError(f"{role!r} is not a role: give one of {', '.join((*ROLES, BUCKETS))}")
    if (role == BUCKETS) is not bool(writers):
        raise CommandError(
            f"`policy {BUCKETS}` needs the roles that may write logs: give --writer for each, and only then"
        )
    config = load_lake(lake)
    if role == BUCKETS:
        _buckets(config, lake, writers)
        return
    statements = ROLES[role](config)
    if not statements:
        why = f"{lake} has no `webhooks`" if role == "webhook" else "for this lake, those of `dagster` are enough"
        raise CommandError(f"the role {role} needs no permissions: {why}")
    found = policy(statements)
    print(json.dumps(found, indent=2))
    if role in ("dagster", "operator"):
        for queue in without_dead_letters(config):
            print(f"the dead-letter queue of {queue} is left out: name it as `dlq` in {lake}", file=sys.stderr)
    address = Address.from_config(config)
    if "*" in (address.region, address.account):
        print(
            f"region and account are `*`, because no queue of {lake} has a `url`: give the URL of one of them",
            file=sys.stderr,
        )
    if (size := len(json.dumps(found, separators=(",", ":")))) > _MAX_CHARACTERS:
        print(
            f"AWS accepts {_MAX_CHARACTERS:,} characters in a managed policy, this has {size:,}: split its statements",
            file=sys.stderr,
        )


def _buckets(config: LakeConfig, lake: Path, writers: Sequence[str]) -> None:
    policies = log_policies(config, writers)
    if not policies:
        raise CommandError(f"no bucket needs a policy: no table of {lake} is registered")
    print(json.dumps(policies, indent=2))
