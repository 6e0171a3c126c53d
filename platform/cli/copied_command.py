"""A query as a command to copy into a shell."""

from __future__ import annotations

import re


def copied_command(query: str) -> str:
    """Returns the command that runs a query.

    A shell would run the names between backticks as commands, and take `$` for the name of a variable.
    """
    escaped = re.sub(r'([\\"$`])', r"\\\1", query)
    return f'tidegate sql "{escaped}"'
