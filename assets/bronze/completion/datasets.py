"""The step look for tables with completion signals: which datasets are complete, and which parts wait.

Hints of signals and parts come in any order and any number of times. The signal decides: when a hint names it, or names
the part that it waits for, all of its parts are looked at as S3 has them now, and enter with this one batch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from tidegate.assets.bronze.completion.parts import Parts, parts_of
from tidegate.platform.core.bronze.hint import Covered, Hint, Listed, Redriven
from tidegate.platform.core.bronze.ledger import Cause, LastState, Status
from tidegate.platform.core.bronze.object_state import Probe, S3Found, S3Unavailable
from tidegate.platform.core.bronze.plan import BATCH_BYTES, Dataset, Plan, TakenHint, make_plan
from tidegate.platform.core.bronze.signal_decision import SignalDecision
from tidegate.platform.core.completion.held_back import gone_rows, hold_back, signal_rows
from tidegate.platform.core.completion.signal_name import SignalKind, SignalName
from tidegate.platform.core.completion.verdict import MAX_DATASET_FILES, Outcome, Signal, Verdict
from tidegate.resources.lake import Table
from tidegate.resources.ledger import Clock

#: Signals that one batch judges. The others return to the inbox.
MAX_SIGNALS = 100

#: Reads S3's present state of keys, with the bytes of those that the ledger does not know.
ProbeKeys = Callable[[Table, Sequence[str], Mapping[str, LastState], Mapping[str, int | None]], dict[str, Probe]]


@dataclass
class _Look:
    """What one batch knows of signals and parts.

    Attributes:
        states: the ledger's last states, by key.
        probes: S3's present states, by key.
        covered: parts that enter with this batch, each with the hint of its signal.
        reasons: why the parts of a dataset that does not enter wait, by key.
    """

    plan: Plan
    states: dict[str, LastState]
    probes: dict[str, Probe] = field(default_factory=dict)
    datasets: list[Dataset] = field(default_factory=list)
    covered: dict[str, TakenHint] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    size: int = 0


def plan_datasets(
    table: Table,
    clock: Clock,
    taken: Sequence[TakenHint],
    states: dict[str, LastState],
    probe_keys: ProbeKeys,
    *,
    registered: bool,
) -> tuple[Plan, dict[str, LastState], dict[str, Probe]]:
    """Plan a batch of a table with completion signals.

    Args:
        table: the table.
        clock: the clock of the table's ledger.
        taken: hints, oldest first.
        states: the ledger's last states of their keys.
        probe_keys: reads the present states of parts.
        registered: whether the table registers its files.

    Returns:
        The plan, and the states of all parts in the ledger and in S3.
    """
    name = SignalName.parse(table.spec.completion or "")
    look = _Look(Plan(), dict(states))
    signals: dict[str, list[TakenHint]] = {}
    of_parts: list[TakenHint] = []
    for item in taken:
        if name.matches(item.hint.key):
            signals.setdefault(item.hint.key, []).append(item)
        else:
            of_parts.append(item)
    _pull(table, of_parts, signals)
    for items in [*signals.values()][MAX_SIGNALS:]:
        look.plan.deferred += _returning(items)
    now = dict([*signals.items()][:MAX_SIGNALS])
    _remember(table, clock, look, [*now, *_above(name, table, of_parts)])
    look.probes |= table.source.head_many(now)
    for key, items in now.items():
        _look_at(table, clock, look, name, key, items, probe_keys, registered)
    _plan_parts(table, look, name, of_parts, probe_keys, registered)
    return look.plan, look.states, look.probes


def _pull(table: Table, of_parts: Sequence[TakenHint], signals: dict[str, list[TakenHint]]) -> None:
    """Add the signals that wait for one of these parts."""
    last = {item.hint.key: item for item in of_parts}
    again = {item.hint.key for item in of_parts if item.hint.decides_again}
    for signal, part in table.waiting_signals.waiting_for(last).items():
        if signal not in signals:
            cause = Redriven() if part in again else Listed()
            signals[signal] = [TakenHint(Hint(signal, cause), last[part].manifest)]


def _remember(table: Table, clock: Clock, look: _Look, keys: Sequence[str]) -> None:
    """Read the ledger's last states of keys that were not read yet."""
    new = [key for key in dict.fromkeys(keys) if key not in look.states]
    if new:
        look.states |= table.ledger.memory(clock.version, clock.n, new)[1]


def _above(name: SignalName, table: Table, of_parts: Sequence[TakenHint]) -> list[str]:
    """Return the keys at which signals would cover the folders of these parts, if the name has no `*`."""
    if "*" in name.pattern:
        return []
    return list(dict.fromkeys(key for item in of_parts for key in _signals_above(name, table, item.hint.key)))


