"""What a silver table records of its merges: the options of its rows, and the last batch before its first row.

A batch that replaces or removes rows of bronze makes a merge read all of bronze, because silver may have these rows.
Silver has none of them if bronze had that batch before silver's first row was read. So the later steps of a first
merge stay bounded where they meet such a batch.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tidegate.platform.core.config.silver import SilverSpec

#: The property of a silver table that has its options, as JSON.
OPTIONS = "tidegate.silver_options"
#: The property of a silver table that a rebuild by other options sets before its commit, and removes after it. Between
#: the two, rows may be by the options that are recorded, or by these.
REBUILDING = "tidegate.silver_rebuilding"
#: Options that no value of a row depends on.
NOT_OF_ROWS = frozenset({"schedule", "every", "automation", "on_removed", "tombstone_days", "export", "cluster_by"})
_OTHER_NAMES = {"delete_when": "apply_as_deletes"}

#: Begins the name of a property of a silver table. Its end is the number, and its value the application of the mark.
_PREFIX = "tidegate.silver_read_after."


@dataclass(frozen=True)
class ChangedOption:
    """An option that has another value in `lake.yaml` than the table records.

    Attributes:
        name: as in `lake.yaml`.
        entry: the entry that changed of an option that is a mapping, such as a column. Empty for other options.
        before: the value that the table records. None if the option was not given.
        now: the value in `lake.yaml`. None if the option is not given.
    """

    name: str
    entry: str
    before: Any
    now: Any

    def __str__(self) -> str:
        entry = f" for {self.entry}" if self.entry else ""
        values = f"from {_format_value(self.before)} to {_format_value(self.now)}"
        return f"`{self.name}` of `silver` in lake.yaml has changed{entry} {values}"

    def concerns(self, reference: str) -> bool:
        """Return whether it is the entry of a column that a reference names: a column, a field or an expression."""
        names = (self.before, self.now) if self.name == "rename" else (self.entry,)
        return any(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", reference, re.IGNORECASE) for name in names if name)


def recorded_options(silver: SilverSpec) -> str:
    """Return the options that values of rows depend on, as the property has them.

    Args:
        silver: the options as in `lake.yaml`.
    """
    given = silver.model_dump(mode="json", by_alias=True, exclude_defaults=True, exclude=set(NOT_OF_ROWS))
    named = {_OTHER_NAMES.get(name, name): value for name, value in given.items()}
    return json.dumps(named, sort_keys=True, ensure_ascii=False)


def changed_options(recorded: str | None, silver: SilverSpec) -> tuple[ChangedOption, ...]:
    """Return the options that have changed.

    Args:
        recorded: the property of the table. None if an older version made it: then no change is known.
        silver: the options as in `lake.yaml`.
    """
    return (
        () if recorded is None else tuple(_compare_options(json.loads(recorded), json.loads(recorded_options(silver))))
    )


def _compare_options(before: dict[str, Any], now: dict[str, Any]) -> Iterator[ChangedOption]:
    for name in sorted(before.keys() | now.keys()):
        old, new = before.get(name), now.get(name)
        if old == new:
            continue
        if isinstance(old or new, dict) and isinstance(old or {}, dict) and isinstance(new or {}, dict):
            old, new = old or {}, new or {}
            for entry in sorted(old.keys() | new.keys()):
                if old.get(entry) != new.get(entry):
                    yield ChangedOption(name, entry, old.get(entry), new.get(entry))
        else:
            yield ChangedOption(name, "", old, new)


def _format_value(value: Any) -> str:
    match value:
        case None:
            return "nothing"
        case bool():
            return str(value).lower()
        case list():
            return ", ".join(map(_format_value, value))
    return " ".join(str(value).split())


def first_reading(n: int, app_id: str) -> dict[str, str]:
    """Return the property that records that rows are read after batch `n` was in the ledger.

    Args:
        n: the batch.
        app_id: application id of silver's transactions. Numbers of another one are of other batches.
    """
    return {f"{_PREFIX}{n}": app_id}


def read_after(properties: Mapping[str, str], app_id: str) -> int | None:
    """Return the batch that bronze had before any row of silver was read. None if silver does not record it.

    Args:
        properties: of the silver table.
        app_id: as for `first_reading`.
    """
    numbers = (
        name.removeprefix(_PREFIX) for name, of in properties.items() if name.startswith(_PREFIX) and of == app_id
    )
    return min((int(number) for number in numbers), default=None)
