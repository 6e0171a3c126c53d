"""What the rows of a loaded table do when their object is overwritten or removed, and which tables cannot follow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from tidegate.platform.core.config.silver import SilverSpec

#: What happens to the rows of an object when other bytes are written under its key.
OnOverwrite = Literal["append", "replace"]
#: What happens to the rows of an object that is gone.
OnRemoved = Literal["keep", "delete"]

_FEEDS = {
    "debezium": "a change that leaves bronze would leave silver too, and the next change of its key builds on it",
    "dms": "a change that leaves bronze would leave silver too, and the next change of its key builds on it",
    "snapshots": "what an earlier dump had is known from its rows alone",
}


def rows_problem(
    option: str,
    *,
    registers: bool | None,
    has_rows: bool,
    completion: str | None,
    cluster_by: Sequence[str],
    silver: SilverSpec | None,
) -> str | None:
    """Return why a table cannot have `on_overwrite: replace` or `on_removed: delete`. None if it can.

    Args:
        option: one of these two, as it is in lake.yaml.
        registers: whether its files are registered. None if the ending of the first file decides.
        has_rows: whether its rows come in a row queue.
        completion: name of its completion signals.
        cluster_by: columns by which its rows are sorted into files.
        silver: its silver table.
    """
    if has_rows:
        return f"`{option}` is for files of a producer, and the files of a row queue are written once; remove it"
    if registers:
        return (
            f"`{option}` is for loaded tables: a registered table reads its files where they are, follows removals, "
            "and refuses files that were overwritten; use `mode: load`, or remove it"
        )
    if registers is None:
        return f"`{option}` needs `mode: load`: without it, Parquet files would be registered"
    if completion:
        return (
            f"`{option}` decides each file alone, and the files of a dataset enter together (`completion`); remove one "
            "of them"
        )
    if cluster_by:
        return (
            f"`{option}` writes again the data files that have rows of the object, and `cluster_by` spreads these rows "
            "over most data files; remove one of them"
        )
    why = _silver_problem(silver) if silver else None
    return why and f"`{option}` cannot be followed by silver: {why}; remove it, or write each file under a new key"


def _silver_problem(silver: SilverSpec) -> str | None:
    if silver.preset:
        return f"`from: {silver.preset}` reads a feed, in which {_FEEDS[silver.preset]}"
    if silver.is_history:
        return "`stored_as: scd2` keeps what was true at each time, and rows that leave bronze would change the past"
    if silver.apply_as_truncates:
        return "`apply_as_truncates` deletes older rows, and would give them back if its row left bronze"
    if silver.leaves_values:
        return "a row may leave a value as it is, and the value would be lost with the row that brought it"
    return None
