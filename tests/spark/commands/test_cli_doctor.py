"""`tidegate doctor` on a real lake: without faults, then with the commit of a dead writer, then repaired."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pyspark

from tests.spark.conftest import Shell
from tests.support.log_store.delta_log import DeltaLog
from tidegate.platform.cli.check.lake import check_born
from tidegate.platform.cli.commands.doctor import run_doctor
from tidegate.platform.local.aws import REGION
from tidegate.platform.local.spark.jars import jars_folder
from tidegate.platform.local.spark.server_settings import LOG_STORE
from tidegate.platform.testing import TestLake

ROOT = Path(__file__).resolve().parents[3]
#: A staged commit, with the name that Delta's own store gives it.
CLASSIC = ".tmp/00000000000000000001.json.0b2f8b0e-4f6c-4b57-9c6e-2f2f0e6f1a11"


def parquet(count: int) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(pa.table({"id": range(count)}), buffer)
    return buffer.getvalue()


def test_a_dead_classic_writer_s_commit_is_found_and_settled(
    tidegate_lake: Callable[..., TestLake],
    shell: Shell,
) -> None:
    shell.width = 1000
    lake = tidegate_lake([{"name": "orders", "prefix": "orders/"}])
    shell.use(lake)
    lake.put("orders/a.parquet", parquet(3))
    lake.materialize("bronze", "orders")
    assert run_doctor(shell, lake.path, None, repair=False), shell.said()
    assert LOG_STORE in shell.said()
    jars = (
        "tidegate-jvm",
        "spark-sql-api",
        "delta-spark",
        "delta-storage",
        "hadoop-aws",
        "dynamodb",
        "netty",
        "lz4-java",
    )
    assert re.search(r"jars \[spark\.jars\]  " + ", ".join(rf"{jar}[-_]\S+\.jar" for jar in jars), shell.said())
    # The server runs with the versions of platform/jvm/pom.xml, and no module of Spark's own stays next to them.
    pom = (ROOT / "platform/jvm/pom.xml").read_text()
    for jar, name in (("netty-common", "netty"), ("lz4-java", "lz4")):
        (version,) = re.findall(rf"<{name}\.version>(.+)</", pom)
        assert f"{jar}-{version}.jar" in shell.said()
    spark = Path(pyspark.__file__).parent / "jars"
    ours, sparks = (
        {re.sub(r"-\d.*?Final", "", path.name) for path in folder.glob("netty-*.jar")}
        for folder in (jars_folder(), spark)
    )
    assert sparks <= ours, "modules of two versions of Netty would mix"
    where = f"{REGION} at {lake.stack.aws.endpoint}"
    assert (
        f"DynamoDB table delta_log [commit-table.state]  PAY_PER_REQUEST, TTL on expireTime, in {where}" in shell.said()
    )
    assert "reads of S3 [spark.stream]  fs.s3a.input.stream.type is classic" in shell.said()
    assert "bronze.orders: entries [log.entries]  version 0, under s3a://" in shell.said()
    assert "ledger.orders: entries" in shell.said()

    body = parquet(4)
    lake.put("orders/_by_another_writer.parquet", body)
    add = {
        "path": "_by_another_writer.parquet",
        "partitionValues": {},
        "size": len(body),
        "modificationTime": 0,
        "dataChange": True,
        "stats": '{"numRecords":4}',
    }
    log = DeltaLog(lake.clients, f"s3a://{lake.bucket}/orders")
    log.write(CLASSIC, json.dumps({"add": add}) + "\n")
    log.claim(1, CLASSIC)
    before = len(shell.said())
    assert not run_doctor(shell, lake.path, None, repair=False)
    assert "version 1 is pending" in shell.said()[before:]
    before = len(shell.said())
    assert run_doctor(shell, lake.path, None, repair=True), shell.said()[before:]
    assert (
        "bronze.orders: repair [log.repair]  settled; 0 entries closed, 0 staged commits swept" in shell.said()[before:]
    )
    assert [row[0] for row in lake.sql("SELECT count(*) FROM bronze.orders")] == [7]
    item = log.entries()[1]
    assert item["complete"] == {"S": "true"}
    assert int(item["expireTime"]["N"]) > 0

    # The whole log is deleted. The check reports why a run would stop.
    (spec,) = lake.lake.config.tables
    assert check_born(lake.lake.store, spec).detail == "registered"
    log_files = [item.key for item in lake.lake.store.objects.list_under(lake.bucket, "orders/_delta_log/")]
    lake.lake.store.objects.delete(lake.bucket, log_files)
    gone = check_born(lake.lake.store, spec)
    assert not gone.ok
    assert gone.detail.startswith(f"there is nothing at s3://{lake.bucket}/orders/_delta_log/, and the table has")
    assert "`tidegate reset orders`" in gone.detail
