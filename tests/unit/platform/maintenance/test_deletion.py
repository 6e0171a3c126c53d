"""Numbers and bytes of what was deleted."""

from __future__ import annotations

from tidegate.platform.maintenance.deletion import NOTHING, FreedObjects


def test_freed_objects_are_added_and_shown_with_their_bytes() -> None:
    assert NOTHING + FreedObjects(2, 10) + FreedObjects(1, 5) == FreedObjects(3, 15)
    assert str(FreedObjects(3, 15)) == "3 files (15 bytes)"
