"""Hints as JSON objects of manifests and batches.

The form is older than `HintCause`: one flat object with the members of all causes. It never changes, because lakes
have objects of every version.
"""

from __future__ import annotations

from typing import Any

from tidegate.platform.core.bronze.hint import (
    Covered,
    Event,
    Hint,
    HintCause,
    Listed,
    Missing,
    Rebuild,
    Redriven,
    RemovedByAfterLoad,
    Replacement,
    RowsSent,
    ServerLoss,
)
from tidegate.platform.core.foreign_json import (
    MAX_EVENT_NAME,
    MAX_SEQUENCER,
    MAX_TIME,
    MAX_VERSION_ID,
    bounded_text,
    size_within,
)
from tidegate.platform.core.times import parse_time

#: Members, in the order in which they are written.
_MEMBERS = (
    "key", "event_id", "event_name", "event_time", "version_id", "sequencer", "redriven", "read", "size", "taken",
    "replaces", "decided", "told", "event_type",
)  # fmt: skip
#: Members that a batch writes even if they are empty: the first version had no others.
_ALWAYS = frozenset(_MEMBERS[:7])


def hint_to_dict(hint: Hint, *, with_empty: bool) -> dict[str, Any]:
    """Return the JSON object of a hint.

    Args:
        hint: the hint.
        with_empty: whether the members of the first version are there even if they are empty, as in batches.
    """
    members = {"key": hint.key, "size": hint.size, "event_name": hint.cause.name, "redriven": hint.decides_again}
    members |= {"event_type": hint.event_type, **_members(hint.cause)}
    found = {name: members.get(name) for name in _MEMBERS}
    return {
        name: value
        for name, value in found.items()
        if (with_empty and name in _ALWAYS) or (value is not None and value is not False)
    }


def hint_from_dict(members: Any) -> Hint:
    """Read the JSON object of a hint.

    Raises:
        ValueError: it has a member that no hint has.
        KeyError: it lacks a member that its cause needs.
        TypeError: it is no JSON object.
    """
    if not isinstance(members, dict):
        raise TypeError("a hint is not a JSON object")
    if unknown := members.keys() - set(_MEMBERS):
        raise ValueError(f"a hint has no member {min(unknown)!r}: a newer Tidegate wrote this lake. Upgrade Tidegate")
    return Hint(members["key"], _cause(members), size_within(members.get("size")), members.get("event_type"))


def _members(cause: HintCause) -> dict[str, Any]:
    match cause:
        case Event():
            return {
                "event_id": cause.id,
                "event_time": cause.time,
                "version_id": cause.version_id,
                "sequencer": cause.sequencer,
            }
        case RowsSent() | Covered():
            return {"event_time": cause.time}
        case Redriven():
            return _replacement(cause.replaces)
        case Rebuild():
            return {**_replacement(cause.replaces), "told": cause.event_time}
        case RemovedByAfterLoad():
            return {"taken": cause.etag}
        case ServerLoss():
            return {"read": cause.etag}
        case Listed() | Missing():
            return {}


def _replacement(replaces: Replacement | None) -> dict[str, Any]:
    return {"replaces": replaces.batch, "decided": replaces.decided} if replaces else {}


def _time(value: Any) -> str | None:
    text = bounded_text(value, MAX_TIME)
    try:
        return text if text and parse_time(text) else None
    except ValueError:
        return None


def _cause(members: dict[str, Any]) -> HintCause:
    name = members.get("event_name", Listed.name)
    if event_id := members.get("event_id"):
        # Older versions wrote what an event had, of any length.
        return Event(
            event_id,
            bounded_text(name, MAX_EVENT_NAME) or "Unknown",
            _time(members.get("event_time")),
            bounded_text(members.get("version_id"), MAX_VERSION_ID),
            bounded_text(members.get("sequencer"), MAX_SEQUENCER),
        )
    if name == RemovedByAfterLoad.name:
        return RemovedByAfterLoad(members["taken"])
    if etag := members.get("read"):
        causes = (ServerLoss(etag, alone, late) for alone in (True, False) for late in (True, False))
        return next((cause for cause in causes if cause.name == name), ServerLoss(etag))
    batch, decided = members.get("replaces"), members.get("decided")
    replaces = None if batch is None or decided is None else Replacement(batch, decided)
    if name == Rebuild.name:
        return Rebuild(replaces, members.get("told"))
    if members.get("redriven"):
        return Redriven(replaces)
    if name == RowsSent.name:
        return RowsSent(members.get("event_time"))
    return Missing() if name == Missing.name else Listed()
