"""`tidegate migrate oxbow` reads the Terraform of an oxbow deployment and plans the lake that takes its place.

It reads files alone: no AWS, and no lake. Without --output the whole output is a `lake.yaml`, with the plan as
comments.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Console

from tidegate.platform.cli.answers.answer import Answer, print_answer
from tidegate.platform.cli.errors import CommandError
from tidegate.platform.core.config.fields import Root, convert_value
from tidegate.platform.core.migrate.oxbow import read_deployment
from tidegate.platform.core.migrate.plan import Migration, plan_migration, read_tables
from tidegate.platform.core.migrate.switch import Step, switch_steps
from tidegate.platform.core.migrate.terraform import read_terraform
from tidegate.platform.core.wording import one_line

#: The files of a project's folder that Terraform itself reads.
_OF_A_PROJECT = ("*.tf", "terraform.tfvars", "terraform.tfvars.json", "*.auto.tfvars", "*.auto.tfvars.json")


def run_migrate_oxbow(
    console: Console,
    paths: Sequence[Path],
    tables: Path | None,
    root: str | None,
    output: Path | None,
    *,
    as_json: bool = False,
) -> bool:
    """Print the plan.

    Args:
        paths: files and folders of Terraform.
        tables: a list of the Delta tables that oxbow made; `-` is standard input. None: what the prefixes say.
        root: the lake's root; None proposes one.
        output: a new file for lake.yaml.
        as_json: print only one JSON object.

    Returns:
        Whether no problem was found.

    Raises:
        CommandError: a file cannot be read or written, or `root` is not one.
        BadValue: a file is not Terraform, or has nothing of oxbow.
        BadSetting: the files need a package that is not installed.
    """
    if root is not None and convert_value(Root, root) is None:
        raise CommandError(f"--root {root} is not s3://bucket/path")
    resources = read_terraform({str(path): _read(path) for each in paths for path in _files(each)})
    listed = [] if tables is None else read_tables(_read(tables), str(tables))
    migration = plan_migration(read_deployment(resources), listed, root)
    steps = switch_steps(migration)
    text = migration.lake_yaml()
    if output is not None:
        try:
            with output.open("x", encoding="utf-8") as file:
                file.write(text)
        except OSError as error:
            raise CommandError(f"{output} cannot be written: {error.strerror}; name a file that is not there") from None
    if as_json:
        print_answer(console, _answer(migration, steps))
    else:
        mark = "# " if output is None else ""
        lines = [] if output else text.splitlines()
        for line in [*lines, *(f"{mark}{one_line(line)}".rstrip() for line in plan_lines(migration, steps))]:
            console.print(line, highlight=False, soft_wrap=True, markup=False)
    return not migration.problems


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    found = sorted({file for pattern in _OF_A_PROJECT for file in path.glob(pattern)})
    if not found:
        raise CommandError(f"{path} has no Terraform file (.tf); name a state by its file")
    return found


def _read(path: Path) -> str:
    try:
        return sys.stdin.read() if str(path) == "-" else path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"{path} cannot be read: {getattr(error, 'strerror', None) or 'it is not text'}") from None


def plan_lines(migration: Migration, steps: Sequence[Step]) -> Iterator[str]:
    """Yield the plan, a line each."""
    yield ""
    yield f"functions: {len(migration.deployment.functions)}; tables: {len(migration.tables)}; " + (
        f"problems: {len(migration.problems)}" if migration.problems else "nothing is open"
    )
    if migration.problems:
        yield ""
        yield "To settle first:"
        yield from (f"  - {problem}" for problem in migration.problems)
    yield ""
    yield "What becomes of what is there:"
    for change in migration.changes:
        yield f"  {change.where}: {change.address}, {change.now}:"
        yield f"    {change.becomes}"
    yield ""
    yield "The order, in which no file is lost and none comes twice:"
    for number, step in enumerate(steps, 1):
        yield f"  {number}. {step.what}"
        yield f"     Because {step.why}"
        yield from (f"       $ {line}" for text in step.commands for line in text.splitlines())


def _answer(migration: Migration, steps: Sequence[Step]) -> MigrationAnswer:
    return MigrationAnswer(
        lake_yaml=migration.lake_yaml(),
        problems=tuple(migration.problems),
        changes=tuple(
            ChangedPart(address=each.address, where=each.where, now=each.now, becomes=each.becomes)
            for each in migration.changes
        ),
        steps=tuple(SwitchStep(what=each.what, why=each.why, commands=each.commands) for each in steps),
    )


class ChangedPart(Answer):
    """A resource of Terraform, and what becomes of it."""

    address: str
    """Its address in Terraform."""
    where: str
    """The file that has it. A file of HCL has its line, too."""
    now: str
    """What it is."""
    becomes: str
    """Its counterpart, why none is needed, or that there is none."""


class SwitchStep(Answer):
    """A step of the switch."""

    what: str
    """What to do."""
    why: str
    """Why it is at this place of the order."""
    commands: tuple[str, ...]
    """What a shell runs."""


class MigrationAnswer(Answer):
    """How a lake takes the place of another tool. With a problem, the command fails."""

    lake_yaml: str
    """Text of the `lake.yaml`."""
    problems: tuple[str, ...]
    """A sentence for each problem, with what to do."""
    changes: tuple[ChangedPart, ...]
    """What becomes of each resource."""
    steps: tuple[SwitchStep, ...]
    """The steps, in their order."""
