"""The cost of a table is compared with the requests that S3 got, and with what the ledger says, row by row."""

from __future__ import annotations

import re
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pyspark.errors import PySparkException

from tests.support.lakes.harness import PROXIED, FaultLake, FaultServers
from tidegate.platform.bronze.options import RunOptions
from tidegate.platform.bronze.run import run_table
from tidegate.platform.core.config.commits import Commits
from tidegate.platform.core.config.lake import CostsSpec
from tidegate.platform.core.costs.table_cost import TableReport
from tidegate.platform.inventory.costs.measure import cost_figures, table_costs
from tidegate.platform.inventory.costs.recorded_months import recorded_months
from tidegate.platform.inventory.costs.recorded_tables import RecordedLedger

#: By how much the requests that are computed may differ from those that S3 got.
_TOLERANCE = 0.3
_BATCHES = 1
#: Batches of which one must be counted right.
_TRIES = 3
#: What belongs to no batch: a process that opens the lake, and `after_load`, which looks at an object and tags it.
_OTHERS = re.compile(r"/lake/(after|proven)/|prefix=lake%2Fafter|/lake\.json$|\?tagging$|^HEAD /landing-[a-z]+/load_")


def test_the_requests_of_a_table_are_those_that_were_counted(
    make_lake: Callable[..., FaultLake], servers: FaultServers, commits: Commits
) -> None:
    # Other modules have tables in the lake whose requests pass through the proxy.
    unique = uuid.uuid4().hex[:6]
    lake = make_lake(f"load_{unique}", f"reg_{unique}", name=PROXIED)
    for name in lake.tables:
        _run_batch(lake, name, "first")  # it makes the table
    reports = _reports(lake, commits)
    for tried in range(1, _TRIES + 1):
        before = reports
        counted = {table.table_key: _counted(lake, servers, name) for name, table in lake.tables.items()}
        reports = _reports(lake, commits)
        wrong = _differences(counted, before, reports)
        # What was known a minute ago is asked again, so a batch of a slow machine costs more.
        if not wrong:
            break
        assert tried < _TRIES, wrong
    for key in counted:
        assert reports[key].months[0].measured == 1.0
        assert reports[key].months[0].dollars["storage"] > 0
    _are_those_of_the_rows(lake)


def _differences(
    counted: Mapping[str, Counter[str]], before: Mapping[str, TableReport], after: Mapping[str, TableReport]
) -> list[tuple[str, dict[str, int], Counter[str]]]:
    """Return the tables whose computed requests are not those that S3 got, with both."""
    wrong = []
    for key, requests in counted.items():
        later, earlier = _usage(after[key]), _usage(before[key])
        # The test itself wrote the manifests, past the proxy.
        computed = {
            "writes": later.s3_writes - earlier.s3_writes - _BATCHES,
            "reads": later.s3_reads - earlier.s3_reads,
        }
        if any(abs(value - requests[kind]) > _TOLERANCE * requests[kind] for kind, value in computed.items()):
            wrong.append((key, computed, requests))
    return wrong


def _reports(lake: FaultLake, commits: Commits) -> dict[str, TableReport]:
    now = datetime.now(UTC)
    costs = table_costs(lake.lake, cost_figures(CostsSpec(), Path(), now, commits), now, 2, 300)
    return {report.table_key: report for report in costs.tables}


def _counted(lake: FaultLake, servers: FaultServers, name: str) -> Counter[str]:
    """Run batches of one file. Returns the requests that S3 got."""
    seen = servers.proxy.count(".*", ".*")
    for _ in range(_BATCHES):
        _run_batch(lake, name, uuid.uuid4().hex[:8])
    return _by_class(seen.requests)


def _run_batch(lake: FaultLake, name: str, file: str) -> None:
    table = lake.tables[name]
    table.put(file)
    lake.take_in()
    (done,) = run_table(lake.disturbed().table(table.table_key), RunOptions(run_id=f"{name}-{file}"))
    assert done.batch.counts() == {"committed": 1}


def _by_class(requests: Iterable[str]) -> Counter[str]:
    """Count requests to S3 as it bills them."""
    found: Counter[str] = Counter()
    for request in list(requests):
        method, _, path = request.partition(" ")
        if re.fullmatch(r"/+[A-Z]\w+", path) or _OTHERS.search(request):  # the former is of DynamoDB or SQS
            continue
        if method in ("PUT", "POST") or "list-type=2" in path:
            found["writes"] += 1
        elif method in ("GET", "HEAD"):
            found["reads"] += 1
    return found


def _usage(report: TableReport) -> Any:
    return report.months[0].usage


def _are_those_of_the_rows(lake: FaultLake) -> None:
    """Compute everything again in plain Python, from all rows of the ledgers."""
    tick = 30.0
    ledgers = {table.table_key: lake.lake.table(table.table_key).ledger for table in lake.tables.values()}
    recorded = {key: RecordedLedger(ledger, ledger.clock().version) for key, ledger in ledgers.items()}
    failed: dict[str, PySparkException] = {}
    found = dict(recorded_months(recorded, datetime(2020, 1, 1, tzinfo=UTC), tick, failed))
    assert not failed
    for key, ledger in ledgers.items():
        rows = [row.asDict() for row in lake.lake.delta.session.read.format("delta").load(ledger.location).collect()]
        headers, decided = ([row for row in rows if row["kind"] == kind] for kind in ("header", "row"))
        months = found[key]
        assert sum(month.batches for month in months) == len(headers)
        assert sum(month.timed for month in months) == len([row for row in headers if row["milliseconds"] > 0])
        total = sum(row["milliseconds"] for row in headers) / 1000
        assert abs(sum(month.seconds for month in months) - total) < 1e-6
        assert sum(month.runs for month in months) == len({row["run_id"] for row in headers})
        assert sum(month.messages for month in months) == len([row for row in decided if row["event_id"]])
        assert sum(month.manifests for month in months) == len({row["manifest"] for row in decided})
        read = [row for row in decided if row["status"] in ("committed", "quarantined") and row["etag"]]
        assert sum(month.files for month in months) == len(read)
        assert sum(month.bytes for month in months) == sum(row["size"] for row in read)
        begun = sorted(_slot(row["recorded_at"], tick) for row in headers)
        assert sorted(slot for month in months for slot in month.begun) == begun
        slots = Counter(_slot(row["event_time"], tick) for row in decided if row["event_time"])
        if len(months) == 1:
            assert list(months[0].arrivals) == sorted(slots.items())


def _slot(time: datetime, tick: float) -> int:
    return int(time.replace(tzinfo=time.tzinfo or UTC).timestamp() // tick)
