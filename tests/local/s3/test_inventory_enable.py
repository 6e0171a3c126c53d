"""`tidegate inventory enable` over HTTP: moto's S3 has inventory configurations, which the local AWS lacks."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from moto.server import ThreadedMotoServer
from rich.console import Console

from tests.unit.conftest import PAPER
from tidegate.platform.cli.inventory.enable import run_enable
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.lake.aws.bucket_inventories import BucketInventories

ACCOUNT = "111122223333"
TABLE = {
    "name": "objects",
    "prefix": "s3://second/inventory/",
    "mode": "inventory",
    "inventories": {"buckets": ["acme-*"]},
}
CONFIG = LakeConfig.model_validate({**PAPER, "tables": [TABLE]})


@pytest.fixture
def s3() -> Iterator[Any]:
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        yield boto3.client(
            "s3",
            endpoint_url=f"http://{host}:{port}",
            region_name="us-east-1",
            aws_access_key_id="test",
            aws_secret_access_key="test",
        )
    finally:
        server.stop()


def test_what_is_written_is_what_s3_then_has_and_a_second_run_writes_nothing(s3: Any) -> None:
    for bucket in ("acme-a", "acme-b", "second", "unrelated"):
        s3.create_bucket(Bucket=bucket)
    inventories = BucketInventories(s3)
    theirs = {
        "Id": "theirs",
        "IsEnabled": False,
        "IncludedObjectVersions": "All",
        "Schedule": {"Frequency": "Weekly"},
        "Destination": {"S3BucketDestination": {"Bucket": "arn:aws:s3:::elsewhere", "Format": "CSV"}},
    }
    inventories.put_configuration("acme-a", theirs)

    def enable() -> str:
        console = Console(file=io.StringIO(), width=200)
        run_enable(console, CONFIG, "", ACCOUNT, inventories, yes=True)
        return console.file.getvalue()  # type: ignore[attr-defined,no-any-return]

    assert "inventory tidegate of acme-b:\n  there is none" in enable()
    for bucket in ("acme-a", "acme-b"):
        found = inventories.configuration(bucket, "tidegate")
        assert found is not None
        assert (found["IsEnabled"], found["Schedule"]) == (True, {"Frequency": "Daily"})
        destination = found["Destination"]["S3BucketDestination"]
        assert (destination["Bucket"], destination["Format"]) == ("arn:aws:s3:::second", "Parquet")
        assert "Size" in found["OptionalFields"]
    assert inventories.configuration("unrelated", "tidegate") is None
    assert inventories.configuration("acme-a", "theirs") == theirs, "another team's configuration stays"
    policy = inventories.policy("second")
    assert policy is not None
    assert [statement["Sid"][:19] for statement in policy["Statement"]] == ["TidegateInventories"]
    assert enable() == "nothing to do: policy and inventory configurations are as lake.yaml says\n"
