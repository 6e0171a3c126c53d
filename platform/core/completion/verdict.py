"""Judges a completion signal by the present state of its parts: the dataset enters, waits, or is refused.

A verdict depends on S3's present state and the ledger only, never on which messages came or in which order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from tidegate.platform.core.bronze.ledger import SETTLED, Cause, LastState, Status
from tidegate.platform.core.bronze.object_state import Probe, S3Forbidden, S3Found, S3Gone, S3Unavailable, same_bytes
from tidegate.platform.core.completion.named_parts import NamedPart

#: Files of the largest dataset: as many as the largest batch of any table. A dataset is one commit.
MAX_DATASET_FILES = 10_000
#: Bytes of the largest dataset of a loaded table. Files of a registered table are not read.
MAX_DATASET_BYTES = 64 << 30


class Outcome(Enum):
    """What becomes of a signal and its parts."""

    #: The parts enter the table.
    ENTERS = "enters"
    #: All parts are in the table already.
    SETTLED = "settled"
    #: Parts are missing. A later event can change that.
    WAITS = "waits"
    #: It cannot enter before a person, or its producer, repairs it.
    REFUSED = "refused"
    #: S3 did not answer.
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Signal:
    """A signal as S3 and the ledger have it.

    Attributes:
        state: its last state in the ledger.
        again: whether a person asked for another attempt.
    """

    key: str
    found: S3Found
    state: LastState | None = None
    again: bool = False

    @property
    def at(self) -> int:
        """Epoch seconds of its last change. S3's times have whole seconds."""
        return self.found.modification_time // 1000

    @property
    def completed(self) -> bool:
        """Whether the dataset of these bytes has entered the table."""
        return self.state is not None and self.state.status is Status.COMPLETE and same_bytes(self.found, self.state)


@dataclass(frozen=True)
class Part:
    """A part of a dataset.

    Attributes:
        probe: S3's present state.
        state: its last state in the ledger.
        named: the part as the manifest names it. None for a file of the signal's folder.
    """

    key: str
    probe: Probe
    state: LastState | None = None
    named: NamedPart | None = None

    @property
    def at(self) -> int:
        """Epoch seconds of its last change. For an upload in parts, S3 gives the time at which it began."""
        return self.probe.modification_time // 1000 if isinstance(self.probe, S3Found) else 0

    @property
    def size(self) -> int:
        """Bytes; 0 if it is not there."""
        return self.probe.size if isinstance(self.probe, S3Found) else 0

    def has_entered(self, registered: bool) -> bool:
        """Return whether its present bytes are in the table, or its last bytes if a loaded object is gone."""
        if self.state is None or not (self.state.status in SETTLED or (self.state.in_table and not registered)):
            return False
        if isinstance(self.probe, S3Found):
            return same_bytes(self.probe, self.state)
        return isinstance(self.probe, S3Gone) and self.state.in_table and not registered

    @property
    def problem(self) -> str | None:
        """Why it is not the part that the manifest names. None if it is."""
        if isinstance(self.probe, S3Gone):
            return "is missing"
        if not isinstance(self.probe, S3Found) or self.named is None:
            return None
        if self.named.size is not None and self.named.size != self.probe.size:
            return f"has {self.probe.size} bytes instead of {self.named.size}"
        if self.named.md5 and self.probe.digested and self.named.md5 != self.probe.etag.lower():
            return f"has the MD5 {self.probe.etag} instead of {self.named.md5}"
        return None

    @property
    def in_quarantine(self) -> bool:
        """Whether the ledger has it in quarantine."""
        return self.state is not None and self.state.status is Status.QUARANTINED

    def is_refused(self, registered: bool) -> bool:
        """Return whether its present bytes are in quarantine, or belong there: an overwritten write-once key stays
        there.
        """
        if self.state is None or not isinstance(self.probe, S3Found):
            return False
        if self.in_quarantine:
            return same_bytes(self.probe, self.state) or (registered and self.state.cause is Cause.OVERWRITTEN)
        return registered and self.state.status in SETTLED and not same_bytes(self.probe, self.state)


@dataclass(frozen=True)
class Verdict:
    """The verdict on a signal.

    Attributes:
        keys: parts that should enter the table.
        parts: number of all parts, with those that are in the table.
        size: bytes of the parts that should enter.
        reason: a sentence for people. None if the dataset enters.
        waits_for: key of a part. A later hint of it must look at the signal again.
    """

    outcome: Outcome
    keys: tuple[str, ...] = ()
    parts: int = 0
    size: int = 0
    reason: str | None = None
    waits_for: str | None = None


