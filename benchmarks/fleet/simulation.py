"""A fleet as discrete events: objects arrive, ticks take them in, runs commit them."""

from __future__ import annotations

import heapq
import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import count

import numpy as np
import numpy.typing as npt

from benchmarks.fleet.arrivals import Load
from benchmarks.fleet.backlog import Cohort, Gathered, Inbox, Queue
from benchmarks.fleet.cores import Cores
from benchmarks.fleet.outcome import Outcome
from benchmarks.fleet.requests import request_runs
from benchmarks.fleet.rules import Costs, Rules

#: Seconds after the last arrival at which a simulation ends although objects wait, in multiples of its length.
_PATIENCE = 3.0


@dataclass
class _Run:
    tables: list[int]
    shared: bool
    begun: float = 0.0
    place: int = 0
    batches: int = 0


class Simulation:
    """One fleet over some hours.

    Args:
        load: what arrives.
        rules: when tables get runs.
        costs: what work costs.
        cores: cores of the machines that runs use.
        windows: the window of each table; that of the rules for all by default.
        background: core seconds a second that are used all the time.
        others: cores that work which is none of the fleet's would use all the time.
    """

    def __init__(
        self,
        load: Load,
        rules: Rules,
        costs: Costs,
        cores: float,
        windows: npt.NDArray[np.float64] | None = None,
        background: float = 0.0,
        others: float = 0.0,
    ) -> None:
        self._load, self._rules, self._costs = load, rules, costs
        self._windows = np.full(load.tables, rules.window) if windows is None else windows
        self._cores, self._background = Cores(max(0.05, cores - background), others), background
        self._queue, self._inbox = Queue(), Inbox(load.tables)
        self._gathered = Gathered(self._windows, rules)
        self._held = np.zeros(load.tables, bool)
        self._waiting: deque[_Run] = deque()
        self._at_work, self._active = 0, 0
        self._last, self._polled, self._now = -1, -1.0, 0.0
        self._events: list[tuple[float, int, Callable[[float], None]]] = []
        self._numbers = count()
        self._random = np.random.default_rng(load.seed + 2)
        self.outcome = Outcome(load.seconds)

    def run(self) -> Outcome:
        """Run until everything that arrived is committed, or until it is clear that this takes too long."""
        self._slices = self._load.slices()
        self._arrive()
        self._at(0.0, self._tick)
        if self._rules.processes:
            self._at(0.0, self._drain)
        used, until = 0.0, self._load.seconds * (1 + _PATIENCE)
        while self._events or self._cores.next_end() < math.inf:
            ends = self._cores.next_end()
            if min(ends, self._events[0][0] if self._events else math.inf) > until:
                break
            if self._events and self._events[0][0] <= ends:
                now, _, action = heapq.heappop(self._events)
                action(now)
            else:
                now = self._now = ends
                self._cores.end_next()
            if now <= self._load.seconds:
                used = self._cores.used
        self.outcome.cores = self._background + used / self._load.seconds
        return self.outcome

    def _at(self, when: float, action: Callable[[float], None]) -> None:
        heapq.heappush(self._events, (when, next(self._numbers), action))

    def _arrive(self) -> None:
        middle, counts = next(self._slices, (math.inf, None))
        if counts is None:
            self.outcome.depth_at_end = self._queue.depth
            return

        def arrived(now: float) -> None:
            self.outcome.arrived += int(counts.sum())
            self._queue.put(now, counts)
            self._arrive()

        self._at(middle, arrived)

    def _tick(self, now: float) -> None:
        """Receive for a while, if no processes do, and then tour the inbox."""
        rules, rate = self._rules, self._costs.receive_rate
        depth = self._queue.depth
        self.outcome.ticks += 1
        self.outcome.depth.append((now, depth))
        if rules.processes:
            self._end_receives(now, now)
            return
        steady = self._load.a_day * self._load.slice / 86_400 >= 1 and now < self._load.seconds
        lasts = min(rules.receives, rules.events / rate if depth >= rules.events else math.inf)
        if not steady:
            lasts = min(lasts, depth / rate + rules.poll)
        # The last receives end with their polls. So a hint of 60 seconds is as often too young by a moment as due.
        ends = now + lasts + self._random.uniform(0, rules.poll)
        self._at(ends, lambda then: self._take_in(now, then, int(min(rules.events, rate * lasts))))

    def _drain(self, now: float) -> None:
        """Receive in all processes until their chunks are full, or for as long as a round receives."""
        rules = self._rules
        is_deep = self._queue.depth >= rules.processes * rules.chunk
        ends = now + (rules.chunk / self._costs.receive_rate if is_deep else rules.receives)

        def end(then: float) -> None:
            self._store(then, int(rules.processes * self._costs.receive_rate * (ends - now)))
            if then < self._load.seconds or self._queue.depth:
                self._drain(then)

        self._at(ends, end)

    def _take_in(self, began: float, now: float, most: int) -> None:
        self._store(now, most)
        self._end_receives(began, now)

    def _end_receives(self, began: float, now: float) -> None:
        self._cores.used += self._costs.tick_cpu
        self._at(now + self._costs.tick_seconds, lambda then: self._tour(began, now, then))

    def _store(self, now: float, most: int) -> None:
        taken = self._queue.take(most)
        of_table = np.sum([counts for _, counts in taken], axis=0) if taken else np.zeros(self._load.tables, np.int64)
        received = int(of_table.sum())
        drains = max(1, self._rules.processes)
        chunks = drains * -(-received // (drains * self._rules.chunk))
        waits = self._gathered.waiting_part(of_table, chunks)
        for arrived, counts in taken:
            self._inbox.put(now, arrived, np.where(waits, 0, counts))
            self._gathered.put(now, arrived, np.where(waits, counts, 0))
        self.outcome.flight = max(self.outcome.flight, min(received, 2 * drains * self._rules.chunk))
        # A chunk writes a manifest for each of its tables. A table with few messages is not in each chunk.
        self.outcome.manifests += int(np.minimum(of_table[~waits], chunks).sum())
        # Those that are gathered share an object for each time at which they are dealt.
        times = np.unique(self._gathered.deal_times(now)[waits & (of_table > 0)])
        self.outcome.manifests += chunks * len(times)
        self._cores.used += received * self._costs.message_cpu

    def _tour(self, began: float, drained: float, now: float) -> None:
        rules = self._rules
        self.outcome.manifests += self._gathered.deal(drained, self._inbox)
        requests = request_runs(
            self._inbox.hints,
            drained - self._inbox.since,
            self._held,
            self._windows,
            rules,
            room=rules.max_runs - self._active,
            after=self._last,
        )
        self._last = requests.last
        for tables, shared in [
            *(([table], False) for table in requests.own),
            *((each, True) for each in requests.shared),
        ]:
            self._held[tables] = True
            self._active += 1
            self._waiting.append(_Run(tables, shared))
        self.outcome.hints.append(int(self._inbox.hints.sum()))
        self.outcome.queued.append(self._active)
        self._dequeue(now)
        if now < self._load.seconds or self._queue.depth or self._inbox.hints.any() or self._gathered.hints.any():
            turn = math.ceil(max(began + rules.every, now) / rules.loop) * rules.loop
            self._at(turn, self._tick)

    def _dequeue(self, now: float) -> None:
        """Start runs at Dagster's next look at its queue."""
        look = (math.floor(now / self._rules.dequeue) + 1) * self._rules.dequeue
        if self._waiting and look > self._polled:
            self._polled = look
            self._at(look, self._start)

    def _start(self, now: float) -> None:
        while self._waiting and self._at_work < self._rules.at_work:
            run = self._waiting.popleft()
            self._at_work += 1
            self.outcome.runs += 1
            run.begun = now
            self._cores.begin(now, self._costs.run_seconds, self._costs.run_cpu, partial(self._continue, run))

    def _commit(self, run: _Run, table: int, begun: float, cohorts: list[Cohort]) -> None:
        self.outcome.commit(table, begun, self._now, cohorts)
        self._continue(run)

    def _continue(self, run: _Run) -> None:
        """Begin the next batch of a run, or end the run."""
        now, rules, costs = self._now, self._rules, self._costs
        while run.place < len(run.tables) and not (
            run.shared and run.batches == 0 and now - run.begun >= rules.shared_seconds
        ):
            table = run.tables[run.place]
            cohorts = self._inbox.take(table, now, rules.max_files) if run.batches < rules.batches else []
            if not cohorts:
                run.place, run.batches = run.place + 1, 0
                continue
            run.batches += 1
            files = sum(number for _, number in cohorts)
            seconds, cpu = costs.batch_seconds + costs.file_seconds * files, costs.batch_cpu + costs.file_cpu * files
            self._cores.begin(now, seconds, cpu, partial(self._commit, run, table, now, cohorts))
            return
        self.outcome.at_work += now - run.begun
        self._held[run.tables] = False
        self._at_work -= 1
        self._active -= 1
        self._dequeue(now)
