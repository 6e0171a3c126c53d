"""`tidegate inventory manifest`: the objects of a query as S3 Batch Operations reads them."""

from __future__ import annotations

import io
import json
import shlex
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote_plus

import pytest
from rich.console import Console

from tidegate.platform.cli.errors import CommandError
from tidegate.platform.cli.inventory.manifest import run_manifest
from tidegate.platform.testing import TestLake
from tidegate.resources.aws.s3 import ObjectStore

ROWS = "('beta', 'x/1', 'v2'), ('acme', 'a b+c', 'v1'), ('acme', 'ü,\"', 'v3') AS t(bucket, Key, version_id)"


def test_each_bucket_has_a_manifest_and_a_call_with_its_etag(tidegate_lake: Callable[..., TestLake]) -> None:
    lake = tidegate_lake([])
    s3, folder = lake.clients.s3, f"s3://{lake.lake_bucket}/jobs/"

    def run(query: str) -> Any:
        console = Console(file=io.StringIO(), width=200)
        run_manifest(console, lake.lake, ObjectStore(s3), query, folder, "123456789012", as_json=True)
        return json.loads(console.file.getvalue())  # type: ignore[attr-defined]

    answer = run(f"SELECT version_id, Key, bucket FROM VALUES {ROWS}")
    found = {}
    for one, call in zip(answer["manifests"], answer["calls"], strict=True):
        read = s3.get_object(Bucket=lake.lake_bucket, Key=one["uri"].removeprefix(f"s3://{lake.lake_bucket}/"))
        lines = read["Body"].read().decode("ascii").splitlines()
        found[one["bucket"]] = [tuple(map(unquote_plus, line.split(","))) for line in lines]
        words = shlex.split(call)
        spec = json.loads(words[words.index("--manifest") + 1])
        assert spec["Location"] == {"ObjectArn": f"arn:aws:s3:::{lake.lake_bucket}/jobs/{one['bucket']}.csv"} | {
            "ETag": read["ETag"].strip('"')
        }
        assert spec["Spec"]["Fields"] == ["Bucket", "Key", "VersionId"]
        assert one["objects"] == len(lines)
    assert found == {
        "acme": [("acme", "a b+c", "v1"), ("acme", 'ü,"', "v3")],
        "beta": [("beta", "x/1", "v2")],
    }
    assert run(f"SELECT * FROM VALUES {ROWS} WHERE false")["manifests"] == []
    with pytest.raises(CommandError, match="the query has no column key, only bucket, version_id"):
        run(f"SELECT bucket, version_id FROM VALUES {ROWS}")
