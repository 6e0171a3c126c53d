"""What `tidegate check` and `tidegate doctor` print with `--json`."""

from __future__ import annotations

from typing import Literal

from pydantic import RootModel

from tidegate.platform.cli.answers.answer import Answer


class FindingAnswer(Answer):
    """The result of one check."""

    id: str
    """The check. It stays the same between versions."""
    subject: str
    """What was checked: the name of a queue, a bucket or a table, the lake root, the Spark server, …"""
    title: str
    """The check and its subject, in words."""
    outcome: Literal["ok", "warning", "failed"]
    """Result of the check."""
    detail: str
    """What was found, or what to do. May be empty."""


class FindingsAnswer(RootModel[tuple[FindingAnswer, ...]]):
    """The results of all checks."""
