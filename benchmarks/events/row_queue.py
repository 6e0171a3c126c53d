"""The cost of a row queue: a tick's messages, compared with a bare loop; and the search for duplicates.

The tick receives, writes objects and their manifest, and deletes. The bare loop receives and deletes, with as many
receivers, from the same queue. Both run in turn. The search for duplicates is measured by runs whose messages came
once: the table of a row queue and a table of JSON files load the same rows into tables of the same size. Prints JSON.

    python -m benchmarks.events.row_queue [--messages 5000] [--rounds 3]
"""

from __future__ import annotations

import json
import statistics
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.support.arguments import arguments
from benchmarks.support.machine import Machine, Spent, spending
from benchmarks.support.messages import receive_all, send_all
from tidegate.platform.bronze.options import RunOptions
from tidegate.platform.bronze.run import run_table
from tidegate.platform.intake.tick import take_in
from tidegate.platform.testing import TestLake

_TABLES = [{"name": "clicks", "row_queue": {"name": "clicks"}}, {"name": "files", "prefix": "files/"}]
_THREADS = 2  # as in the lakes of tests
#: Ticks that suffice to receive all messages.
_MAX_TICKS = 10


def main() -> None:
    """Run the command."""
    options = arguments("row_queue", messages=5000, rounds=3)
    with tempfile.TemporaryDirectory(prefix="tg") as folder, Machine(Path(folder)) as machine:
        lake = machine.lake("rows", _TABLES)
        found = {"messages": options.messages, **_ticks(lake, options.messages, options.rounds)}
        print(json.dumps({**found, **_runs(machine, lake, options.messages, options.rounds)}, indent=2))


def _body(n: int) -> str:
    return json.dumps({"id": n, "name": f"row {n}", "price": n / 4, "tags": ["a", "b"]})


def _fill(lake: TestLake, messages: int) -> None:
    send_all(lake.clients.sqs, lake.lake.queues[1].url, messages, _body)


def _ticks(lake: TestLake, messages: int, rounds: int) -> dict[str, Any]:
    ticks, bare = [], []
    for _ in range(rounds):
        _fill(lake, messages)
        received = 0
        with spending() as spent:
            for _ in range(_MAX_TICKS):
                received += take_in(lake.lake, seconds=40).received
                if received >= messages:
                    break
        assert received >= messages, received  # S3 adds a test event
        ticks.append(spent)
        _fill(lake, messages)
        with spending() as spent:
            receive_all(lake.clients.sqs, lake.lake.queues[1].url, _THREADS)
        bare.append(spent)
    tick, loop = _shown(ticks), _shown(bare)
    return {
        "tick": tick | {"messages_a_second": round(messages / tick["seconds"])},
        "bare": loop | {"messages_a_second": round(messages / loop["seconds"])},
        "ratio_of_cpu": _ratio(bare, ticks, "cpu"),
        "ratio": _ratio(bare, ticks, "seconds"),
    }


def _runs(machine: Machine, lake: TestLake, messages: int, rounds: int) -> dict[str, Any]:
    """Return the last of some runs. The first runs warm up the server and fill the tables."""
    found: dict[str, Any] = {}
    body = "".join(f"{_body(n)}\n" for n in range(messages))
    for table in ("files", "clicks"):
        for number in range(rounds + 1):
            if table == "files":
                lake.put(f"files/{number}.json", body)
            elif number:
                _fill(lake, messages)
            while take_in(lake.lake, seconds=20).received:
                pass
            before = machine.jobs()
            with spending() as spent:
                run_table(lake.lake.table(lake.key(table)), RunOptions(run_id="bench"))
            found[table] = {**vars(spent), "jobs": machine.jobs() - before}
    return {"runs": found}


def _shown(all_spent: list[Spent]) -> dict[str, float]:
    return {
        name: round(statistics.median(getattr(spent, name) for spent in all_spent), 2) for name in ("seconds", "cpu")
    }


def _ratio(bare: list[Spent], ours: list[Spent], name: str) -> float:
    return round(_shown(bare)[name] / _shown(ours)[name], 2)


if __name__ == "__main__":
    main()
