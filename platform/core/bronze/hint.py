"""Hints: one reason to look at a key, and how manifests and batches have it as JSON.

The form of the JSON is older than `HintCause`: one flat object with the members of all causes. It never changes,
because lakes have objects of every version.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from tidegate.platform.core.foreign_json import (
    MAX_EVENT_NAME,
    MAX_SEQUENCER,
    MAX_TIME,
    MAX_VERSION_ID,
    bounded_text,
    size_within,
)
from tidegate.platform.core.stored_members import require_known
from tidegate.platform.core.times import parse_time

#: Members, in the order in which they are written.
_MEMBERS = (
    "key", "event_id", "event_name", "event_time", "version_id", "sequencer", "redriven", "read", "size", "taken",
    "replaces", "decided", "told", "event_type",
)  # fmt: skip
#: Members that a batch writes even if they are empty: the first version had no others.
_ALWAYS = frozenset(_MEMBERS[:7])


@dataclass(frozen=True, slots=True)
class Event:
    """S3 sent an event.

    Attributes:
        id: `<SQS message id>#<record index>`.
        name: S3's name of the event, such as `ObjectCreated:Put`.
        time: ISO 8601, as the event has it, or None.
    """

    id: str
    name: str = "ObjectCreated:Put"
    time: str | None = None
    version_id: str | None = None
    sequencer: str | None = None


@dataclass(frozen=True, slots=True)
class RowsSent:
    """The intake wrote messages of a row queue to the object. `time` is that of the oldest one, in ISO 8601."""

    name: ClassVar[str] = "RowsSent"
    time: str | None = None


@dataclass(frozen=True, slots=True)
class Listed:
    """A listing or an inventory has the key, and the ledger has not, or with other bytes."""

    name: ClassVar[str] = "Listed"


@dataclass(frozen=True, slots=True)
class Missing:
    """The ledger has the key, and a listing or an inventory lacks it."""

    name: ClassVar[str] = "Missing"


@dataclass(frozen=True, slots=True)
class Replacement:
    """The rows that are replaced when the bytes of an object are read again.

    Attributes:
        batch: the batch that brought the rows.
        decided: the last batch that had decided the key when the hint was made. If a later batch has decided it since,
            nothing is replaced.
    """

    batch: int
    decided: int


@dataclass(frozen=True, slots=True)
class Redriven:
    """A person put the key back, so that it is decided again although it is in quarantine."""

    name: ClassVar[str] = "Redriven"
    replaces: Replacement | None = None


@dataclass(frozen=True, slots=True)
class Rebuild:
    """A rebuild reads the key again.

    Attributes:
        replaces: its rows in the table. None: it has none, and is decided again although it is in quarantine.
        event_time: event time (ISO 8601) of the original load, so that `_source_event_time` keeps its value.
    """

    name: ClassVar[str] = "Rebuild"
    replaces: Replacement | None = None
    event_time: str | None = None


@dataclass(frozen=True, slots=True)
class RemovedByAfterLoad:
    """After-load removed the object. `etag` is that of the loaded bytes."""

    name: ClassVar[str] = "AfterLoad"
    etag: str


@dataclass(frozen=True, slots=True)
class ServerLoss:
    """The Spark server was lost while it read the object, or had to be stopped because the read took too long.

    Attributes:
        etag: of the bytes that were being read.
        alone: whether no other object was being read.
        late: whether the read took too long.
    """

    etag: str
    alone: bool = False
    late: bool = False

    @property
    def name(self) -> str:
        """The event name of the hint."""
        return f"{'ReadTooLong' if self.late else 'ServerLost'}{'Alone' if self.alone else ''}"


@dataclass(frozen=True, slots=True)
class Covered:
    """A completion signal of the same batch covers the object. Such a hint is never in the inbox.

    `time` is that of the signal's event, in ISO 8601.
    """

    name: ClassVar[str] = "Covered"
    time: str | None = None


HintCause = Event | RowsSent | Listed | Missing | Redriven | Rebuild | RemovedByAfterLoad | ServerLoss | Covered
#: Beginnings of S3's names of events after which an object is gone.
REMOVALS = ("ObjectRemoved", "LifecycleExpiration")


@dataclass(frozen=True, slots=True)
class Hint:
    """One reason to look at a key.

    Attributes:
        key: decoded object key.
        cause: where the hint comes from, with the data that only such hints have.
        size: bytes of the object, according to the event or the listing.
        event_type: type of the event by `event_types` of `lake.yaml`. None if they give none, and for other causes,
            whose type the step look finds.
    """

    key: str
    cause: HintCause = Listed()
    size: int | None = None
    event_type: str | None = None

    @property
    def event_id(self) -> str | None:
        """Id of the event. None if the hint does not come from an event."""
        return self.cause.id if isinstance(self.cause, Event) else None

    @property
    def event_time(self) -> str | None:
        """When it happened (ISO 8601), if something has just happened to the object."""
        return self.cause.time if isinstance(self.cause, Event | RowsSent | Covered) else None

    @property
    def reports_removal(self) -> bool:
        """Whether the object is gone according to the hint."""
        match self.cause:
            case Event(name=name):
                return name.startswith(REMOVALS)
            case Missing():
                return True
            case _:
                return False

    @property
    def decides_again(self) -> bool:
        """Whether a quarantined key is decided again."""
        return isinstance(self.cause, Redriven) or (isinstance(self.cause, Rebuild) and self.cause.replaces is None)

    @property
    def replaces(self) -> Replacement | None:
        """The rows that are replaced when the bytes are read again."""
        return self.cause.replaces if isinstance(self.cause, Redriven | Rebuild) else None


def hint_to_dict(hint: Hint, *, with_empty: bool) -> dict[str, Any]:
    """Return the JSON object of a hint.

    Args:
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
        NewerVersionError: it has a member that no hint has.
        KeyError: it lacks a member that its cause needs.
        TypeError: it is not a JSON object.
    """
    if not isinstance(members, dict):
        raise TypeError("a hint is not a JSON object")
    require_known(members, _MEMBERS, "a hint")
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
