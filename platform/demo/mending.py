"""What people do about a file in quarantine: they mend its cause in lake.yaml, and redrive it."""

from __future__ import annotations

import shutil
from pathlib import Path

from tidegate.assets.operations.redrive import Choice, quarantined_objects, redrive_objects
from tidegate.platform.demo import lake_file
from tidegate.platform.demo.operations import BUCKET, Operation
from tidegate.platform.local.stack_file import make_home
from tidegate.resources.lake import Lake


def lake_file_of(home: Path) -> Path:
    """The demo's `lake.yaml` on this home, which mends change: a copy, made where there is none.

    Raises:
        LocalStackError: the home cannot be made.
    """
    copy = home / "lake.yaml"
    if not copy.exists():
        make_home(home)
        shutil.copyfile(lake_file(), copy)
    return copy


def mend(lake: Lake, lake_yaml: Path, done: Operation) -> str:
    """Say in `lake_yaml` what a mend says, and do what `tidegate redrive` does; what was done, in a sentence.

    Both may be repeated. A run reads lake.yaml when it begins, so nothing has to be loaded again.

    Raises:
        ValueError: `lake_yaml` has no place for it.
    """
    option = say(lake_yaml, done)
    spec = lake.config.table_holding(BUCKET, done["key"])
    assert spec is not None, done["key"]
    table, choice = spec.table_key.encode(), Choice(key=done["key"])
    if found := quarantined_objects(lake, table, choice):
        redrive_objects(lake, table, found, choice, by="demo")
    return f"`{option}` in lake.yaml, then what `tidegate redrive {spec.name} --yes` does"


def say(lake_yaml: Path, done: Operation) -> str:
    """Write a mend's option into `lake_yaml`, where it is commented out; the option.

    Raises:
        ValueError: it is not there.
    """
    option = f"csv: {{nulls: [{', '.join(done['nulls'])}]}}"
    text = lake_yaml.read_text(encoding="utf-8")
    if option not in text:
        raise ValueError(f"{lake_yaml} has no line `# {option}`: remove the file, and the demo writes it anew")
    lake_yaml.write_text(text.replace(f"# {option}", option), encoding="utf-8")
    return option
