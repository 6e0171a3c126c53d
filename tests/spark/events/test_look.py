"""The look concludes nothing from an answer that S3 did not give. The preparation uses only bytes that it has read."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.support.servers.fault_proxy import FaultProxy
from tidegate.platform.bronze import run as bronze_run
from tidegate.platform.bronze.options import RunOptions
from tidegate.platform.bronze.prepare import parquet_candidates
from tidegate.platform.bronze.prepare.load.load import Load
from tidegate.platform.bronze.run import run_table
from tidegate.platform.bronze.small_objects import SMALL_BYTES
from tidegate.platform.core.config.load import load_lake
from tidegate.platform.lake.aws.clients import Aws
from tidegate.platform.lake.aws.s3 import StoreError
from tidegate.platform.lake.lake import Lake, open_lake
from tidegate.platform.testing import TestLake

MakeLake = Callable[..., TestLake]
ORDERS = {"name": "orders", "prefix": "orders/"}


@pytest.fixture
def faulty(tidegate_lake: MakeLake) -> Iterator[tuple[TestLake, FaultProxy, Lake]]:
    """Yield a lake, and handles on it that reach S3 through a proxy. Spark reaches S3 directly."""
    lake = tidegate_lake([ORDERS])
    aws = lake.stack.aws.environ
    with FaultProxy(lake.stack.aws.endpoint) as proxy:
        client = Aws(
            endpoint_url=proxy.endpoint,
            region_name=aws["AWS_REGION"],
            aws_access_key_id=aws["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=aws["AWS_SECRET_ACCESS_KEY"],
            max_attempts=1,
        )
        yield (
            lake,
            proxy,
            open_lake(load_lake(lake.path), client, lake.stack.spark.remote, lambda: lake.lake.delta.session),
        )


def _run(handles: Lake, lake: TestLake, **options: Any) -> list[Any]:
    return run_table(handles.table(lake.key("orders")), RunOptions("test", **{"listing": True, **options}))


def test_a_key_about_which_s3_does_not_say_is_deferred_and_ingested_later(
    faulty: tuple[TestLake, FaultProxy, Lake], kit: Any
) -> None:
    lake, proxy, handles = faulty
    for id in (1, 2):
        lake.put(f"orders/{id}.parquet", kit.parquet([{"id": id}]))
    proxy.status("HEAD|GET", r"orders/1\.parquet", 503, times=None)

    done = _run(handles, lake)

    assert done[0].batch.counts() == {"committed": 1}
    assert [hint.key for hint in done[0].batch.deferred] == ["orders/1.parquet"]
    assert len(done) <= 2, "a run must not spin on a key that S3 does not answer for"
    assert kit.bronze(lake, "orders") == [(2,)]
    kit.run(lake, "orders", listing=False)
    assert kit.bronze(lake, "orders") == [(1,), (2,)]
    assert lake.lake.store.inbox.waiting_manifests() == []


def test_a_footer_that_s3_does_not_give_defers_the_file(faulty: tuple[TestLake, FaultProxy, Lake], kit: Any) -> None:
    lake, proxy, handles = faulty
    lake.put("orders/1.parquet", kit.parquet([{"id": 1}]))
    rule = proxy.status("GET", r"orders/1\.parquet", 500, times=None)
    done = _run(handles, lake)
    assert rule.count > 0
    assert [hint.key for hint in done[0].batch.deferred] == ["orders/1.parquet"]
    kit.run(lake, "orders", listing=False)
    assert kit.bronze(lake, "orders") == [(1,)]


@pytest.mark.parametrize("key", ["orders/1.parquet", "orders/1.csv"])
def test_an_object_that_s3_shows_and_does_not_give_is_quarantined(
    key: str, faulty: tuple[TestLake, FaultProxy, Lake], kit: Any
) -> None:
    """For example, its KMS key is missing, or the object is archived."""
    lake, proxy, handles = faulty
    lake.put(key, kit.parquet([{"id": 1}]) if key.endswith("parquet") else "id\n1\n")
    body = b"<Error><Code>InvalidObjectState</Code><Message>it is archived</Message></Error>"
    proxy.status("GET", key, 403, times=None, body=body)
    (done,) = _run(handles, lake)
    assert done.batch.deferred == ()
    ((status, reason),) = kit.fate(lake, "orders").values()
    assert status == "quarantined"
    assert "InvalidObjectState" in reason
    # After a restore, or after access is allowed, no event is needed.
    kit.run(lake, "orders")
    assert kit.bronze(lake, "orders", "cast(id AS int)") == [(1,)]


def test_access_denied_is_quarantined_and_the_live_entry_stays(
    faulty: tuple[TestLake, FaultProxy, Lake], kit: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake, proxy, handles = faulty
    lake.put("orders/1.parquet", kit.parquet([{"id": 1}]))
    lake.put("orders/_SUCCESS", "")  # S3 gives it while it denies the others
    kit.run(lake, "orders")
    lake.intake()
    kit.run(lake, "orders", listing=False)
    lake.put("orders/2.parquet", kit.parquet([{"id": 2}]))
    kit.send(lake, kit.event(lake, "orders/1.parquet"))
    lake.intake()
    proxy.status("HEAD|GET", r"orders/\d\.parquet", 403, times=None)

    (done,) = _run(handles, lake, listing=False)

    assert done.batch.counts() == {"quarantined": 2}
    assert all("access denied" in (row.reason or "") for row in done.batch.rows)
    assert done.batch.removes == ()
    assert kit.bronze(lake, "orders") == [(1,)]
    ledger = handles.table(lake.key("orders")).ledger
    asked = (*ledger.clock(), ["orders/1.parquet", "orders/2.parquet", "orders/3.parquet"])
    assert handles.delta.ledger_memory(ledger.location, *asked) is not None
    header, states = ledger.memory(*asked)
    assert list(states) == ["orders/1.parquet"], "a refused look tells no state"
    assert handles.delta.ledger_memory(ledger.location, asked[0], 0, None) is not None
    assert ledger.live_keys(asked[0]) == states
    with monkeypatch.context() as patch:
        patch.setattr(handles.delta, "ledger_memory", lambda *_: None)
        assert ledger.memory(*asked) == (header, states), "the ledger's files and a query of it say the same"
        assert ledger.live_keys(asked[0]) == states
    # Once access is back, a run with a listing repairs both.
    kit.run(lake, "orders")
    assert kit.bronze(lake, "orders")[0] == (1,)


def test_a_bucket_that_is_gone_stops_the_run_and_removes_nothing(
    faulty: tuple[TestLake, FaultProxy, Lake], kit: Any
) -> None:
    lake, proxy, handles = faulty
    lake.put("orders/1.parquet", kit.parquet([{"id": 1}]))
    kit.run(lake, "orders")
    lake.intake()
    proxy.status("HEAD", rf"/{lake.bucket}(/|\?|$)", 404, times=None)

    for listing in (True, False):
        with pytest.raises(StoreError, match=f"bucket s3://{lake.bucket} does not exist"):
            _run(handles, lake, listing=listing)

    assert kit.bronze(lake, "orders") == [(1,)]
    assert len(lake.lake.store.inbox.waiting_manifests()) == 1


def test_a_registered_file_that_changes_while_it_is_prepared_is_deferred_then_taken_as_it_is(
    tidegate_lake: MakeLake, kit: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = tidegate_lake([ORDERS])
    lake.put("orders/1.parquet", kit.parquet([{"id": 1}]))
    lake.put("orders/2.parquet", kit.parquet([{"id": 2}]))
    # The footer is longer than what the look reads. It is read later, on condition that the file is still the same.
    monkeypatch.setattr(parquet_candidates, "_TAIL_BYTES", 8)
    prepare, times = bronze_run.prepare, []  # type: ignore[attr-defined]

    def overwritten_first(*arguments: Any) -> Any:
        times.append(1)
        if len(times) == 1:
            lake.put("orders/1.parquet", kit.parquet([{"id": 11}, {"id": 12}]))
        return prepare(*arguments)

    monkeypatch.setattr(bronze_run, "prepare", overwritten_first)
    first, second = kit.run(lake, "orders")

    assert [hint.key for hint in first.batch.deferred] == ["orders/1.parquet"]
    assert second.batch.counts() == {"committed": 1}
    assert kit.bronze(lake, "orders") == [(11,), (12,), (2,)]


def test_small_files_cost_one_request_each_and_are_read_as_the_look_saw_them(
    faulty: tuple[TestLake, FaultProxy, Lake], kit: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lines, an array, compressed files, and cells of several lines. S3 has none of these objects after the look."""
    lake, proxy, handles = faulty
    bodies = {
        "orders/1.json": b'{"id": 1, "name": "a"}\n{"id": 2, "name": "b"}\n',
        "orders/2.json": b'[{"id": 3}, {"id": 4, "price": 0.5}]',
        "orders/3.json.gz": gzip.compress(b'{"id": 5}\n') + gzip.compress(b'{"id": 6}\n'),
        "orders/4.csv": b'id,name\r\n7,"c\nd"\r\n',
        "orders/5.csv": b"name,id\ne,8\n",
        "orders/b[1].json": b'{"id": 9}\n',
    }
    for key, body in bodies.items():
        lake.put(key, body)
    lake.intake()
    asked, look = proxy.count(".*", "landing.*/orders/"), bronze_run.look  # type: ignore[attr-defined]

    def looked(*given: Any, **more: Any) -> Any:
        work = look(*given, **more)
        for key in bodies:
            lake.delete(key)
        return work

    monkeypatch.setattr(bronze_run, "look", looked)
    (done,) = run_table(handles.table(lake.key("orders")), RunOptions(run_id="test"))

    assert done.batch.counts() == {"committed": len(bodies)}
    assert [request.partition(" ")[0] for request in asked.requests] == ["GET"] * len(bodies)
    assert kit.bronze(lake, "orders", "id, name, price") == [
        *[(1, "a", None), (2, "b", None), (3, None, None), (4, None, 0.5), (5, None, None), (6, None, None)],
        *[(7, "c\nd", None), (8, "e", None), (9, None, None)],
    ]


