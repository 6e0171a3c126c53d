"""One lake owns a table. Changes by others stop ingestion with an error that names the remedy. The remedy works."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from pyspark.errors import PySparkException

from tests.support.log_store.delta_log import DeltaLog
from tidegate.assets.runs.tags import ALLOW_REMOVALS_TAG
from tidegate.platform.core.errors import DataError
from tidegate.platform.core.keys.s3_address import S3Address
from tidegate.platform.testing import TestLake

MakeLake = Callable[..., TestLake]
ORDERS: dict[str, Any] = {"name": "orders", "prefix": "orders/", "silver": {"keys": ["id"], "order": "at", "every": 10}}


def _land(lake: TestLake, kit: Any, id: int) -> None:
    lake.put(f"orders/{id}.parquet", kit.parquet([{"id": id, "at": 1}]))
    kit.run(lake, "orders")


def _refusal(lake: TestLake, kit: Any, id: int, condition: str) -> str:
    """Land a file for a table that must not be touched. Returns the first line of the refusal."""
    with pytest.raises(PySparkException, match=condition) as caught:
        _land(lake, kit, id)
    return str(caught.value).splitlines()[0]


def _follow(lake: TestLake, kit: Any, message: str) -> None:
    """Apply the remedy that the message names."""
    remedy = re.search(r"ALTER TABLE … ((?:UN)?SET TBLPROPERTIES \(.*?\))", message)
    assert remedy, f"no remedy in: {message}"
    kit.query(lake, f"ALTER TABLE {{t}} {remedy.group(1)}", t=kit.location(lake, "orders"))


@pytest.mark.limit("Tables", "A registered table belongs to one lake. A second lake on its prefix is refused.")
def test_a1_a_second_lake_on_the_same_prefix_is_refused(tidegate_lake: MakeLake, kit: Any) -> None:
    first = tidegate_lake([ORDERS])
    _land(first, kit, 1)
    second = tidegate_lake(
        [{**ORDERS, "prefix": f"s3://{first.bucket}/orders/"}], buckets=[first.bucket], discovery=False
    )
    first.put("orders/2.parquet", kit.parquet([{"id": 2, "at": 1}]))

    with pytest.raises(PySparkException, match="TIDEGATE_OWNERSHIP") as caught:
        kit.run(second, "orders")

    message = str(caught.value).splitlines()[0]
    assert first.lake.id in message
    assert second.lake.id in message
    assert kit.bronze(first, "orders") == [(1, 1)]
    # The owner continues, and misses no file that the other lake had read.
    kit.run(first, "orders")
    assert kit.bronze(first, "orders") == [(1, 1), (2, 1)]


def test_a_restore_stops_ingestion_until_it_is_acknowledged_and_silver_follows(
    tidegate_lake: MakeLake, kit: Any
) -> None:
    lake = tidegate_lake([{**ORDERS, "silver": {**ORDERS["silver"], "on_removed": "full"}}])
    _land(lake, kit, 1)
    _land(lake, kit, 2)
    kit.merge(lake, "orders")
    assert kit.silver(lake, "orders", "id") == [(1,), (2,)]
    kit.query(lake, "RESTORE TABLE {t} TO VERSION AS OF 0", t=kit.location(lake, "orders"))

    message = _refusal(lake, kit, 3, "TIDEGATE_FOREIGN")

    assert "version 2" in message
    assert "RESTORE" in message
    assert kit.bronze(lake, "orders") == [(1, 1)]
    _follow(lake, kit, message)
    kit.run(lake, "orders")
    assert kit.bronze(lake, "orders") == [(1, 1), (3, 1)]
    merged = kit.merge(lake, "orders")
    assert merged.why_full == "silver holds nothing of this bronze table as it is now"
    assert kit.silver(lake, "orders", "id") == [(1,), (3,)]
    assert kit.merge(lake, "orders") is None


def test_a_replace_stops_ingestion_until_it_is_acknowledged_and_silver_merges_in_full(
    tidegate_lake: MakeLake, kit: Any
) -> None:
    lake = tidegate_lake([ORDERS])
    _land(lake, kit, 1)
    kit.merge(lake, "orders")
    # The statement names the table, because with a path Delta treats CREATE OR REPLACE as CREATE IF NOT EXISTS.
    place = kit.location(lake, "orders")
    lake.sql(f"CREATE OR REPLACE TABLE bronze.orders (id bigint, at bigint) USING delta LOCATION '{place}'")

    message = _refusal(lake, kit, 2, "TIDEGATE_FOREIGN")

    assert "REPLACE TABLE" in message
    _follow(lake, kit, message)
    kit.run(lake, "orders")
    assert kit.bronze(lake, "orders") == [(2, 1)]
    assert kit.merge(lake, "orders").why_full is not None
    assert kit.silver(lake, "orders", "id, at") == [(1, 1), (2, 1)]


def test_a_dropped_table_stops_ingestion_with_the_remedy(tidegate_lake: MakeLake, kit: Any) -> None:
    lake = tidegate_lake([ORDERS])
    _land(lake, kit, 1)
    objects = lake.lake.store.objects
    log = {
        item.key: objects.get(lake.bucket, item.key) for item in objects.list_under(lake.bucket, "orders/_delta_log/")
    }
    objects.delete(lake.bucket, log)

    message = _refusal(lake, kit, 2, "TIDEGATE_DROPPED")

    assert "restore its _delta_log" in message
    for key, body in log.items():
        objects.put(lake.bucket, key, body or b"")
    kit.run(lake, "orders")
    assert kit.bronze(lake, "orders") == [(1, 1), (2, 1)]


def test_a_dropped_table_starts_over_as_the_remedy_says(tidegate_lake: MakeLake, kit: Any) -> None:
    lake = tidegate_lake([ORDERS])
    _land(lake, kit, 1)
    store, key = lake.lake.store, lake.key("orders")
    log = [item.key for item in store.objects.list_under(lake.bucket, "orders/_delta_log/")]
    store.objects.delete(lake.bucket, log)
    message = _refusal(lake, kit, 2, "TIDEGATE_DROPPED")

    places = [place.format(key=key) for place in ("ledger/{key}/", "batches/{key}/", "tables/{key}.json")]
    assert all(place in message for place in places)
    for location in (kit.location(lake, "orders"), lake.lake.table(key).ledger.location):
        DeltaLog(lake.clients, location).forget()
    for place in places:
        root, _, name = place.partition("/")
        found = store.objects.list_under(store.bucket, store.key(root, name.rstrip("/")))
        assert found
        store.objects.delete(store.bucket, [item.key for item in found])

    kit.run(lake, "orders")
    assert kit.bronze(lake, "orders") == [(1, 1), (2, 1)]


@pytest.mark.limit(
    "Tables",
    "A bronze table must not have `delta.setTransactionRetentionDuration`: transactions are its clock.",
)
def test_a_table_whose_transactions_expire_is_refused(tidegate_lake: MakeLake, kit: Any) -> None:
    lake = tidegate_lake([ORDERS])
    _land(lake, kit, 1)
    kit.query(
        lake,
        "ALTER TABLE {t} SET TBLPROPERTIES ('delta.setTransactionRetentionDuration' = 'interval 7 days')",
        t=kit.location(lake, "orders"),
    )

    message = _refusal(lake, kit, 2, "TIDEGATE_CLOCK")

    assert "setTransactionRetentionDuration" in message
    _follow(lake, kit, message)
    kit.run(lake, "orders")
    assert kit.bronze(lake, "orders") == [(1, 1), (2, 1)]


def test_many_removals_at_once_stop_and_ask_and_the_tag_allows_them(tidegate_lake: MakeLake, kit: Any) -> None:
    """The run also stops if no single batch would remove so many files."""
    lake = tidegate_lake([{**ORDERS, "max_files": 10}])
    for id in range(21):
        lake.put(f"orders/{id}.parquet", kit.parquet([{"id": id, "at": 1}]))
    kit.run(lake, "orders")
    for id in range(20):
        lake.delete(f"orders/{id}.parquet")
    version = kit.state(lake, "orders").version

    with pytest.raises(DataError, match=f"20 of 21 live files .* {ALLOW_REMOVALS_TAG}=true"):
        lake.materialize("bronze", "orders")

    assert kit.state(lake, "orders").version == version
    assert kit.state(lake, "orders").files == 21
    metadata = kit.metadata(lake.materialize("bronze", "orders", tags={ALLOW_REMOVALS_TAG: "true"}))
    assert metadata["removed"] == 20
    assert kit.bronze(lake, "orders") == [(20, 1)]


@pytest.mark.parametrize("way", ["array", "twice", "compacted", "vector"])
def test_no_spelling_of_such_an_entry_is_passed_over(tidegate_lake: MakeLake, kit: Any, way: str) -> None:
    """The writer of the log chooses how: what Spark would read stops the table, or what readers do not read alike."""
    lake = tidegate_lake([ORDERS])
    _land(lake, kit, 1)
    log = DeltaLog(lake.clients, kit.location(lake, "orders"))
    version = log.versions()[-1] + 1
    path = f"s3a://{lake.lake_bucket}/secret.parquet"
    add = {"path": path, "partitionValues": {}, "size": 999, "modificationTime": 1, "dataChange": True}
    line = json.dumps({"add": add}, separators=(",", ":"))
    harmless = json.dumps({"commitInfo": {"timestamp": 1, "operation": "WRITE", "operationParameters": {}}})
    hidden = {
        "storageType": "u",
        "pathOrInlineDv": "ab^-aqEH.-t@S}K{vb[*k^",
        "offset": 4,
        "sizeInBytes": 40,
        "cardinality": 1,
    }
    commits = {
        "array": [f"[{line}]"],
        "twice": ['{"add":{"path":"1.parquet",' + line.removeprefix('{"add":{')],
        "compacted": [harmless, harmless],
        "vector": [
            json.dumps({"add": {**add, "deletionVector": hidden}}),
            json.dumps({"remove": {"path": path, "deletionTimestamp": 1, "dataChange": True}}),
        ],
    }
    for offset, commit in enumerate(commits[way]):
        log.create(version + offset, commit)
    if way == "compacted":
        log.write(f"{version:020d}.{version + 1:020d}.compacted.json", line)

    with pytest.raises(Exception, match=r"TIDEGATE_(OWNERSHIP|FOREIGN)"):
        _land(lake, kit, 2)
    assert log.versions()[-1] == version + len(commits[way]) - 1


def test_a_sql_name_whose_table_is_gone_goes_to_the_next_table(tidegate_lake: MakeLake, kit: Any) -> None:
    """All lakes of one Spark server share its SQL names."""
    first = tidegate_lake([ORDERS])
    _land(first, kit, 1)
    objects = first.lake.store.objects
    bucket, prefix = S3Address.parse_s3a(kit.location(first, "orders"))
    objects.delete(bucket, [item.key for item in objects.list_under(bucket, f"{prefix}/")])
    second = tidegate_lake([ORDERS])

    _land(second, kit, 2)

    assert [row["id"] for row in second.lake.delta.session.sql("SELECT id FROM bronze.orders").collect()] == [2]


def test_an_entry_of_a_file_elsewhere_stops_ingestion_and_merges_until_it_is_restored(
    tidegate_lake: MakeLake, kit: Any
) -> None:
    """Who may put objects below a registered prefix can write its log, and would see what the Spark server can read."""
    lake = tidegate_lake([ORDERS])
    _land(lake, kit, 1)
    lake.lake.store.objects.put(lake.lake_bucket, "secret.parquet", kit.parquet([{"id": 99, "at": 1}]))
    log = DeltaLog(lake.clients, kit.location(lake, "orders"))
    version = log.versions()[-1] + 1
    path = f"s3a://{lake.lake_bucket}/secret.parquet"
    add = {"path": path, "partitionValues": {}, "size": 999, "modificationTime": 1, "dataChange": True}
    log.create(version, json.dumps({"add": add}))

    with pytest.raises(Exception, match=r"TIDEGATE_OWNERSHIP.*outside of the table: s3a") as caught:
        _land(lake, kit, 2)
    assert path in str(caught.value)
    with pytest.raises(DataError, match="TIDEGATE_OWNERSHIP"):
        kit.merge(lake, "orders")

    kit.query(lake, f"RESTORE TABLE {{t}} TO VERSION AS OF {version - 1}", t=kit.location(lake, "orders"))
    with pytest.raises(PySparkException, match="TIDEGATE_FOREIGN") as foreign:
        kit.run(lake, "orders")
    _follow(lake, kit, str(foreign.value).splitlines()[0])
    kit.run(lake, "orders")
    assert kit.bronze(lake, "orders") == [(1, 1), (2, 1)]


def test_a_ledger_whose_maker_died_when_it_began_is_made_by_the_next_run(tidegate_lake: MakeLake, kit: Any) -> None:
    """The dead run left an object in the log's folder. Spark takes the folder for a table, but there is no table."""
    lake = tidegate_lake([ORDERS])
    log = f"lake/ledger/{lake.key('orders')}/_delta_log"
    lake.clients.s3.put_object(Bucket=lake.lake_bucket, Key=f"{log}/.tmp/{0:020d}.json.dead", Body=b"{}")
    lake.put("orders/1.parquet", kit.parquet([{"id": 1}]))
    (done,) = kit.run(lake, "orders")
    assert done.landed.outcome == "committed"
    assert kit.fate(lake, "orders") == {"1.parquet": ("committed", "")}
    assert kit.run(lake, "orders") == []
