"""Numbers and bytes of what was deleted."""

from __future__ import annotations

from tidegate.platform.core.maintenance.freed import NOTHING, Freed


def test_freed_objects_are_added_and_shown_with_their_bytes() -> None:
    assert NOTHING + Freed(2, 10) + Freed(1, 5) == Freed(3, 15)
    assert str(Freed(3, 15)) == "3 files (15 bytes)"
