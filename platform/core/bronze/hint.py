"""Hints: one reason to look at a key."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar


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