def _signals_above(name: SignalName, table: Table, key: str) -> list[str]:
    """Return the keys of the signals that would cover an object, the nearest first."""
    folders = key[len(table.key.prefix) :].split("/")[:-1]
    above = ["".join(f"{folder}/" for folder in folders[:depth]) for depth in range(len(folders), -1, -1)]
    return [f"{table.key.prefix}{folder}{name.pattern}" for folder in above]


def _look_at(
    table: Table,
    clock: Clock,
    look: _Look,
    name: SignalName,
    key: str,
    items: Sequence[TakenHint],
    probe_keys: ProbeKeys,
    registered: bool,
) -> None:
    """Judge one signal, and put its dataset or its rows into the look."""
    state, probe = look.states.get(key), look.probes[key]
    if isinstance(probe, S3Unavailable):
        look.plan.deferred += _returning(items)
        return
    if not isinstance(probe, S3Found):
        look.plan.rows += gone_rows(items, probe, state)
        look.plan.signals.append(SignalDecision(key))
        return
    again = state is not None and state.status is Status.QUARANTINED and any(i.hint.decides_again for i in items)
    signal = Signal(key, probe, state, again)
    parts = parts_of(table, name, signal)
    _remember(table, clock, look, parts.keys)
    verdict = parts.judge(look.states, _probed(table, look, parts, probe_keys), registered=registered)
    if verdict.outcome is Outcome.ENTERS:
        _enter(look, signal, items, verdict, registered)
    elif verdict.outcome is Outcome.UNKNOWN:
        look.plan.deferred += _returning(items)
    else:
        look.plan.rows += signal_rows(items, probe, verdict, state, completed=signal.completed)
        look.plan.signals.append(SignalDecision(key, verdict.waits_for))
        if verdict.reason:
            look.reasons |= dict.fromkeys(parts.keys, f"its signal {key} waits: {verdict.reason}")


def _probed(table: Table, look: _Look, parts: Parts, probe_keys: ProbeKeys) -> Mapping[str, Probe]:
    """Return S3's present states of parts. Those that a listing shows with the ledger's etag are not asked for."""
    listed = parts.as_listed(look.states)
    wanted = [key for key in parts.keys if key not in listed and key not in look.probes]
    # A part that waited is read now, as one that the ledger does not know.
    known = {key: state for key, state in look.states.items() if state.status is not Status.WAITING}
    look.probes |= probe_keys(table, wanted, known, parts.sizes)
    return {**listed, **{key: look.probes[key] for key in parts.keys if key not in listed}}


def _enter(look: _Look, signal: Signal, items: Sequence[TakenHint], verdict: Verdict, registered: bool) -> None:
    """Let a dataset enter with this batch, or with the next one if this batch has much already."""
    full = look.size + verdict.size > BATCH_BYTES and not registered
    full = full or len(look.covered) + len(verdict.keys) > MAX_DATASET_FILES
    if look.datasets and (full or not look.covered.keys().isdisjoint(verdict.keys)):
        look.plan.deferred += _returning(items)
        look.reasons |= dict.fromkeys(
            verdict.keys, f"its dataset enters with a later batch; its signal is {signal.key}"
        )
        return
    *others, lead = items
    look.datasets.append(Dataset(lead, tuple(others), signal.found, frozenset(verdict.keys), verdict.parts))
    look.covered |= dict.fromkeys(verdict.keys, lead)
    look.size += verdict.size


def _plan_parts(
    table: Table,
    look: _Look,
    name: SignalName,
    of_parts: Sequence[TakenHint],
    probe_keys: ProbeKeys,
    registered: bool,
) -> None:
    """Plan the parts: those of datasets enter, the others wait."""
    # Before the events of the same keys: the last hint decides, and an event should have the row of its object.
    brought = [
        TakenHint(Hint(key, Covered(lead.hint.event_time), None), lead.manifest) for key, lead in look.covered.items()
    ]
    left = [item.hint.key for item in of_parts if item.hint.key not in look.probes]
    look.probes |= table.source.head_many(dict.fromkeys(left))
    made = make_plan(
        [*brought, *of_parts],
        look.probes,
        look.states,
        registered=registered,
        type_of_key=table.lake.config.typing.of_key,
    )

    def reason(key: str) -> tuple[str, Cause | None]:
        if known := look.reasons.get(key):
            return known, None
        nearest = next((s for k in _signals_above(name, table, key) if (s := look.states.get(k))), None)
        if nearest and nearest.status is Status.COMPLETE and name.kind is SignalKind.FOLDER:
            return f"it came after its dataset entered; it waits until {name.pattern} is written again", Cause.LATE
        return f"it waits for its completion signal {name.pattern}", None

    hold_back(made, look.covered, look.states, reason)
    made.rows += look.plan.rows
    made.deferred += look.plan.deferred
    made.datasets, made.signals = look.datasets, look.plan.signals
    look.plan = made


def _returning(items: Sequence[TakenHint]) -> list[Hint]:
    return [item.hint for item in items]
