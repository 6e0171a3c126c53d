"""The base of what commands print with `--json`."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict
from rich.console import Console

from tidegate.platform.core.wording import visible_json


class Answer(BaseModel):
    """A part of an answer. A later version may add fields, and removes none."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


def print_answer(console: Console, answer: BaseModel, *, lines: bool = False) -> None:
    """Print an answer as JSON. Nothing else of a command with `--json` prints on standard output.

    Args:
        answer: of the class that the schema names for the command.
        lines: whether the command prints one answer on each line.
    """
    # `console.print` would break lines at the width of a terminal.
    console.out(visible_json(answer.model_dump_json(indent=None if lines else 2)), highlight=False)
