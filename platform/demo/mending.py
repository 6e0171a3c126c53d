"""What people do about a file in quarantine: they fix the cause in lake.yaml, and redrive the file."""

from __future__ import annotations

import shutil
from pathlib import Path

from tidegate.platform.core.routing.route import table_holding
from tidegate.platform.demo import lake_file
from tidegate.platform.demo.operations import BUCKET, Operation
from tidegate.platform.lake.lake import Lake
from tidegate.platform.local.stack_file import make_home
from tidegate.platform.operations.redrive import Choice, RedriveRequest, quarantined_objects, redrive_objects


def lake_file_of(home: Path) -> Path:
    """Returns the copy of the demo's `lake.yaml` on this home, which fixes change. Creates the copy if it is missing.

    Raises:
        LocalStackError: the home cannot be created.
    """
    copy = home / "lake.yaml"
    if not copy.exists():
        make_home(home)
        shutil.copyfile(lake_file(), copy)
    return copy


def mend(lake: Lake, lake_yaml: Path, done: Operation) -> str:
    """Write the option of a fix into `lake_yaml`, and do what `tidegate redrive` does. Returns a sentence about it.

    Both steps may be repeated. A run reads lake.yaml when it starts, so no code location is reloaded.

    Raises:
        ValueError: `lake_yaml` has no line for the option.
    """
    option = activate(lake_yaml, done)
    spec = table_holding(BUCKET, done["key"], lake.config)
    assert spec is not None, done["key"]
    table, choice = spec.table_key.encode(), Choice(key=done["key"])
    if found := quarantined_objects(lake, table, choice):
        redrive_objects(lake, table, found, RedriveRequest("demo", choice))
    return f"`{option}` in lake.yaml, then what `tidegate redrive {spec.name} --yes` does"


def activate(lake_yaml: Path, done: Operation) -> str:
    """Activate the option of a fix in `lake_yaml`, where it is commented out. Returns the option.

    Raises:
        ValueError: the option is missing in `lake_yaml`.
    """
    option = f"csv: {{nulls: [{', '.join(done['nulls'])}]}}"
    text = lake_yaml.read_text(encoding="utf-8")
    if option not in text:
        raise ValueError(f"{lake_yaml} has no line `# {option}`: remove the file, and the demo writes it again")
    lake_yaml.write_text(text.replace(f"# {option}", option), encoding="utf-8")
    return option
