"""A random course of files, rows, lost and duplicated messages, and deaths. Then every file and row exists once.

`make soak` runs for half an hour, with killed processes and killed servers. It prints the seed.
"""

from __future__ import annotations

import json
import os
import random
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from urllib.parse import unquote_plus

import pytest

from tests.support.lakes.harness import FaultLake, Watched, slot
from tests.support.lakes.row_course import COPIES, WEIGHTS, RowCourse
from tests.support.lakes.seams import Died, doing
from tests.support.servers.client import wait_until
from tidegate.platform.bronze.options import RunOptions
from tidegate.platform.bronze.run import SEAMS, run_table
from tidegate.platform.intake.tick import take_in
from tidegate.platform.lake.lake import Lake
from tidegate.platform.silver.merge import SEAMS as SILVER_SEAMS
from tidegate.platform.silver.merge import merge_table

#: Rounds, and seconds.
_SHORT, _LONG = 4, 1800.0
_LISTED_EVERY = 10
#: Rounds between two merges, and between two runs of the rows' table.
_MERGED_EVERY, _ROWS_EVERY = 3, 2
#: The table with a silver table.
_MERGED = "load"


class Course:
    """Random changes of a lake, and which of them no message reported.

    Args:
        lake: its tables have no files yet; `load` has a silver table, `rows` has a row queue.
        rng: source of all choices.
        killing: whether processes and servers are killed too.

    Attributes:
        lost: keys whose last change no message reported, by table, since the last listing.
        listed: keys that listings had to find so far, by table.
        happened: number of each kind of event.
    """

    def __init__(self, lake: FaultLake, rng: random.Random, *, killing: bool) -> None:
        self.lake, self.rng, self.killing = lake, rng, killing
        self.lost: dict[str, list[str]] = {name: [] for name in lake.tables}
        self.listed: dict[str, Counter[str]] = {name: Counter() for name in lake.tables}
        self.happened: Counter[str] = Counter()
        self.rows = RowCourse(lake, rng)
        self._settled: dict[str, list[str]] = {name: [] for name in lake.tables}
        #: Keys that got their present bytes again in this round. These changes need no message.
        self._same: set[str] = set()
        self._disturbed = lake.disturbed()

    def round(self, n: int) -> None:
        """Change files and rows, tamper with their messages, and let runs die before one run finishes."""
        self._same.clear()
        changes = sum(self._change(table, n) for table in self.lake.tables.values())
        self._take_in(self._tamper(changes))
        self.rows.round()
        names = [*self.lake.tables, *([] if n % _ROWS_EVERY else ["rows"])]
        for name in self.rng.sample(names, len(names)):
            self._run(name)
        if n % _MERGED_EVERY == 0:
            self._merge()
        if self.killing and self.rng.random() < 0.03:
            self._kill_server()

    def _run(self, name: str) -> None:
        """Let runs of a table die, and let one run finish."""
        table_key = self.lake.key(name)
        for _ in range(self.rng.randrange(3)):
            seam = self.rng.choice(SEAMS)
            self.happened["deaths"] += self._dies(
                seam, lambda lake: run_table(lake.table(table_key), RunOptions(run_id="dies"))
            )
        if self.killing and self.rng.random() < 0.1:
            self._kill(name)
        run_table(self.lake.lake.table(table_key), RunOptions(run_id="fresh"))

    def list_all(self) -> None:
        """Let listings find exactly what no message reported, and check all tables."""
        for name, table in self.lake.tables.items():
            run_table(self.lake.lake.table(table.table_key), RunOptions(run_id="listing", listing=True))
            self.listed[name].update(self.lost[name])
            table.events[None] += len(self.lost[name])
            self.happened["found by a listing"] += len(self.lost[name])
            self.lost[name] = []
            assert table.reported_by_listings() == self.listed[name]
            assert run_table(self.lake.lake.table(table.table_key), RunOptions(run_id="again", listing=True)) == []
            table.check()
        wait_until(self._nothing_waits, "a queue without messages")
        self.rows.all_come()
        run_table(self.lake.lake.table(self.rows.table_key), RunOptions(run_id="listing", listing=True))
        assert run_table(self.lake.lake.table(self.rows.table_key), RunOptions(run_id="again", listing=True)) == []
        self.rows.check()
        self._merge()
        self._check_silver()

    def _merge(self) -> None:
        """Let a merge die (at its table's birth at each seam), and let one merge finish."""
        spec = self.lake.spec(_MERGED)
        for seam in SILVER_SEAMS if not self.happened["merges"] else [self.rng.choice(SILVER_SEAMS)]:
            self.happened["merges' deaths"] += self._dies(seam, lambda lake: merge_table(lake, spec))
        if self.killing and self.rng.random() < 0.2:
            self._kill(_MERGED, merging=True)
        merge_table(self.lake.lake, spec)
        self.happened["merges"] += 1

    def _check_silver(self) -> None:
        """Check that silver has the newest row of each slot, once."""
        assert merge_table(self.lake.lake, self.lake.spec(_MERGED)) is None
        location = self.lake.lake.store.uri("silver", _MERGED)
        silver = self.lake.lake.delta.session.read.format("delta").load(location).select("slot", "id", "name")
        newest = {slot(i): i for i in sorted(self.lake.tables[_MERGED].rows)}
        assert sorted(map(tuple, silver.collect())) == [(key, i, f"row {i}") for key, i in sorted(newest.items())]

    def outcomes(self) -> dict[str, int]:
        """Return how often each kind of event happened, to files and to rows."""
        return {what: times for what, times in (self.happened | self.rows.happened).items() if times}

    def _nothing_waits(self) -> bool:
        assert self._tick() == 0, "a message came that no change had sent"
        return self.lake.lake.queues[0].depth() == (0, 0)

    def _change(self, table: Watched, n: int) -> int:
        """Make some changes of a table's files. S3 sends a message for each. Returns their number."""
        settled, changes = self._settled[table.name], 0
        lost = {*self.lost[table.name]}
        known = [stem for stem in settled if table.key(stem) not in lost]
        # Only few files are removed at a time, because a run asks before it removes most of a table.
        if len(known) > 6:
            for stem in self.rng.sample(known, 3):
                if changes < 1 or self.rng.random() < 0.5:
                    table.remove(stem)
                    settled.remove(stem)
                else:
                    table.again(stem)
                    self._same.add(table.key(stem))
                changes += 1
        for i in range(self.rng.randint(2, 5)):
            kind = self.rng.choices(("put", "mixed", "bad"), (8, 1, 1))[0]
            stem = f"{kind}-{n}-{i}"
            getattr(table, kind)(stem)
            if kind == "put":
                settled.append(stem)
            changes += 1
        self.happened["changes"] += changes
        return changes

    def _tamper(self, changes: int) -> int:
        """Lose some messages, duplicate some, and shuffle them. Returns their number."""
        sqs, url = self.lake.clients.sqs, self.lake.lake.queues[0].url
        changed: list[tuple[str, str]] = []
        others: list[str] = []

        def all_came() -> bool:
            for message in sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages", []):
                body = message["Body"]
                key = _changed_key(body)
                if key:
                    changed.append((key, body))
                else:
                    others.append(body)
                sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
            return len(changed) >= changes

        wait_until(all_came, f"the messages of {changes} changes")
        kept = [body for key, body in changed for _ in range(self._copies(key))]
        for body in self.rng.sample(kept + others, len(kept + others)):
            sqs.send_message(QueueUrl=url, MessageBody=body)
        return len(kept)

    def _copies(self, key: str) -> int:
        """Choose how many messages of a change arrive, and record the result."""
        table = self.lake.tables[key.partition("/")[0]]
        copies = self.rng.choices(COPIES, WEIGHTS)[0]
        if copies:
            table.outcomes[key, "duplicate"] += copies - 1
            self.happened["doubled"] += copies > 1
        elif key in self._same:
            table.outcomes[key, "duplicate"] -= 1
            self.happened["lost without harm"] += 1
        else:
            self.lost[table.name].append(key)
            self.happened["lost"] += 1
        return copies

    def _take_in(self, changes: int) -> None:
        """Run ticks until these changes have become hints."""
        hints = 0

        def all_reported() -> bool:
            nonlocal hints
            hints += self._tick()
            return hints >= changes

        wait_until(all_reported, f"the hints of {changes} messages")

    def _tick(self) -> int:
        taken = take_in(self.lake.lake, seconds=0.9, queues=self.lake.lake.queues[:1])
        for key, hints in taken.hints.items():
            watched = next(table for table in self.lake.tables.values() if table.table_key == key.encode())
            watched.events.update(hint.event_id for hint in hints)
        return sum(map(len, taken.hints.values()))

    def _dies(self, seam: str, work: Callable[[Lake], object]) -> bool:
        """Let a run or a merge die at this seam. Returns whether it reached the seam."""

        def die(name: str) -> None:
            if name == seam:
                raise Died(name)

        try:
            with doing(die):
                work(self._disturbed)
        except Died:
            return True
        return False

    def _kill(self, name: str, *, merging: bool = False) -> None:
        """Kill a run or a merge in a separate process at a random moment. Its Spark operation continues."""
        client = self.lake.client(name, merging=merging)
        time.sleep(self.rng.uniform(0.5, 4))
        client.kill()
        self.happened["merging processes killed" if merging else "processes killed"] += 1

    def _kill_server(self) -> None:
        self.lake.servers.kill_spark()
        self.lake.disconnect()
        self.lake.servers.restart_spark()
        self._disturbed = self.lake.disturbed()
        self.happened["servers killed"] += 1


