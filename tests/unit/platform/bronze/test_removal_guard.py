"""The guard of removals: which waiting hints count, and which are not even read."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tidegate.platform.bronze.removal_guard import guard_removals
from tidegate.platform.core.bronze.hint import Event, Hint
from tidegate.platform.core.errors import DataError
from tidegate.platform.lake.ledger import Clock

_ULID = "01HXYZ0009000000000000000A"
EVENTS, LISTED, REBUILD = f"{_ULID}-30-0-0", f"listed-{_ULID}-1000-0-0", f"rebuild-{_ULID}-1000-0-0"


def guard(gone: int, waiting: list[str], of_list: int, *, registered: bool = True) -> list[str]:
    """Call the guard of a table of 100 files. Return the ids that were read: an event's manifest has 30 removals."""
    read: list[str] = []

    def manifests(ids: list[str]) -> Any:
        read.extend(ids)
        return [SimpleNamespace(hints=[Hint("k", Event("m#0", "ObjectRemoved:Delete"))] * 30) for _ in ids]

    inbox: Any = SimpleNamespace(read=manifests)
    table: Any = SimpleNamespace(
        inbox=inbox,
        delta=SimpleNamespace(table_state=lambda _: SimpleNamespace(files=100 if registered else 1)),
        ledger=SimpleNamespace(count_keys_with_rows=lambda version: 100 + version),
    )
    birth: Any = SimpleNamespace(registered=registered, location="s3a://b/t", name="t")
    guard_removals(table, Clock(0, 1), birth, gone, waiting, of_list=of_list)
    return read


@pytest.mark.parametrize(
    ("gone", "waiting", "of_list", "passes"),
    [
        (20, [EVENTS, LISTED, REBUILD], 0, True),
        (21, [EVENTS, LISTED, REBUILD], 0, False),
        (21, [LISTED, REBUILD], 9, True),
        (21, [LISTED, REBUILD], 10, False),
        (21, [REBUILD], 21, True),
    ],
)
@pytest.mark.parametrize("registered", [True, False], ids=["registered", "loaded"])
def test_what_waits_behind_a_batch_counts_as_it_may_remove_files(
    gone: int, waiting: list[str], of_list: int, passes: bool, registered: bool
) -> None:
    """The rest of a list may be gone as well. A rebuild removes nothing. Neither is read: both may be very large."""
    if passes:
        assert guard(gone, waiting, of_list, registered=registered) == [each for each in waiting if each == EVENTS]
    else:
        with pytest.raises(DataError, match="are gone from S3"):
            guard(gone, waiting, of_list, registered=registered)
