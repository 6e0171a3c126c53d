"""A run of a table with completion signals dies at any seam: each dataset is in the table whole and once, or not."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable

import pytest

from tests.support.lakes.harness import FaultLake
from tests.support.lakes.seams import dying_at
from tidegate.platform.bronze.options import RunOptions
from tidegate.platform.bronze.run import SEAMS, BatchResult, run_table
from tidegate.platform.core.bronze.hint import Event, Hint
from tidegate.platform.core.bronze.manifest import Manifest

TABLE = "sets"
#: What a run knows of a dataset whose last part is missing is in what it records: the seams from there on.
OF_SIGNALS = SEAMS[SEAMS.index("record-signals") - 1 :]
_events = itertools.count()


@pytest.fixture(scope="module")
def sets(make_lake: Callable[..., FaultLake]) -> FaultLake:
    """Return a lake with one table, which gets a dataset from each test."""
    return make_lake(TABLE)


class Dataset:
    """A dataset of three parts and a manifest. The last part comes later."""

    def __init__(self, lake: FaultLake, name: str) -> None:
        self.lake, self.name = lake, name
        self.parts = [f"{TABLE}/{name}/{part}.json" for part in "abc"]
        self.signal = f"{TABLE}/{name}/manifest.json"

    def begin(self) -> None:
        """Put everything but the last part, and take the events in."""
        for key in self.parts[:-1]:
            self.put(key)
        self.lake.put(self.signal, json.dumps({"files": [{"key": key} for key in self.parts]}))
        self.announce(*self.parts[:-1], self.signal)

    def end(self) -> None:
        """Put the last part, and take its event in."""
        self.put(self.parts[-1])
        self.announce(self.parts[-1])

    def put(self, key: str) -> None:
        self.lake.put(key, json.dumps({"id": key}) + "\n")

    def announce(self, *keys: str) -> None:
        hints = [Hint(key, Event(f"m{next(_events)}#0")) for key in keys]
        table = self.lake.key(TABLE)
        # One manifest for each hint, because a batch takes whole manifests of at most `max_files` hints.
        self.lake.lake.store.inbox.put([Manifest.create(table, "intake", [hint]) for hint in hints])

    def run(self) -> list[BatchResult]:
        return run_table(self.lake.lake.table(self.lake.key(TABLE)), RunOptions(run_id="fresh"))

    def dies_at(self, seam: str) -> None:
        with dying_at(seam):
            self.run()

    def rows(self) -> list[str]:
        """Return the parts of the dataset that are in the table, each as often as its row."""
        table = self.lake.lake.table(self.lake.key(TABLE))
        assert table.birth is not None
        if not table.delta.table_state(table.birth.location).exists:
            return []
        found = self.lake.lake.delta.session.read.format("delta").load(table.birth.location).collect()
        return sorted(row["id"] for row in found if row["id"] in self.parts)

    def statuses(self) -> dict[str, str]:
        ledger = self.lake.lake.table(self.lake.key(TABLE)).ledger
        states = ledger.memory(*ledger.clock(), [*self.parts, self.signal])[1]
        return {key: str(state.status) for key, state in states.items()}

    def check(self) -> None:
        """Check that all of the dataset is in the table, once, and nothing waits for it."""
        assert self.rows() == self.parts
        assert self.statuses() == {**dict.fromkeys(self.parts, "committed"), self.signal: "complete"}
        store = self.lake.lake.store
        assert store.waiting_signals(self.lake.key(TABLE)).find_signals(self.parts) == {}
        assert store.inbox.waiting_manifests() == []
        assert self.noted() == (0, set())

    def noted(self) -> tuple[int, set[str]]:
        """Return the number of files, and the signals, that the lake's health shows as waiting."""
        found = self.lake.lake.store.waiting_notes.read(self.lake.key(TABLE))
        assert found is not None
        return found.files, set(found.signals)


@pytest.mark.parametrize("seam", SEAMS)
def test_a_run_with_a_dataset_dies_at_a_seam(seam: str, sets: FaultLake, soak: bool) -> None:
    dataset = Dataset(sets, seam)
    dataset.begin()
    if soak or seam in OF_SIGNALS:
        dataset.dies_at(seam)
        assert dataset.rows() == []
    if seam in OF_SIGNALS[1:]:
        assert dataset.noted()[0] in (1, 2), "the files of the first batch, without a report of the run"
    dataset.run()
    assert dataset.noted() == (2, {dataset.signal})
    assert dataset.rows() == []
    assert dataset.statuses() == {**dict.fromkeys(dataset.parts[:-1], "waiting"), dataset.signal: "waiting"}
    dataset.end()
    dataset.dies_at(seam)
    assert dataset.rows() in ([], dataset.parts)
    dataset.run()
    dataset.check()


def test_a_dataset_of_a_void_batch_enters_whole_with_the_next(sets: FaultLake) -> None:
    """Only the event of the last part is in the inbox then: the signal was found by the part that it waits for."""
    dataset = Dataset(sets, "void")
    dataset.begin()
    dataset.run()
    dataset.end()
    dataset.dies_at("decide")
    table = sets.lake.table(sets.key(TABLE))
    batch = table.batches.read(table.ledger.clock().n + 1)
    assert batch is not None
    staged = f"{batch.location.split('/', 3)[3]}/{batch.adds[0].path}"
    sets.clients.s3.delete_object(Bucket=sets.lake_bucket, Key=staged)
    first, *_ = dataset.run()
    assert first.landed.outcome == "void"
    dataset.check()
