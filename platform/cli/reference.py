"""Prints the page of all commands from their own code.

`python -m tidegate.platform.cli.reference > docs/reference/cli.md` writes it again.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import typer.main

from tidegate.platform.cli.main import app

_HEAD = """\
# Commands

`make commands` writes this page; do not edit it. `tidegate <command> --help` shows the same texts. `tidegate --version`
prints the versions of everything that works together on this machine.

An option without a default takes no value. `--no-…` next to an option turns it off.
"""


def reference_text() -> str:
    """Return the text of `docs/reference/cli.md`."""
    # Typer has its own copy of Click's classes, so their names are not checked here.
    commands: dict[str, Any] = dict(named_commands(typer.main.get_command(app)))
    overview = [
        f"| [`tidegate {name}`](#tidegate-{name.replace(' ', '-')}) | {_cell(command.help)} |"
        for name, command in commands.items()
    ]
    parts = [_HEAD, "| command | what it does |\n|---|---|\n" + "\n".join(overview) + "\n"]
    return "\n".join([*parts, *(_section(name, command) for name, command in commands.items())])


def named_commands(group: Any, before: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the commands of a group by their names, each followed by its own parts, such as `demo events`."""
    for name in group.list_commands(None):
        command = group.commands[name]
        yield f"{before}{name}", command
        if hasattr(command, "commands"):
            yield from named_commands(command, f"{before}{name} ")


def _section(name: str, command: Any) -> str:
    arguments = [parameter for parameter in command.params if parameter.param_type_name == "argument"]
    options = [parameter for parameter in command.params if parameter.param_type_name == "option"]
    shown = [f"<{argument.name}>" if argument.required else f"[<{argument.name}>]" for argument in arguments]
    usage = " ".join(["tidegate", name, *shown, *(["[options]"] if options else [])])
    rows = [
        f"| `<{argument.name}>` | {'required' if argument.required else 'none'} | {_cell(argument.help)} |"
        for argument in arguments
    ]
    rows += [f"| {_format_option(option)} | {_default(option)} | {_cell(option.help)} |" for option in options]
    table = "\n| argument, option | default | meaning |\n|---|---|---|\n" + "\n".join(rows) + "\n" if rows else ""
    return f"## `tidegate {name}`\n\n{_escape_tags(command.help)}\n\n    {usage}\n{table}"


def _format_option(option: Any) -> str:
    return ", ".join(f"`{text}`" for text in [*option.opts, *option.secondary_opts])


def _default(option: Any) -> str:
    if option.is_flag:
        return "on" if option.default else "off"
    # One of several values is a member of an enumeration.
    return "none" if option.default in (None, "") else f"`{getattr(option.default, 'value', option.default)}`"


def _cell(text: str | None) -> str:
    return _escape_tags(text or "").replace("\n", " ").replace("|", "\\|")


def _escape_tags(text: str) -> str:
    """Return the text with `<table>` escaped, so that it is not read as HTML."""
    return text.replace("<", "\\<")


if __name__ == "__main__":
    print(reference_text(), end="")
