"""The step look for tables with completion signals: which datasets are complete, and which parts wait.

Hints of signals and parts come in any order and any number of times. The signal decides: when a hint names it, or names
the part that it waits for, all of its parts are looked at as S3 has them now, and enter with this one batch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from tidegate.platform.bronze.completion.parts import Parts, parts_of
from tidegate.platform.core.bronze.batch import SignalDecision
from tidegate.platform.core.bronze.hint import Covered, Hint, Listed, Redriven
from tidegate.platform.core.bronze.ledger import Cause, LastState, Status
from tidegate.platform.core.bronze.object_state import Probe, S3Found, S3Unavailable
from tidegate.platform.core.bronze.plan import BATCH_BYTES, Dataset, Plan, PlannedHint, make_plan
from tidegate.platform.core.completion.signal_name import SignalKind, SignalName
from tidegate.platform.core.completion.verdict import MAX_DATASET_FILES, Outcome, Signal, Verdict
from tidegate.platform.core.completion.waiting_parts import gone_rows, hold_back, signal_rows
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.keys.table_key import TableKey
from tidegate.platform.core.routing.event_type import EventTypes
from tidegate.platform.lake.aws.bucket import Bucket
from tidegate.platform.lake.lake import Table
from tidegate.platform.lake.lake_root.waiting_notes import WaitingSignals
from tidegate.platform.lake.ledger import Clock, Ledger

#: Signals that one batch judges. The others return to the inbox.
MAX_SIGNALS = 100

#: Reads S3's present state of keys, with the bytes of those that the ledger does not know.
ProbeKeys = Callable[[Sequence[str], Mapping[str, LastState], Mapping[str, int | None]], dict[str, Probe]]


def plan_datasets(
    table: Table,
    clock: Clock,
    taken: Sequence[PlannedHint],
    states: dict[str, LastState],
    probe_keys: ProbeKeys,
    *,
    registered: bool,
) -> tuple[Plan, dict[str, LastState], dict[str, Probe]]:
    """Plan a batch of a table with completion signals.

    Args:
        taken: hints, oldest first.
        states: the ledger's last states of their keys.
        probe_keys: reads the present states of parts.
        registered: whether the table registers its files.

    Returns:
        The plan, and the states of all parts in the ledger and in S3.
    """
    look = _SignalPlanner(
        table.key,
        table.source,
        table.lake.config,
        table.waiting_signals,
        table.ledger,
        clock,
        probe_keys,
        SignalName.parse(table.spec.completion or ""),
        registered,
        dict(states),
    )
    look.run(taken)
    return look.plan, look.states, look.probes


@dataclass
class _SignalPlanner:
    """What one batch knows of signals and parts.

    Attributes:
        source: the bucket of its files.
        config: says which objects are files of the table.
        waiting: the signals that wait for a part.
        ledger: has the last states.
        clock: that of the ledger.
        name: what the names of signals look like.
        states: the ledger's last states, by key.
        probes: S3's present states, by key.
        covered: parts that enter with this batch, each with the hint of its signal.
        reasons: why the parts of a dataset that does not enter wait, by key.
        size: bytes of the parts that enter.
    """

    table: TableKey
    source: Bucket
    config: LakeConfig
    waiting: WaitingSignals
    ledger: Ledger
    clock: Clock
    probe_keys: ProbeKeys
    name: SignalName
    registered: bool
    states: dict[str, LastState]
    plan: Plan = field(default_factory=Plan)
    probes: dict[str, Probe] = field(default_factory=dict)
    datasets: list[Dataset] = field(default_factory=list)
    covered: dict[str, PlannedHint] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    size: int = 0

    def run(self, taken: Sequence[PlannedHint]) -> None:
        """Judge the signals of these hints, and plan the parts."""
        signals: dict[str, list[PlannedHint]] = {}
        of_parts: list[PlannedHint] = []
        for item in taken:
            if self.name.matches(item.hint.key):
                signals.setdefault(item.hint.key, []).append(item)
            else:
                of_parts.append(item)
        self._add_waiting_signals(of_parts, signals)
        for items in [*signals.values()][MAX_SIGNALS:]:
            self.plan.deferred += _returning_hints(items)
        now = dict([*signals.items()][:MAX_SIGNALS])
        self._read_last_states([*now, *self._covering_signal_keys(of_parts)])
        self.probes |= self.source.head_many(now)
        for key, items in now.items():
            self._plan_signal(key, items)
        self._plan_parts(of_parts)

    def _add_waiting_signals(self, of_parts: Sequence[PlannedHint], signals: dict[str, list[PlannedHint]]) -> None:
        """Add the signals that wait for one of these parts."""
        last = {item.hint.key: item for item in of_parts}
        again = {item.hint.key for item in of_parts if item.hint.decides_again}
        for signal, part in self.waiting.find_signals(last).items():
            if signal not in signals:
                cause = Redriven() if part in again else Listed()
                signals[signal] = [PlannedHint(Hint(signal, cause), last[part].manifest)]

    def _read_last_states(self, keys: Sequence[str]) -> None:
        """Read the ledger's last states of keys that were not read yet."""
        new = [key for key in dict.fromkeys(keys) if key not in self.states]
        if new:
            self.states |= self.ledger.memory(self.clock.version, self.clock.n, new)[1]

    def _covering_signal_keys(self, of_parts: Sequence[PlannedHint]) -> list[str]:
        """Return the keys at which signals would cover the folders of these parts, if the name has no `*`."""
        if "*" in self.name.pattern:
            return []
        return list(dict.fromkeys(key for item in of_parts for key in self._signals_above(item.hint.key)))

    def _signals_above(self, key: str) -> list[str]:
        """Return the keys of the signals that would cover an object, the nearest first."""
        prefix = self.table.prefix
        folders = key[len(prefix) :].split("/")[:-1]
        above = ["".join(f"{folder}/" for folder in folders[:depth]) for depth in range(len(folders), -1, -1)]
        return [f"{prefix}{folder}{self.name.pattern}" for folder in above]

    def _plan_signal(self, key: str, items: Sequence[PlannedHint]) -> None:
        """Judge one signal, and plan its dataset or its rows."""
        state, probe = self.states.get(key), self.probes[key]
        if isinstance(probe, S3Unavailable):
            self.plan.deferred += _returning_hints(items)
            return
        if not isinstance(probe, S3Found):
            self.plan.rows += gone_rows(items, probe, state)
            self.plan.signals.append(SignalDecision(key))
            return
        again = state is not None and state.status is Status.QUARANTINED and any(i.hint.decides_again for i in items)
        signal = Signal(key, probe, state, again)
        parts = parts_of(self.table, self.source, self.config, self.name, signal)
        self._read_last_states(parts.keys)
        verdict = parts.judge(self.states, self._probe_parts(parts), registered=self.registered)
        if verdict.outcome is Outcome.ENTERS:
            self._enter(signal, items, verdict)
        elif verdict.outcome is Outcome.UNKNOWN:
            self.plan.deferred += _returning_hints(items)
        else:
            self.plan.rows += signal_rows(items, probe, verdict, state, completed=signal.completed)
            self.plan.signals.append(SignalDecision(key, verdict.waits_for))
            if verdict.reason:
                self.reasons |= dict.fromkeys(parts.keys, f"its signal {key} waits: {verdict.reason}")

    def _probe_parts(self, parts: Parts) -> Mapping[str, Probe]:
        """Return S3's present states of parts. Those that a listing shows with the ledger's etag are not asked for."""
        listed = parts.probes_of_listed(self.states)
        wanted = [key for key in parts.keys if key not in listed and key not in self.probes]
        # A part that waited is read now, as one that the ledger does not know.
        known = {key: state for key, state in self.states.items() if state.status is not Status.WAITING}
        self.probes |= self.probe_keys(wanted, known, parts.sizes)
        return {**listed, **{key: self.probes[key] for key in parts.keys if key not in listed}}

    def _enter(self, signal: Signal, items: Sequence[PlannedHint], verdict: Verdict) -> None:
        """Let a dataset enter with this batch, or with the next one if this batch has much already."""
        full = self.size + verdict.size > BATCH_BYTES and not self.registered
        full = full or len(self.covered) + len(verdict.keys) > MAX_DATASET_FILES
        if self.datasets and (full or not self.covered.keys().isdisjoint(verdict.keys)):
            self.plan.deferred += _returning_hints(items)
            self.reasons |= dict.fromkeys(
                verdict.keys, f"its dataset enters with a later batch; its signal is {signal.key}"
            )
            return
        *others, lead = items
        self.datasets.append(Dataset(lead, tuple(others), signal.found, frozenset(verdict.keys), verdict.parts))
        self.covered |= dict.fromkeys(verdict.keys, lead)
        self.size += verdict.size

    def _plan_parts(self, of_parts: Sequence[PlannedHint]) -> None:
        """Plan the parts: those of datasets enter, the others wait."""
        # Before the events of the same keys: the last hint decides, and an event should have the row of its object.
        brought = [
            PlannedHint(Hint(key, Covered(lead.hint.event_time), None), lead.manifest)
            for key, lead in self.covered.items()
        ]
        left = [item.hint.key for item in of_parts if item.hint.key not in self.probes]
        self.probes |= self.source.head_many(dict.fromkeys(left))
        made = make_plan(
            [*brought, *of_parts],
            self.probes,
            self.states,
            registered=self.registered,
            type_of_key=EventTypes(self.config.event_types).find_type_of_key,
        )
        hold_back(made, self.covered, self.states, self._why_waiting)
        made.rows += self.plan.rows
        made.deferred += self.plan.deferred
        made.datasets, made.signals = self.datasets, self.plan.signals
        self.plan = made

    def _why_waiting(self, key: str) -> tuple[str, Cause | None]:
        """Return why a part waits, as a sentence and, where checks depend on it, as a value."""
        if known := self.reasons.get(key):
            return known, None
        pattern = self.name.pattern
        nearest = next((s for k in self._signals_above(key) if (s := self.states.get(k))), None)
        if nearest and nearest.status is Status.COMPLETE and self.name.kind is SignalKind.FOLDER:
            return f"it came after its dataset entered; it waits until {pattern} is written again", Cause.LATE
        return f"it waits for its completion signal {pattern}", None


def _returning_hints(items: Sequence[PlannedHint]) -> list[Hint]:
    return [item.hint for item in items]
