"""Two runs of one table at once, without Dagster's limit: work may be wasted, data may not be lost."""

from __future__ import annotations

import pytest

from tests.support.lakes.harness import FaultLake
from tests.support.servers.client import wait_until

ROUNDS = 2


@pytest.mark.parametrize("kind", ["reg", "load"])
def test_two_runs_of_one_table_at_once(kind: str, lake: FaultLake) -> None:
    table = lake.tables[kind]
    both = [lake.client(kind, rounds=ROUNDS) for _ in range(2)]

    def are(what: str, i: int) -> bool:
        there = len(list(lake.folder.glob(f"{what}-{i}-*"))) == len(both)
        for client in both:
            assert there or not client.failed, client.output()
        return there

    for i in range(ROUNDS):
        table.put(f"a{i}")
        table.put(f"b{i}")
        table.again(f"a{i}")
        if i:
            table.remove(f"b{i - 1}")
        lake.take_in()
        wait_until(lambda i=i: are("ready", i), f"both runs to stand at the line of round {i}")
        (lake.folder / f"go-{i}").touch()
        wait_until(lambda i=i: are("done", i), f"both runs of round {i}")
    for client in both:
        client.finished()
    table.check()
