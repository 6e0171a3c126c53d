"""`tidegate alarms` prints the alarms of a lake as a CloudFormation template."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tidegate.platform.cli.errors import CommandError
from tidegate.platform.core.config.load import load_lake
from tidegate.platform.core.health.alarms import template, without_dead_letters


def run_alarms(lake: Path) -> None:
    """Print the template, and on standard error what it leaves out.

    Args:
        lake: the lake.yaml; nothing else is read.

    Raises:
        CommandError: the lake publishes no metrics, so every alarm would stay without data.
        LakeConfigError: the lake.yaml is wrong.
    """
    config = load_lake(lake)
    if config.metrics is None:
        raise CommandError(f"{lake} publishes no metrics that an alarm could watch: add `metrics: cloudwatch`")
    print(json.dumps(template(config), indent=2))
    for queue in without_dead_letters(config):
        print(
            f"queue {queue} gets no alarm on dead letters: name its dead-letter queue as `dlq` in {lake}",
            file=sys.stderr,
        )
