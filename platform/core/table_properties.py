"""The properties that Tidegate gives its Delta tables. One that this version does not know, a newer version wrote."""

from __future__ import annotations

from collections.abc import Iterable

from tidegate.platform.core.stored_members import NEWER, NewerVersionError

_OWN = "tidegate."
#: Whole names. Those of silver's `_key` and `_order` are made of the names of these columns.
KNOWN = frozenset(
    {
        "tidegate.acknowledged_version",
        "tidegate.columns",
        "tidegate.forgotten",
        "tidegate.generation",
        "tidegate.lake",
        "tidegate.silver_key",
        "tidegate.silver_options",
        "tidegate.silver_order",
        "tidegate.silver_rebuilding",
        "tidegate.silver_stored_as",
        "tidegate.silver_track_history",
        "tidegate.silver_truncated",
        "tidegate.silver_truncated_before",
        "tidegate.silver_truncated_before_of",
        "tidegate.silver_truncates",
        "tidegate.silver_truncates_before",
        "tidegate.table",
    }
)
#: Beginnings of names, whose ends are data.
KNOWN_BEGINNINGS = ("tidegate.forgotten_by.", "tidegate.silver_read_after.", "tidegate.silver_subject.")


def require_known_properties(properties: Iterable[str], table: str) -> None:
    """Refuse a table with a property of Tidegate that this version does not know: it means something for its rows.

    Args:
        properties: names of the properties of the table. Those of Delta and of others do not matter.
        table: its SQL name.

    Raises:
        NewerVersionError: it has such a property.
    """
    own = (name for name in properties if name.startswith(_OWN) and not name.startswith(KNOWN_BEGINNINGS))
    if unknown := set(own) - KNOWN:
        raise NewerVersionError(f"{table} has the property {min(unknown)!r}, which this version does not know: {NEWER}")
