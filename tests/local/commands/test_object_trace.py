"""`tidegate trace` on a real S3: what depends on the object's state in S3 and on its last state in the ledger."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.servers.fault_proxy import FaultProxy
from tidegate.platform.core.bronze.hint import Event, Hint
from tidegate.platform.core.bronze.ledger import LedgerRow, Stamp, Status
from tidegate.platform.core.bronze.manifest import Manifest
from tidegate.platform.core.config.after_load import MoveOrTag
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.keys.table_key import TableKey
from tidegate.platform.lake.aws.s3 import ObjectStore
from tidegate.platform.lake.lake import Lake
from tidegate.platform.lake.lake_root.store import LakeStore
from tidegate.platform.lake.ledger import Decision
from tidegate.platform.local.aws import REGION
from tidegate.platform.local.provision import Clients
from tidegate.platform.operations.object_trace import Trace, trace

KEY = "sales/a.csv"


class Way:
    """A lake with one table, whose ledger is a list.

    Attributes:
        decisions: the entries of the object in the ledger.
    """

    def __init__(self, endpoint: str) -> None:
        tag = uuid.uuid4().hex[:8]
        self.bucket, self.root = f"landing-{tag}", f"lake-{tag}"
        self.s3 = Clients.connect(endpoint, REGION, key="test", secret="test").s3
        for bucket in (self.bucket, self.root):
            self.s3.create_bucket(Bucket=bucket)
        self.decisions: list[Decision] = []

    def put(self, body: str) -> str:
        """Write the object. Returns its etag."""
        return str(self.s3.put_object(Bucket=self.bucket, Key=KEY, Body=body)["ETag"].strip('"'))

    def decided(self, status: Status, etag: str | None, **more: Any) -> None:
        n = len(self.decisions) + 1
        self.decisions.append(Decision(Stamp("row", n, "r", n, 0, 0), LedgerRow(KEY, status, etag=etag, **more)))

    def trace(self, after_load: Any = "keep") -> Trace:
        spec = {"name": "sales", "prefix": f"s3://{self.bucket}/sales/", "format": "csv", "after_load": after_load}
        config = LakeConfig.model_validate(
            {
                "lake": {"root": f"s3://{self.root}/own"},
                "queues": [{"name": "q"}],
                "buckets": [self.bucket],
                "tables": [spec],
            }
        )
        lake: Any = Lake(config, LakeStore(ObjectStore(self.s3), config.lake.root), None, [])  # type: ignore[arg-type]
        opened = lake.table
        ledger = SimpleNamespace(clock=lambda: (0, len(self.decisions)), history=lambda version, key: self.decisions)
        lake.table = lambda table_key: replace(opened(table_key), ledger=ledger)
        return trace(lake, self.bucket, KEY)


@pytest.fixture
def way(proxy: FaultProxy) -> Iterator[Way]:
    yield Way(proxy.endpoint)
    proxy.clear()


def refused(proxy: FaultProxy) -> None:
    proxy.status("HEAD", KEY, 403, None)


def unanswered(proxy: FaultProxy) -> None:
    # As a 503, which botocore would retry for long.
    proxy.status("HEAD", KEY, 400, None)


@pytest.mark.parametrize("last", [None, Status.COMMITTED], ids=["unknown", "committed"])
@pytest.mark.parametrize(
    ("fault", "stop", "remedy"),
    [
        (refused, "S3 denies access to it (403): ", "allow s3:GetObject on arn:aws:s3:::{}/sales/a.csv"),
        (unanswered, "S3 does not answer now: ", "trace it again when S3 answers"),
    ],
)
def test_what_s3_does_not_show_is_not_reported_as_missing(
    fault: Callable[[FaultProxy], None], stop: str, remedy: str, last: Status | None, way: Way, proxy: FaultProxy
) -> None:
    etag = way.put("id\n1\n")
    if last is not None:
        way.decided(last, etag)
    fault(proxy)
    found = way.trace()
    assert found.stops[0].detail.startswith(stop)
    assert found.verdict.startswith("it is unknown whether bronze.sales has its present bytes: ")
    assert remedy.format(way.bucket) in found.verdict


def test_what_is_in_quarantine_is_shown_though_s3_refuses_it(way: Way, proxy: FaultProxy) -> None:
    way.decided(Status.QUARANTINED, way.put("?"))
    refused(proxy)
    assert way.trace().verdict.startswith("it is in quarantine; fix the cause, then: tidegate redrive ")


@pytest.mark.parametrize(
    ("status", "after_load", "verdict"),
    [
        (Status.MOVED, "move", "it was moved to s3://{}/done/ once it was in bronze.sales"),
        (Status.MOVED, "delete", "it was removed by after_load once it was in bronze.sales"),
        (Status.COMMITTED, "keep", "it is gone, and no event announced that: materialize the partition {}.sales"),
        (Status.REMOVED, "keep", "it is gone, and bronze.sales knows: loaded rows stay"),
    ],
)
def test_what_became_of_an_object_that_is_gone(status: Status, after_load: Any, verdict: str, way: Way) -> None:
    way.decided(status, "e")
    found = way.trace(MoveOrTag(move=f"s3://{way.bucket}/done/") if after_load == "move" else after_load)
    assert found.stops[0].detail == "no such object"
    assert found.verdict == verdict.format(way.bucket)


def test_bytes_that_are_in_the_table_and_bytes_that_came_since(way: Way) -> None:
    way.decided(Status.COMMITTED, way.put("id\n1\n"))
    way.decided(Status.DUPLICATE, way.decisions[0].row.etag)
    assert way.trace().verdict == "its present bytes are in bronze.sales since version 1"
    way.put("id\n2\n")
    assert way.trace().verdict.startswith("its present bytes are not in bronze.sales, and no event announced them. ")


@pytest.mark.parametrize(
    ("status", "verdict"),
    [
        (Status.WAITING, "it is not in bronze.sales yet: it waits for _SUCCESS"),
        (Status.COMPLETE, "it is a completion signal, and its files are in bronze.sales: it waits for _SUCCESS"),
    ],
)
def test_what_waits_for_a_completion_signal_says_so(status: Status, verdict: str, way: Way) -> None:
    way.decided(status, way.put("1"), reason="it waits for _SUCCESS")
    assert way.trace().verdict == verdict


def test_a_decision_names_the_folder_of_its_bad_rows(way: Way) -> None:
    way.decided(Status.COMMITTED, way.put("id\n1\n"), reason="1 of its 2 rows", bad_rows_folder="s3a://l/x")
    (decision,) = [stop.detail for stop in way.trace().stops if "1 of its 2 rows" in stop.detail]
    assert decision.endswith("; its bad rows are in s3a://l/x: 1 of its 2 rows")


def test_rows_of_a_registered_table_leave_with_their_file(way: Way) -> None:
    way.decided(Status.REMOVED, None)
    LakeStore(ObjectStore(way.s3), f"s3://{way.root}/own").births.ensure_birth(
        f"{way.bucket}.sales", "sales", registered=True
    )
    assert way.trace().verdict == "it is gone, and bronze.sales knows: its rows left with it"


def test_what_waits_for_a_day_with_room_for_its_table_says_so(way: Way) -> None:
    way.put("id\n1\n")
    store = LakeStore(ObjectStore(way.s3), f"s3://{way.root}/own")
    event = Hint(KEY, Event("e1"))
    store.held.put([Manifest.create(TableKey(way.bucket, "sales/").encode(), "intake", [event])])
    found = way.trace()
    assert [(stop.what, stop.detail.split(" waits ")[0]) for stop in found.stops[2:]] == [
        ("held", "ObjectCreated:Put (event e1)")
    ]
    assert found.verdict.startswith("its folder is not a table yet, because the day had as many new tables")
    assert found.waits_for is None
