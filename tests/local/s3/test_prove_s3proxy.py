"""A proof on an S3 server without exclusive creations: it says so, makes no lake, and removes what it made.

SQS and DynamoDB are the local AWS: only S3 has another endpoint.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.console import Console

from tests.support.servers.s3proxy import S3Proxy
from tidegate.platform.cli.commands.prove import Wish, run_prove
from tidegate.platform.lake.aws.clients import Aws
from tidegate.platform.lake.spark.remote import REMOTE
from tidegate.platform.local.aws import REGION, LocalAws
from tidegate.platform.prove.resources import Resources

pytestmark = pytest.mark.timeout(180)


@pytest.fixture(scope="module")
def s3proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Proxy]:
    with S3Proxy(tmp_path_factory.mktemp("s3proxy") / "home") as running:
        yield running


def test_on_an_endpoint_without_exclusive_creations_no_lake_is_made(
    s3proxy: S3Proxy, local_aws: LocalAws, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    for name, value in {
        "AWS_ENDPOINT_URL_S3": s3proxy.endpoint,
        "AWS_ENDPOINT_URL_SQS": local_aws.endpoint,
        "AWS_ENDPOINT_URL_DYNAMODB": local_aws.endpoint,
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_REGION": REGION,
        "XDG_STATE_HOME": str(tmp_path / "state"),
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv(REMOTE, raising=False)
    console = Console(file=io.StringIO(), width=400, no_color=True)
    wish = Wish(60, True, False, False, tmp_path / "report", None, True, tmp_path / "runs")
    assert not run_prove(console, wish, lambda _: False)
    assert isinstance(console.file, io.StringIO)
    said = console.file.getvalue()
    (data,) = (tmp_path / "report").glob("*.json")
    report = json.loads(data.read_text())
    held = {claim["id"]: claim["held"] for claim in report["claims"]}
    assert held == {
        "create-once": False,
        "complete-once": False,
        "delete-if-match": False,
        "copy-if-match": True,
        "read-after-write": True,
        "list-after-write": True,
        "enter-once": True,
        "lake": None,
        "removed": True,
        "budget": True,
    }, said
    assert "exactly one succeeds: no. this endpoint cannot hold a lake" in said
    assert "Jetty" in report["endpoint"]
    # Its buckets have no tags: an object marked them.
    (id,) = [path.name for path in (tmp_path / "runs").iterdir()]
    found, strange = Resources(Aws(region_name=REGION)).find()
    assert [each for each in found if each.mark.id == id] == []
    assert [each for each in strange if id in each.name] == []
