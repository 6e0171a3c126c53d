"""Who requests an operation, for the log of operations."""

from __future__ import annotations

import getpass

from botocore.exceptions import BotoCoreError, ClientError

from tidegate.platform.lake.aws.clients import Aws


def caller(aws: Aws) -> str:
    """Return the ARN that AWS gives the caller, and the name on this machine, which anybody can set.

    Without an answer of AWS, it is the name alone.
    """
    name = getpass.getuser()
    try:
        return f"{aws.caller()} ({name})"
    except (BotoCoreError, ClientError):
        return name
