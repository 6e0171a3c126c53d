"""`tidegate check` on a real local platform."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.spark.conftest import Shell
from tidegate.platform.cli.check.check import run_check
from tidegate.platform.cli.check.known_checks import Check
from tidegate.platform.cli.check.lake import check_spark
from tidegate.platform.cli.check.silver import check_silver
from tidegate.platform.cli.errors import CommandError
from tidegate.platform.lake.lake_root.store import LakeStore
from tidegate.platform.testing import TestLake

TABLES = [{"name": "orders", "prefix": "shop/orders/", "format": "parquet"}]
SILVER = {"keys": ["ID"], "order": "at", "every": 10}
MERGED = {"name": "merged", "prefix": "merged/", "format": "json", "silver": SILVER}


def test_a_right_lake_and_where_a_key_goes(
    tidegate_lake: Callable[..., TestLake],
    shell: Shell,
) -> None:
    lake = tidegate_lake(TABLES)
    shell.use(lake)
    assert run_check(shell, lake.path, None, f"s3://{lake.bucket}/shop/orders/x.parquet"), shell.said()
    text = " ".join(shell.said().split())
    assert "FAILED" not in text
    for what in (
        "visibility timeout",
        "dead-letter queue",
        "notification",
        "conditional put",
        "procedures",
        "may send",
    ):
        assert what in text
    assert f"goes to bronze.orders ({lake.key('orders')}), registered where it is" in text
    assert "the prefix of table 'orders' in lake.yaml" in text
    assert "all checks ok" in text
    # The check has removed its probes, and their events make no table.
    assert [item.key for item in lake.lake.store.objects.list_under(lake.bucket, "")] == []
    assert lake.intake().hints == {}

    # A server that cannot read the lake root has Tidegate's procedures all the same.
    remote, nowhere = lake.stack.spark.remote, LakeStore(lake.lake.store.objects, "s3://not-a-bucket-of-anybody/lake")
    findings = {finding.check: finding for finding in check_spark(remote, nowhere)}
    assert {check: finding.ok for check, finding in findings.items()} == {
        Check.SPARK_ANSWERS: True,
        Check.SPARK_PROCEDURES: True,
        Check.SPARK_ROOT: False,
        Check.SPARK_COMMITS: True,
    }
    root = findings[Check.SPARK_ROOT].detail
    assert "The specified bucket does not exist" in root
    assert root.endswith("may read s3://not-a-bucket-of-anybody/lake/, and that the bucket exists")

    # This table was discovered inside the prefix that is configured now, so the two overlap.
    lake.lake.store.births.ensure_birth(f"{lake.key('orders')}.old", "old", registered=False)
    lake.clients.sqs.set_queue_attributes(QueueUrl=lake.lake.queues[0].url, Attributes={"VisibilityTimeout": "5"})
    lake.clients.s3.put_bucket_notification_configuration(Bucket=lake.bucket, NotificationConfiguration={})
    lake.put(f"shop/_delta_log/{0:020d}.json", '{"metaData": {"configuration": {}}}')
    before = len(shell.said())
    assert not run_check(shell, lake.path, None, f"s3://{lake.bucket}/shop/orders/old/x.json")
    failed = [line for line in shell.said()[before:].split("\n") if "FAILED" in line]
    wrong = ("visibility timeout", "notification", "no Delta table of somebody else's", "no overlap")
    assert len(failed) == len(wrong), shell.said()[before:]
    for line, what in zip(failed, wrong, strict=True):
        assert what in line


def test_columns_that_silver_names_and_bronze_has_not_are_reported(
    tidegate_lake: Callable[..., TestLake],
    kit: Any,
    shell: Shell,
) -> None:
    lake = tidegate_lake([MERGED])
    shell.use(lake)

    def silver(*options: dict[str, Any]) -> list[str]:
        specs = [kit.second(lake, "merged", "merged", {**SILVER, **changes}) for changes in options]
        found = check_silver(lake.stack.spark.remote, lake.lake.store, specs)
        return [f"{'ok' if finding.ok else 'FAILED'} {finding.detail}" for finding in found]

    assert silver({}) == ["ok no bronze table yet"]
    lake.put("merged/1.json", kit.lines({"id": 1, "at": 1, "info": {"id": 1}}))
    kit.run(lake, "merged")
    right: list[dict[str, Any]] = [
        {"delete_when": "info.id > 5 -- never"},
        {"keys": ["info.id", "abs(id)"], "order": ["at", "info.id"]},
        {"rename": {"info": "more"}, "derive": {"twice": "at * 2"}, "cast": {"twice": "string"}},
    ]
    assert silver(*right) == ["ok bronze has these columns"] * 3
    wrong: dict[str, dict[str, Any]] = {
        "bronze has no column 'info.no'": {"keys": ["info.no"]},
        "bronze has no column 'when'": {"order": "when"},
        "bronze does not fit `order` of `silver`: there is no column `no`; the": {"order": "(at - no)"},
        'cannot cast "STRUCT<id: BIGINT>" to "INT"': {"cast": {"info": "int"}},
        "every merge fails: bronze does not fit `delete_when` of `silver`: there is no column": {
            "delete_when": "gone = 'yes'"
        },
    }
    for why, said in zip(wrong, silver(*wrong.values()), strict=True):
        assert said.startswith("FAILED")
        assert why in said
    # What silver was merged with is compared, too, and descriptions, cluster and personal names of no column are named.
    kit.merge(lake, "merged")
    body = yaml.safe_load(lake.path.read_text())
    changed = {**SILVER, "apply_as_truncates": "at < 0", "cluster_by": "infos"}
    body["tables"][0] |= {"silver": changed, "descriptions": {"ID": "number", "_changed_at": "when", "infos": "more"}}
    body["tables"][0]["personal"] = {"columns": ["info.mail"]}
    lake.path.write_text(yaml.safe_dump(body))
    run_check(shell, lake.path, None, None)
    said = " ".join(shell.said().split())
    why = "every merge fails: `apply_as_truncates` of `silver` in lake.yaml has changed from nothing to at < 0"
    assert f"FAILED table merged: columns that silver names [table.silver-columns] {why}" in said
    assert "no column is called 'infos'; it has " in said
    assert "silver.merged is not clustered by `cluster_by`: it has no column infos (yet); correct `cluster_by`" in said
    assert "no column is called 'info.mail'; it has info.id. If it is called otherwise" in said


def test_an_invalid_lake_is_reported_line_by_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shell: Shell
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TIDEGATE_LAKE", "unused")
    (tmp_path / "lake.yaml").write_text("lake: {root: s3://lake/x}\nqueues: [{name: q}]\nbuckets: [B]\ntables: [{}]\n")
    assert not run_check(shell, tmp_path / "lake.yaml", None, None)
    text = shell.said().replace("\n", "")
    assert "lake.yaml:3: buckets[0]" in text
    assert "lake.yaml:4: tables[0].name" in text


def test_a_home_on_which_nothing_runs_is_an_error(tmp_path: Path, shell: Shell) -> None:
    with pytest.raises(CommandError, match="no local platform runs on"):
        run_check(shell, None, tmp_path, None)
