"""What a table costs in a month, the settings with which it would cost least, and the report of all tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tidegate.platform.core.costs.replay import Timing, batches_of, merges_of
from tidegate.platform.core.costs.usage import Usage
from tidegate.platform.core.storage.prices import GIGABYTE

#: Seconds of windows, and of checks for merges, that a remedy may name.
WINDOWS = (0, 30, 60, 120, 180, 240, 300, 600, 900, 1800, 3600)
#: A remedy that saves less than this share of the cost is none: the figures are not that exact.
_MIN_SAVING = 0.05
#: Seconds between two listings at least, as of `reconcile_interval`, and keys that S3 lists in one answer.
_MIN_INTERVAL, _LISTED_KEYS = 60, 1000


@dataclass(frozen=True)
class Recorded:
    """What the ledger of a table has of a month.

    Attributes:
        batches: void ones too.
        timed: batches whose seconds are recorded. Older versions did not.
        seconds: of these.
        runs: a run that several tables share counts in parts.
        messages: messages of queues that brought its events or rows.
        manifests: manifests that the intake wrote.
        files: files that were read.
        bytes: of these.
        begun: slots of time in which batches were recorded, in order.
        arrivals: slots of time with their events, in order; empty if they were not read.
    """

    month: str
    batches: int = 0
    timed: int = 0
    seconds: float = 0.0
    runs: float = 0.0
    messages: int = 0
    manifests: int = 0
    files: int = 0
    bytes: int = 0
    begun: Sequence[int] = ()
    arrivals: Sequence[tuple[int, int]] = ()


@dataclass(frozen=True)
class TableFacts:
    """What else the cost of a table depends on.

    Attributes:
        timing: its settings.
        registers: whether its files are registered.
        max_files: maximum number of files of a batch.
        tick: seconds from one tick of the intake to the next, which is the length of a slot.
        fresh: seconds after which a row must be visible, as far as settings delay it.
    """

    timing: Timing
    registers: bool
    max_files: int
    tick: float
    fresh: int


@dataclass(frozen=True)
class MonthCost:
    """What a table cost in a month.

    Attributes:
        dollars: by service: `storage`, `compute`, `S3 requests`, `SQS` and `DynamoDB`. There is no storage of a month
            whose bytes are not known.
        usage: what is billed, without storage. Requests are computed from counts of the ledger.
        merges: merges of silver, computed from the batches.
        measured: share of the seconds of batches that is measured. The rest is computed from their number and files.
        listed: share of the table's folders whose bytes are those of an inventory.
        events: dollars of the requests to SQS, which are part of `dollars`. If no queue brought the files, what events
            would have cost.
        listings: dollars for which S3 would have listed the month's files as often as its batches began, in place of
            events. Files of earlier months, which a listing has too, are not counted.
    """

    month: str
    dollars: Mapping[str, float]
    usage: Usage
    batches: int
    merges: int
    files: int
    bytes: int
    measured: float
    listed: float = 0.0
    events: float = 0.0
    listings: float = 0.0

    @property
    def total(self) -> float:
        """Dollars of all services."""
        return sum(self.dollars.values())


@dataclass(frozen=True)
class Remedy:
    """Settings with which a month would have cost least.

    Attributes:
        timing: the settings.
        saving: dollars of the month.
        share: what the month would have cost, as a share of what it did.
        batches: number of batches that it would have had.
        merges: number of merges that it would have had.
    """

    timing: Timing
    saving: float
    share: float
    batches: int
    merges: int

    def text(self, now: Timing) -> str:
        """Return the remedy as a sentence.

        Args:
            now: the settings that the table has.
        """
        changes = [f"window {self.timing.window} instead of {now.window}"] if self.timing.window != now.window else []
        if self.timing.every != now.every:
            changes.append(f"silver's every {self.timing.every} instead of {now.every}")
        saving = f"{self.saving:,.2f}" if self.saving >= 0.01 else f"{self.saving:.2g}"
        return f"{' and '.join(changes)}: {self.share:.0%} of the cost, {saving} dollars of the month less"


@dataclass(frozen=True)
class Stored:
    """Bytes that a table has in S3 Standard.

    Attributes:
        size: bytes.
        months: for how much of a month they are billed.
        listed: share of its folders whose bytes an inventory lists, with what no version needs any more. The log has
            the live bytes of the others.
    """

    size: int
    months: float
    listed: float = 0.0


@dataclass(frozen=True)
class TableCost:
    """Cost and remedy of one table for one month.

    Args:
        recorded: what the ledger has of the month.
        figures: units of cost.
        stored: None if the bytes of the month are not known.
    """

    recorded: Recorded
    facts: TableFacts
    figures: Mapping[str, float]
    stored: Stored | None = None

    def month(self) -> MonthCost:
        """Return the cost."""
        found, figures = self.recorded, self.figures
        merges = self._merges(found.begun, self.facts.timing)
        untimed = found.batches - found.timed
        share = untimed / found.batches if found.batches else 0.0
        computed = untimed * figures["batch_seconds"] + share * found.files * figures["file_seconds"]
        cores = (
            (found.seconds + computed) * figures["cores_of_batch"]
            + found.runs * figures["run_cpu"]
            + found.messages * figures["message_cpu"]
            + merges * figures["merge_cpu"]
        )
        usage = (
            Usage.batch_usage(figures, registers=self.facts.registers).multiply(found.batches)
            + Usage.batch_usage(figures).multiply(merges)
            + Usage.arrival_usage(figures, messages=found.messages, manifests=found.manifests, files=found.files)
            + Usage(core_seconds=cores)
        )
        dollars = usage.dollars(figures)
        if self.stored:
            price = figures["s3_gigabyte_month"]
            dollars = {"storage": self.stored.size / GIGABYTE * self.stored.months * price, **dollars}
        seconds = found.seconds + computed
        return MonthCost(
            month=found.month,
            dollars=dollars,
            usage=usage,
            batches=found.batches,
            merges=merges,
            files=found.files,
            bytes=found.bytes,
            measured=found.seconds / seconds if seconds else 0.0,
            listed=self.stored.listed if self.stored else 0.0,
            events=(found.messages or found.files) * figures["message_sqs_requests"] * figures["sqs_request"],
            listings=self._listings() * figures["s3_write"],
        )

    def _listings(self) -> float:
        """Return the LISTs that would have found the files. The folder has half of them in the mean."""
        found, facts = self.recorded, self.facts
        seconds = (found.begun[-1] - found.begun[0]) * facts.tick if found.begun else 0.0
        times = 1 + seconds / max(facts.timing.window, facts.tick, _MIN_INTERVAL)
        return times * (1 + found.files / 2 / _LISTED_KEYS) if found.files else 0.0

    def remedy(self) -> Remedy | None:
        """Return the settings with which the month would have cost least. None if none saves a twentieth.

        No setting delays a row for longer than `fresh`, or for longer than the settings of now if these do so already.
        """
        now, cost = self.facts.timing, self.month()
        limit = max(now.delay, self.facts.fresh)
        choices = [timing for timing in self._choices() if timing.delay <= limit]
        batches = {window: self._batches(window) for window in {timing.window for timing in choices}}
        # What listings, full batches, and runs that were late have made more or less of them stays as it was.
        more_batches = max(0, cost.batches - len(batches[now.window]))
        more_merges = max(0, cost.merges - self._merges(batches[now.window], now))
        best: Remedy | None = None
        for timing in choices:
            after = batches[timing.window]
            found = self._make_remedy(
                timing, cost, len(after) + more_batches, self._merges(after, timing) + more_merges
            )
            if best is None or found.saving > best.saving + 1e-12:
                best = found
        return best if best and best.saving > _MIN_SAVING * cost.total else None

    def _choices(self) -> list[Timing]:
        """Return the settings that are compared, those with the least delay first."""
        now = self.facts.timing
        checks = [None] if now.every is None else sorted({now.every, *(every for every in WINDOWS if every)})
        found = [Timing(window, every) for window in sorted({now.window, *WINDOWS}) for every in checks]
        return sorted(found, key=lambda timing: timing.delay)

    def _make_remedy(self, timing: Timing, cost: MonthCost, batches: int, merges: int) -> Remedy:
        figures = self.figures
        less = Usage.batch_usage(figures, registers=self.facts.registers).multiply(cost.batches - batches)
        less += Usage.batch_usage(figures).multiply(cost.merges - merges)
        cores = (cost.batches - batches) * self._cores_of_batch()
        cores += (cost.merges - merges) * figures["merge_cpu"]
        saving = sum((less + Usage(core_seconds=cores)).dollars(figures).values())
        share = 1.0 - saving / cost.total if cost.total else 1.0
        return Remedy(timing, saving, share, batches, merges)

    def _cores_of_batch(self) -> float:
        """Return the core seconds that a batch takes without its files, with its part of a run."""
        found, figures = self.recorded, self.figures
        mean = found.seconds / found.timed if found.timed else figures["batch_seconds"]
        run = found.runs / found.batches if found.batches else 0.0
        return min(mean, figures["batch_seconds"]) * figures["cores_of_batch"] + run * figures["run_cpu"]

    def _batches(self, window: int) -> list[int]:
        return batches_of(self.recorded.arrivals, window, self.facts.tick, self.facts.max_files)

    def _merges(self, batches: Sequence[int], timing: Timing) -> int:
        return 0 if timing.every is None else merges_of(batches, timing.every, self.facts.tick)


@dataclass(frozen=True)
class TableReport:
    """What one table costs.

    Attributes:
        table: SQL name.
        timing: its settings.
        months: the last month first.
        remedy: for the last month. None if no setting saves enough.
    """

    table: str
    table_key: str
    timing: Timing
    months: Sequence[MonthCost]
    remedy: Remedy | None

    @property
    def advice(self) -> str:
        """The remedy as a sentence; empty if there is none."""
        return self.remedy.text(self.timing) if self.remedy else ""


@dataclass(frozen=True)
class LakeCosts:
    """What the tables of a lake cost.

    Attributes:
        tables: the most expensive first.
        unread: why tables are not among them, by key: their birth record or a log cannot be read.
    """

    tables: Sequence[TableReport]
    unread: Mapping[str, str] = field(default_factory=dict)

    @property
    def warnings(self) -> list[str]:
        """A sentence for each table that is left out."""
        return [f"{key} is not in the costs, because it cannot be read: {why}" for key, why in self.unread.items()]


def most_expensive_first(tables: Sequence[TableReport]) -> list[TableReport]:
    """Return the tables in the order of what their last month cost."""
    return sorted(tables, key=lambda table: (-table.months[0].total if table.months else 0.0, table.table))
