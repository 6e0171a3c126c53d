"""The names of what a run of `tidegate prove` makes, and the marker by which it is found again."""

from __future__ import annotations

import re
import secrets
import time
from dataclasses import dataclass

PREFIX = "tidegate-prove-"
#: Key of the tag that everything has which a run made. Its value is `<id>:<epoch seconds>`, and `:kept` after that if
#: the person wants to keep it.
MARKER = "tidegate-prove"
#: The object that marks a bucket at an endpoint that has no tags of buckets.
MARKER_KEY = "tidegate-prove.txt"

_NAME = re.compile(rf"{PREFIX}([0-9a-f]{{10}})(?:-landing|-lake|-dlq)?")
_VALUE = re.compile(r"([0-9a-f]{10}):(\d{1,12})(:kept)?")


@dataclass(frozen=True)
class RunNames:
    """The names of one run.

    Attributes:
        id: ten hexadecimal digits.
    """

    id: str

    @classmethod
    def draw(cls) -> RunNames:
        """Return names that nobody has."""
        return cls(secrets.token_hex(5))

    @property
    def base(self) -> str:
        """The prefix with the id: the name of the event queue and of the commit table."""
        return f"{PREFIX}{self.id}"

    @property
    def landing(self) -> str:
        """The bucket of the files."""
        return f"{self.base}-landing"

    @property
    def lake(self) -> str:
        """The bucket of the lake."""
        return f"{self.base}-lake"

    @property
    def dlq(self) -> str:
        """The dead-letter queue."""
        return f"{self.base}-dlq"

    def table(self, name: str) -> str:
        """Return the name of a table of the run, which no other lake on a Spark server gives a table."""
        return f"{name}_{self.id}"

    @property
    def resources(self) -> tuple[tuple[str, str], ...]:
        """The kind and the name of everything."""
        buckets, queues = (self.landing, self.lake), (self.base, self.dlq)
        return (
            *(("bucket", name) for name in buckets),
            *(("queue", name) for name in queues),
            ("table", self.base),
        )


@dataclass(frozen=True)
class Mark:
    """What a marker says.

    Attributes:
        id: of the run.
        made: epoch seconds.
        kept: whether only a person who names the run may remove it.
    """

    id: str
    made: int
    kept: bool = False

    @classmethod
    def begin_run(cls, names: RunNames, *, kept: bool = False) -> Mark:
        """Return the marker of a run that begins."""
        return cls(names.id, int(time.time()), kept)

    @classmethod
    def parse(cls, text: str) -> Mark | None:
        """Return the marker of a text; None if the text is not one."""
        found = _VALUE.fullmatch(text.strip())
        return cls(found[1], int(found[2]), found[3] is not None) if found else None

    def __str__(self) -> str:
        return f"{self.id}:{self.made}{':kept' if self.kept else ''}"


def run_of(name: str) -> str | None:
    """Return the id of the run that a name belongs to; None for a name that no run gives."""
    found = _NAME.fullmatch(name)
    return found[1] if found else None
