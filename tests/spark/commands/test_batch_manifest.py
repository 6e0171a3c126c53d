"""`tidegate inventory manifest`: objects of a query, and whole inventories, as S3 Batch Operations reads them."""

from __future__ import annotations

import io
import json
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote_plus

import pytest
from rich.console import Console

from tests.support.lakes.inventory import Line, deliver
from tidegate.platform.cli.answers.inventory import ManifestAnswer, WrittenManifest
from tidegate.platform.cli.errors import CommandError
from tidegate.platform.cli.inventory.manifest import ManifestQuestion, run_manifest
from tidegate.platform.core.keys.s3_address import S3Address
from tidegate.platform.lake.aws.s3 import ObjectStore
from tidegate.platform.testing import TestLake

#: A join gives an object several times.
ROWS = (
    "('beta', 'x/1', NULL), ('acme', 'ü,\"', 'v3'), ('acme', 'a b+c', 'v1'), ('acme', 'ü,\"', 'v3') "
    "AS t(bucket, Key, version_id)"
)


@dataclass(frozen=True)
class Manifests:
    """The command, over one lake."""

    lake: TestLake

    def answer(self, **asked: str) -> ManifestAnswer:
        console = Console(file=io.StringIO(), width=200)
        store = ObjectStore(self.lake.clients.s3)
        run_manifest(console, self.lake.lake, store, ManifestQuestion(**asked), "123456789012", as_json=True)
        return ManifestAnswer.model_validate_json(console.file.getvalue(), strict=True)  # type: ignore[attr-defined]

    def checked_call(self, written: WrittenManifest) -> dict[str, Any]:
        """Return the manifest in the call, whose ETag is that of the object."""
        words = shlex.split(written.call)
        spec: dict[str, Any] = json.loads(words[words.index("--manifest") + 1])
        bucket, key = S3Address.parse(written.uri)
        etag = self.lake.clients.s3.head_object(Bucket=bucket, Key=key)["ETag"].strip('"')
        assert spec["Location"] == {"ObjectArn": f"arn:aws:s3:::{bucket}/{key}", "ETag": etag}
        assert written.etag == etag
        return dict(spec["Spec"])


def test_lists_and_inventories_are_manifests_with_calls_that_name_their_etags(
    tidegate_lake: Callable[..., TestLake], kit: Any
) -> None:
    lake = tidegate_lake([{"name": "objects", "prefix": "inventory/", "mode": "inventory"}])
    manifests = Manifests(lake)
    _lists(manifests)
    _inventories(manifests, kit)


def _lists(manifests: Manifests) -> None:
    lake, folder = manifests.lake, f"s3://{manifests.lake.lake_bucket}/jobs/"
    answer = manifests.answer(sql=f"SELECT version_id, Key, bucket FROM VALUES {ROWS}", to=folder)
    found = {}
    for manifest in answer.manifests:
        spec = manifests.checked_call(manifest)
        assert manifest.uri == f"{folder}{manifest.bucket}.csv"
        read = lake.clients.s3.get_object(Bucket=lake.lake_bucket, Key=S3Address.parse(manifest.uri).key)
        lines = read["Body"].read().decode("ascii").splitlines()
        found[manifest.bucket] = [tuple(map(unquote_plus, line.split(","))) for line in lines]
        assert spec == {"Format": "S3BatchOperations_CSV_20180820", "Fields": list(manifest.fields)}
        assert manifest.objects == len(lines)
    # Each bucket has the field VersionId if its objects have versions.
    assert found == {
        "acme": [("acme", "a b+c", "v1"), ("acme", 'ü,"', "v3")],
        "beta": [("beta", "x/1")],
    }
    assert {manifest.bucket: (len(manifest.fields), manifest.duplicates) for manifest in answer.manifests} == {
        "acme": (3, 1),
        "beta": (2, 0),
    }


def _inventories(manifests: Manifests, kit: Any) -> None:
    """Check that a CSV inventory is a manifest as S3 delivered it.

    Other formats, null versions, and what is gone, are refused.
    """
    lake, lines = manifests.lake, [Line("a", 1, "e"), Line("b", 2, "e", latest=False)]
    deliveries = {}
    for bucket in ("acme", "beta", "gone", "null", "orc"):
        made = deliver(
            lines if bucket != "null" else [*lines, Line("c", 3, "e", latest=False, null=True)],
            prefix=f"inventory/{bucket}/all/",
            source=bucket,
            created=1.75e9,
            format="ORC" if bucket == "orc" else "CSV",
            versions=bucket != "beta",
        )
        deliveries[bucket] = made
        for key, body in made.objects.items():
            lake.put(key, body)
    lake.intake()
    kit.run(lake, "objects", listing=False)
    lake.clients.s3.delete_object(Bucket=lake.bucket, Key=deliveries["gone"].data[0])
    answer = manifests.answer(table="objects")
    assert [(manifest.bucket, manifest.objects, manifest.fields) for manifest in answer.manifests] == [
        ("acme", 2, ()),
        ("beta", 1, ()),
    ]
    for manifest in answer.manifests:
        assert manifest.uri == f"s3://{lake.bucket}/{deliveries[manifest.bucket].manifest}"
        assert manifests.checked_call(manifest) == {"Format": "S3InventoryReport_CSV_20161130"}
    reasons = {unusable_inventory.bucket: unusable_inventory.reason for unusable_inventory in answer.refused}
    assert reasons["orc"].startswith("its inventory is ORC, and S3 Batch Operations takes only CSV inventories")
    assert "is gone, which" in reasons["gone"]
    assert reasons["null"].startswith("its inventory has no version ID of 1 null versions, for which a job would fail")
    assert [manifest.bucket for manifest in manifests.answer(table="objects", bucket="beta").manifests] == ["beta"]
    _versions(manifests)


def _versions(manifests: Manifests) -> None:
    """Check that a job works on the version that the query found, or there is no manifest."""
    lake, folder = manifests.lake, f"s3://{manifests.lake.lake_bucket}/versions/"
    rows = "SELECT bucket, key, version_id FROM bronze.objects WHERE"
    chosen = f"{rows} bucket = 'beta' OR bucket = 'null' AND key = 'c'"
    beta, null = manifests.answer(sql=chosen, to=folder).manifests
    read = lake.clients.s3.get_object(Bucket=lake.lake_bucket, Key=S3Address.parse(null.uri).key)
    assert (read["Body"].read(), null.fields) == (b"null,c,null\n", ("Bucket", "Key", "VersionId"))
    # Rows of an inventory of current versions have no version, and rows of earlier versions of Tidegate neither.
    assert (beta.objects, beta.fields) == (1, ("Bucket", "Key"))
    with pytest.raises(CommandError, match="objects of null no version ID, and its inventory lists all versions"):
        manifests.answer(sql="SELECT bucket, key, NULL AS version_id FROM bronze.objects WHERE key = 'c'", to=folder)
