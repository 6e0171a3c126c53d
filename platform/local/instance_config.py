"""The `dagster.yaml` that Tidegate is tested with, and what may be added to that of others. They are in the package."""

from __future__ import annotations

import re
from pathlib import Path

_FOLDER = Path(__file__).resolve().parents[1]


def instance_config(*, fork: bool = False, postgres: bool = False) -> str:
    """Return the `dagster.yaml` of an instance of Tidegate's own.

    Args:
        fork: whether it has Tidegate's launcher and queue in place of Dagster's own.
        postgres: whether it keeps runs, events and ticks in PostgreSQL, in place of files.
    """
    first, sections = _sections(_read("dagster.yaml"))
    for name, wanted in (("dagster-fork.yaml", fork), ("dagster-postgres.yaml", postgres)):
        if wanted:
            sections |= _sections(_read(name))[1]
    return first + "\n".join(sections.values())


def guest_config() -> str:
    """Return what an instance that others use too may have of it."""
    return _read("dagster-guest.yaml")


def _sections(text: str) -> tuple[str, dict[str, str]]:
    """Return what is above the sections of a file, and the sections by name."""
    first, *sections = re.split(r"^(?=\w+:$)", text, flags=re.MULTILINE)
    return first, {section.partition(":")[0]: section.rstrip("\n") + "\n" for section in sections}


def _read(name: str) -> str:
    return (_FOLDER / name).read_text(encoding="utf-8")
