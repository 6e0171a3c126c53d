"""What a row queue costs: a tick's messages beside a bare loop that receives and deletes, and the look for duplicates.

The tick receives, writes objects and their manifest, and deletes; the bare loop receives and deletes, with as many
receivers, from the same queue. Both are done in turn. The look is that of a run whose messages came once: a row queue's
table and a table of JSON files load the same rows into as many as are there already. Prints JSON.

    python -m benchmarks.row_queue [--messages 5000] [--rounds 3]
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from benchmarks.machine import Machine, Spent, spending
from tidegate.assets.bronze.run import run_table
from tidegate.platform.testing import TestLake
from tidegate.sensors.intake import take_in

_TABLES = [{"name": "clicks", "row_queue": {"name": "clicks"}}, {"name": "files", "prefix": "files/"}]
_THREADS = 2  # those of a lake of tests


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.row_queue")
    parser.add_argument("--messages", type=int, default=5000)
    parser.add_argument("--rounds", type=int, default=3)
    told = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="tg") as folder,
        Machine(Path(folder)) as machine,
        machine.lake("rows", _TABLES) as lake,
    ):
        found = {"messages": told.messages, **_ticks(lake, told.messages, told.rounds)}
        print(json.dumps({**found, **_runs(machine, lake, told.messages, told.rounds)}, indent=2))


def _bodies(messages: int) -> list[str]:
    return [
        json.dumps({"id": one, "name": f"row {one}", "price": one / 4, "tags": ["a", "b"]}) for one in range(messages)
    ]


def _fill(lake: TestLake, messages: int) -> None:
    sqs, url, bodies = lake.clients.sqs, lake.lake.queues[1].url, _bodies(messages)

    def send(start: int) -> None:
        entries: list[Any] = [{"Id": str(i), "MessageBody": one} for i, one in enumerate(bodies[start : start + 10])]
        sqs.send_message_batch(QueueUrl=url, Entries=entries)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(send, range(0, messages, 10)))


def _bare(lake: TestLake) -> None:
    sqs, url = lake.clients.sqs, lake.lake.queues[1].url

    def loop(_: int) -> None:
        while found := sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages"):
            gone: list[Any] = [{"Id": str(i), "ReceiptHandle": one["ReceiptHandle"]} for i, one in enumerate(found)]
            sqs.delete_message_batch(QueueUrl=url, Entries=gone)

    lake.clients.sqs.set_queue_attributes(QueueUrl=url, Attributes={"ReceiveMessageWaitTimeSeconds": "1"})
    with ThreadPoolExecutor(_THREADS) as pool:
        list(pool.map(loop, range(_THREADS)))


def _ticks(lake: TestLake, messages: int, rounds: int) -> dict[str, Any]:
    ticks, bare = [], []
    for _ in range(rounds):
        _fill(lake, messages)
        with spending() as spent:
            while take_in(lake.lake, seconds=40).received:
                pass
        ticks.append(spent)
        _fill(lake, messages)
        with spending() as spent:
            _bare(lake)
        bare.append(spent)
    return {"tick": _shown(ticks), "bare": _shown(bare), "ratio_of_cpu": _ratio(bare, ticks, "cpu"),
            "ratio": _ratio(bare, ticks, "seconds")}  # fmt: skip


def _runs(machine: Machine, lake: TestLake, messages: int, rounds: int) -> dict[str, Any]:
    """The last of some runs: the first ones warm the server up and bring the rows that lie there already."""
    found: dict[str, Any] = {}
    body = "".join(f"{one}\n" for one in _bodies(messages))
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
                run_table(lake.lake, lake.key(table), run_id="bench")
            found[table] = {**vars(spent), "jobs": machine.jobs() - before}
    return {"runs": found}


def _shown(all_spent: list[Spent]) -> dict[str, float]:
    return {name: round(statistics.median(getattr(one, name) for one in all_spent), 2) for name in ("seconds", "cpu")}


def _ratio(bare: list[Spent], ours: list[Spent], name: str) -> float:
    return round(_shown(bare)[name] / _shown(ours)[name], 2)


if __name__ == "__main__":
    main()
