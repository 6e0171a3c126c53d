"""`tidegate webhook` takes webhooks into row queues."""

from __future__ import annotations

import os
from pathlib import Path

from rich.console import Console

from tidegate.platform.cli.environment import client
from tidegate.platform.cli.errors import CommandError
from tidegate.platform.core.errors import BadSetting
from tidegate.platform.webhook.server import WebhookServer


def run_webhook(console: Console, lake: Path | None, home: Path | None, host: str, ports: tuple[int, int]) -> None:
    """Run the server until a signal.

    Args:
        console: takes the lines of the log.
        lake: the lake.yaml; None takes that of the local platform, else TIDEGATE_LAKE, else `lake.yaml`.
        home: home of a running local platform.
        host: address to listen on.
        ports: the port for the senders, and the one for the operators; 0 for a free one.

    Raises:
        CommandError: there are no webhooks, a secret is missing, or the address cannot be used.
        LakeConfigError: the lake.yaml is wrong.
    """
    using = client(home, lake)
    config = using.settings.config()
    if not config.webhooks:
        raise CommandError(
            f"{using.settings.lake_yaml} has no `webhooks`: docs/reference/lake-yaml.md says what to write there"
        )

    def say(line: str) -> None:
        # Not through markup: a line of the log is JSON, with brackets. Without a flush, a pipe would hold lines back.
        print(line, file=console.file, flush=True)

    try:
        WebhookServer(config, using.settings.aws, os.environ, say).run(host, *ports)
    except BadSetting as error:
        raise CommandError(str(error)) from None
    except OSError as error:
        raise CommandError(
            f"cannot listen on {host}, ports {ports}: {error.strerror}; choose --host, --port or --operations-port"
        ) from None