def _changed_key(body: str) -> str | None:
    """Return the producer's file of a message. None for Delta's own files, and for S3's test event."""
    for record in json.loads(body).get("Records", []):
        key = unquote_plus(record["s3"]["object"]["key"])
        return None if "/_" in key else key
    return None


def _megabytes(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") >> 20


@pytest.mark.timeout(3600)
def test_f14_a_soak_of_random_load_deaths_and_lost_and_doubled_messages(
    make_lake: Callable[..., FaultLake], soak: bool, seed: int
) -> None:
    """Every file and every row exists once. Listings find exactly the changes whose messages were lost.

    In a long soak the memory of the last third may be at most a tenth more than that of the first third.
    """
    print(f"seed {seed}")
    lake = make_lake("reg", "load", "rows", merged=[_MERGED])
    course, began, n, held = Course(lake, random.Random(seed), killing=soak), time.monotonic(), 0, []
    while time.monotonic() - began < _LONG if soak else n < _SHORT:
        n += 1
        course.round(n)
        held.append(_megabytes(os.getpid()))
        if n % _LISTED_EVERY == 0:
            course.list_all()
            print(f"{time.monotonic() - began:.0f} s, {n} rounds, {held[-1]} MB: {course.outcomes()}", flush=True)
    course.list_all()
    print(f"{n} rounds: {course.outcomes()}")
    wanted = {"lost", "doubled", "deaths", "merges' deaths", "rows late", "rows doubled", "ticks' deaths"}
    assert wanted <= course.outcomes().keys()
    if soak:
        third = n // 3
        assert max(held[-third:]) <= 1.1 * max(held[:third]), held
