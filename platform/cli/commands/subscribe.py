"""`tidegate subscribe` prints what another team needs to get the events of a route."""

from __future__ import annotations

import sys
from pathlib import Path

from tidegate.platform.cli.errors import CommandError
from tidegate.platform.cloud.subscription import ACCOUNT, REGION, subscription
from tidegate.platform.core.config.load import load_lake


def run_subscribe(name: str, account: str, queue: str, types: str, lake: Path) -> None:
    """Print statements for policies and calls of the AWS command line, each after a comment that says what it is for.

    Args:
        name: the route.
        account: the team's AWS account.
        queue: name of the team's queue; empty for a name that is made of the route's destination.
        types: event types, separated by commas; empty for those of the route.
        lake: the lake.yaml; nothing else is read.

    Raises:
        CommandError: there is no such route, or it cannot give this.
        LakeConfigError: the lake.yaml is wrong.
    """
    config = load_lake(lake)
    route = config.route(name)
    if route is None:
        known = ", ".join(route.name for route in config.routes) or "none"
        raise CommandError(f"{lake} has no route {name!r}; its routes: {known}")
    try:
        parts = subscription(config, route, account, queue, [name.strip() for name in types.split(",") if name.strip()])
    except ValueError as error:
        raise CommandError(str(error)) from None
    print("\n\n".join(f"# {part.title}\n{part.text}" for part in parts))
    for unknown in (REGION, ACCOUNT):
        if any(unknown in part.text for part in parts):
            print(f"replace {unknown}: the URLs of the queues in {lake} do not contain it", file=sys.stderr)