def test_a_loaded_file_that_changes_while_it_is_read_is_deferred_and_the_set_staged_again(
    tidegate_lake: MakeLake, kit: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = tidegate_lake([{"name": "items", "prefix": "items/", "columns": {"id": "int"}}])
    # The look reads small files as a whole, so only a larger file can change afterwards.
    blank = f"{' ' * SMALL_BYTES}\n"
    lake.put("items/1.json", '{"id": 1}\n' + blank)
    lake.put("items/2.json", '{"id": 2}\n' + blank)
    changed, sets = Load._changed_keys, []

    def overwritten_before(load: Load, files: Any) -> Any:
        sets.append([file.candidate.key for file in files])
        if len(sets) == 1:
            lake.put("items/1.json", '{"id": 11}\n' + blank)
        return changed(load, files)

    monkeypatch.setattr(Load, "_changed_keys", overwritten_before)
    first, second = kit.run(lake, "items")

    assert sets == [["items/1.json", "items/2.json"], ["items/2.json"], ["items/1.json"]]
    assert [hint.key for hint in first.batch.deferred] == ["items/1.json"]
    assert second.batch.counts() == {"committed": 1}
    assert kit.bronze(lake, "items", "id") == [(11,), (2,)]


def test_a_poison_file_in_a_load_is_isolated_by_halving(tidegate_lake: MakeLake, kit: Any) -> None:
    lake = tidegate_lake([{"name": "items", "prefix": "items/", "columns": {"id": "int"}}])
    for id in range(5):
        lake.put(f"items/{id}.json", f'{{"id": {id}}}\n')
    whole = gzip.compress(b'{"id": 100}\n' * 9000)
    lake.put("items/poison.json.gz", whole[: len(whole) // 2])

    (done,) = kit.run(lake, "items")

    assert done.batch.counts() == {"committed": 5, "quarantined": 1}
    (poison,) = [row for row in done.batch.rows if row.status == "quarantined"]
    assert poison.key == "items/poison.json.gz"
    assert (poison.reason or "").startswith("broken gzip: ")
    assert kit.bronze(lake, "items", "id") == [(id,) for id in range(5)]