def judge_folder(signal: Signal, files: Sequence[Part], *, registered: bool) -> Verdict:
    """Judge a signal that covers the files of its folder.

    It covers the files that are not newer than itself: its producer writes it after them. So a late file never enters
    with an old signal, however often the events of both come.

    Args:
        files: the table's files below its folder.
        registered: whether the table registers its files.
    """
    if unknown := _judge_unknown(files):
        return unknown
    files = [file for file in files if not isinstance(file.probe, S3Gone)]
    covered = [file for file in files if signal.again or file.at <= signal.at]
    new = [file for file in covered if not file.has_entered(registered)]
    if new:
        rewritten = [file for file in files if file.at > signal.at and _is_rewritten(file) and not signal.again]
        if rewritten:
            return Verdict(
                Outcome.REFUSED,
                reason=f"{_describe_some(rewritten)} written again after the signal, so it may be of another dataset. "
                "Write the signal again, or redrive it",
            )
        return _judge_complete(signal, covered, new, registered)
    if covered or signal.completed:
        return Verdict(Outcome.SETTLED, parts=len(covered))
    if files:
        return Verdict(
            Outcome.WAITS,
            reason=f"{_describe_some(files)} newer than the signal, which covers only files that were there before it. "
            "It waits until it is written again",
        )
    return Verdict(Outcome.WAITS, reason="no file of the table is in its folder. It waits until it is written again")


def judge_manifest(signal: Signal, parts: Sequence[Part], *, registered: bool) -> Verdict:
    """Judge a signal by the parts that its manifest names. All of them must be there as it names them.

    Args:
        parts: the parts, in the manifest's order.
        registered: whether the table registers its files.
    """
    if unknown := _judge_unknown(parts):
        return unknown
    new = [part for part in parts if not part.has_entered(registered)]
    if signal.completed:
        # Its dataset entered. A part that was written again later waits for the manifest to be written again.
        new = [part for part in new if part.problem is None and part.at <= signal.at]
    elif wrong := [part for part in parts if part.problem and not _is_loaded(part, registered)]:
        first = wrong[0]
        return Verdict(
            Outcome.WAITS,
            parts=len(parts),
            reason=f"{len(wrong)} of its {len(parts)} parts are not there as it names them; the first: {first.key} "
            f"{first.problem}",
            waits_for=first.key,
        )
    return _judge_complete(signal, parts, new, registered) if new else Verdict(Outcome.SETTLED, parts=len(parts))


def _is_loaded(part: Part, registered: bool) -> bool:
    return isinstance(part.probe, S3Gone) and part.has_entered(registered)


def _judge_complete(signal: Signal, parts: Sequence[Part], new: Sequence[Part], registered: bool) -> Verdict:
    """Return the verdict on a dataset whose parts are all there."""
    denied = [part for part in new if isinstance(part.probe, S3Forbidden)]
    if denied:
        return Verdict(Outcome.REFUSED, reason=f"access to its part {denied[0].key} is denied", waits_for=denied[0].key)
    bad = [part for part in new if part.is_refused(registered) and not (signal.again and part.in_quarantine)]
    if bad:
        why = (
            bad[0].state.reason
            if bad[0].state and bad[0].in_quarantine
            else "keys of a registered table are write-once"
        )
        return Verdict(Outcome.REFUSED, reason=refusal(bad[0].key, why), waits_for=bad[0].key)
    size = sum(part.size for part in new)
    if len(new) > MAX_DATASET_FILES or (size > MAX_DATASET_BYTES and not registered):
        return Verdict(
            Outcome.REFUSED,
            reason=f"its {len(new):,} new files have {size:,} bytes, and a dataset is one commit of at most "
            f"{MAX_DATASET_FILES:,} files" + ("" if registered else f" and {MAX_DATASET_BYTES:,} bytes") + ". Write it "
            "as several datasets, each with its own signal",
        )
    return Verdict(Outcome.ENTERS, tuple(part.key for part in new), len(parts), size)


def refusal(key: str, why: str | None) -> str:
    """Return the reason of a signal whose dataset does not enter because of one part."""
    return f"its part {key} cannot be ingested, so nothing of the dataset enters: {why or 'no reason was given'}"


def _judge_unknown(parts: Sequence[Part]) -> Verdict | None:
    silent = [part for part in parts if isinstance(part.probe, S3Unavailable)]
    return Verdict(Outcome.UNKNOWN, reason=f"S3 did not answer about {silent[0].key}") if silent else None


def _is_rewritten(file: Part) -> bool:
    """Return whether the ledger knows other bytes of a file that is not in the table."""
    if file.state is None or not isinstance(file.probe, S3Found):
        return False
    waited = file.state.status in (Status.WAITING, Status.QUARANTINED)
    return waited and not same_bytes(file.probe, file.state)


def _describe_some(files: Sequence[Part]) -> str:
    """Return the beginning of a sentence about files: the first, and how many more."""
    return f"{files[0].key} and {len(files) - 1} more files were" if len(files) > 1 else f"{files[0].key} was"
