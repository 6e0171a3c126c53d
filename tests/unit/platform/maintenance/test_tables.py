"""Maintenance of one table: which steps it has, for which tables, and when it is left alone."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from tests.unit.platform.maintenance.test_vacuum import Objects
from tidegate.platform.core.bronze.birth import Birth
from tidegate.platform.core.config.lake import MaintainSpec
from tidegate.platform.lake.lake_root.root import LakeRoot
from tidegate.platform.lake.spark.results import CompactionResult
from tidegate.platform.lake.spark.table_maintenance import CheckpointState, Clustering, Mergeable
from tidegate.platform.maintenance.tables import (
    MIN_COMMITS,
    MIN_SMALL,
    TableBusy,
    is_worth,
    keep_for,
    maintain_bronze,
    maintain_silver,
)

KEY, LEDGER = "landing.orders", "s3a://lake/root/ledger/landing.orders"
OWN, PREFIX = "s3a://lake/root/bronze/landing.orders", "s3a://landing/orders"


class Delta:
    """Stands for the tables of a lake, and takes down what is done to them."""

    def __init__(self, *locations: str, small: int = 0, hidden: int = 0, commits: int = 0, kept: str = "") -> None:
        self.locations, self.done = locations, list[tuple[str, str]]()
        self._found = Mergeable(small + hidden, 1, hidden, small)
        self._commits, self._kept = commits, kept
        self.upkeep = self

    def table_state(self, location: str) -> Any:
        properties = {"delta.deletedFileRetentionDuration": self._kept} if self._kept else {}
        return SimpleNamespace(
            exists=location in self.locations, properties=properties, files=7, has_columns=True, features=()
        )

    def find_mergeable(self, location: str, clustered: Sequence[str]) -> Mergeable:
        return self._found

    def compact(self, location: str, clustering: Clustering | None) -> CompactionResult:
        assert clustering is None
        self.done.append(("compact", location))
        return CompactionResult(1, self._found.files)

    def checkpoint(self, location: str, *, write: bool) -> CheckpointState:
        if write:
            self.done.append(("checkpoint", location))
        return CheckpointState(self._commits, 0)

    def find_unneeded(self, location: str, keep: timedelta, max_files: int, inventory: Any) -> list[str]:
        self.done.append(("vacuum", location))
        return []


def lake_of(delta: Delta, *, registered: bool = False, decided: bool = False, born: bool = True) -> Any:
    birth = Birth("generation", PREFIX if registered else OWN, "orders", registered) if born else None
    table = SimpleNamespace(
        birth=birth,
        spec=SimpleNamespace(cluster_by=()),
        ledger=SimpleNamespace(clock=lambda: SimpleNamespace(n=7), location=LEDGER),
        batches=SimpleNamespace(is_decided=lambda n: decided and n == 8),
    )
    config = SimpleNamespace(maintenance=MaintainSpec(), tables=())
    store = LakeRoot(Objects({}), "s3://lake/root")  # type: ignore[arg-type]
    return SimpleNamespace(table=lambda _: table, delta=delta, store=store, config=config)


def test_a_loaded_table_is_merged_and_its_ledger_is_not() -> None:
    delta = Delta(OWN, LEDGER, small=MIN_SMALL, commits=MIN_COMMITS)
    done = maintain_bronze(lake_of(delta), KEY, dry_run=False)
    assert delta.done == [
        *(("vacuum", OWN), ("compact", OWN), ("checkpoint", OWN)),
        *(("vacuum", LEDGER), ("checkpoint", LEDGER)),
    ]
    assert [(found.name, found.merged, found.checkpoint) for found in done] == [
        ("bronze.orders", MIN_SMALL, True),
        ("ledger.orders", 0, True),
    ]


def test_of_a_registered_table_only_the_log_is_maintained() -> None:
    delta = Delta(PREFIX, LEDGER, small=99, hidden=9, commits=MIN_COMMITS)
    maintain_bronze(lake_of(delta, registered=True), KEY, dry_run=False)
    assert [step for step in delta.done if step[1] == PREFIX] == [("checkpoint", PREFIX)]


def test_what_a_table_left_that_was_loaded_before_a_reset_is_freed() -> None:
    delta = Delta(PREFIX, OWN, LEDGER, small=99)
    maintain_bronze(lake_of(delta, registered=True), KEY, dry_run=False)
    assert [step for step in delta.done if step[1] == OWN] == [("vacuum", OWN)]


def test_a_dry_run_shows_the_steps_and_does_none() -> None:
    delta = Delta(OWN, LEDGER, small=MIN_SMALL, commits=MIN_COMMITS)
    lines: list[str] = []
    done = maintain_bronze(lake_of(delta), KEY, dry_run=True, log=lines.append)
    assert {step for step, _ in delta.done} == {"vacuum"}, "VACUUM is only asked"
    assert (done[0].merged, done[0].checkpoint) == (MIN_SMALL, True)
    assert lines == [
        "bronze.orders: 8 files would be merged, a checkpoint would be written",
        "ledger.orders: a checkpoint would be written",
    ]


def test_a_table_with_a_batch_that_is_not_recorded_is_left_alone() -> None:
    delta = Delta(OWN, LEDGER, small=99, commits=99)
    with pytest.raises(TableBusy, match=r"batch 8 of landing\.orders is decided and not recorded"):
        maintain_bronze(lake_of(delta, decided=True), KEY, dry_run=False)
    assert delta.done == []
    assert maintain_bronze(lake_of(delta, born=False), KEY, dry_run=False) == []


@pytest.mark.parametrize(
    ("small", "hidden", "merged"), [(MIN_SMALL - 1, 0, 0), (MIN_SMALL, 0, MIN_SMALL), (0, 1, 1), (0, 0, 0)]
)
def test_a_table_is_written_again_for_many_small_files_or_hidden_rows(small: int, hidden: int, merged: int) -> None:
    silver = "s3a://lake/root/silver/orders"
    (done,) = maintain_silver(lake_of(Delta(silver, small=small, hidden=hidden)), "orders", dry_run=False)
    assert done.merged == merged
    assert maintain_silver(lake_of(Delta()), "orders", dry_run=False) == []


@pytest.mark.parametrize(
    ("pieces", "share", "worth"),
    [(MIN_SMALL, 0.01, True), (1, 0.06, True), (MIN_SMALL - 1, 0.05, False), (0, 0.0, False)],
)
def test_a_clustered_table_is_written_again_for_files_that_are_not_clustered(
    pieces: int, share: float, worth: bool
) -> None:
    assert is_worth(Mergeable(0, 0, 0, 0, pieces, share)) is worth


@pytest.mark.parametrize(
    ("kept", "versions", "days"),
    [("", 7, 7), ("interval 30 days", 7, 30), ("interval 0 hours", 1, 1), ("", 90, 90)],
)
def test_the_longest_retention_counts_and_none_is_shorter_than_a_day(kept: str, versions: int, days: int) -> None:
    lake = lake_of(Delta(OWN, kept=kept))
    lake.config.maintenance = MaintainSpec(versions=versions)
    assert keep_for(lake.config, lake.delta, OWN) == timedelta(days=days)
