"""The export of a silver table's changes: each change once, whatever dies, as files that manifests name."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.support.lakes.seams import dying_in
from tidegate.assets.silver.export import export as module
from tidegate.assets.silver.export.export import SEAMS, export_changes
from tidegate.platform.core.forgetting.subject_key import SubjectKey
from tidegate.platform.testing import TestLake
from tidegate.resources.suppression import Suppression

SILVER = {
    "keys": ["id"],
    "order": "at",
    "apply_as_deletes": "op = 'D'",
    "except_columns": ["op"],
    "every": 10,
    "export": {"folder": "exports/orders/"},
}
TABLE = {"name": "orders", "prefix": "orders/", "format": "json", "silver": SILVER}


class Reader:
    """A consumer of the export, which knows only its bucket."""

    def __init__(self, lake: TestLake) -> None:
        self.lake = lake

    def manifests(self) -> list[dict[str, Any]]:
        """The manifests, in the order of their names."""
        s3, bucket = self.lake.clients.s3, self.lake.output_bucket
        keys = [item["Key"] for item in s3.list_objects_v2(Bucket=bucket).get("Contents", [])]
        found = sorted(key for key in keys if "/manifests/" in key)
        return [json.loads(s3.get_object(Bucket=bucket, Key=key)["Body"].read()) for key in found]

    def rows(self, manifest: dict[str, Any], *columns: str) -> list[tuple[Any, ...]]:
        """The rows of the files that a manifest names."""
        reader = self.lake.lake.delta.session.read.options(header="true", escape='"', multiLine="true")
        paths = [f"s3a://{self.lake.output_bucket}/{file['key']}" for file in manifest["files"]]
        rows = reader.format(manifest["format"]).load(paths).select(*columns).collect()
        assert sum(manifest["rows"].values()) == len(rows)
        return sorted(tuple(row) for row in rows)


def test_each_change_is_exported_once_whatever_dies(
    tidegate_lake: Callable[..., TestLake], kit: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = tidegate_lake([TABLE])
    reader, spec = Reader(lake), lake.spec("orders")

    def land(name: str, *rows: dict[str, Any]) -> None:
        lake.put(f"orders/{name}.json", kit.lines(*({"tags": ["x", 'y,"']} | row for row in rows)))
        kit.run(lake, "orders")
        kit.merge(lake, "orders")

    land("1", {"id": 1, "at": 1, "op": "I"}, {"id": 2, "at": 1, "op": "I"}, {"id": 3, "at": 1, "op": "D"})
    export_changes(lake.lake, spec)
    (first,) = reader.manifests()
    assert (first["snapshot"], first["previous"], first["rows"]) == (True, None, {"insert": 2})
    assert reader.rows(first, "_change_type", "id") == [("insert", 1), ("insert", 2)]

    land("2", {"id": 1, "at": 2, "op": "U"}, {"id": 2, "at": 2, "op": "D"}, {"id": 3, "at": 2, "op": "I"})
    written = []
    for seam in SEAMS:
        with dying_in(module, seam):
            export_changes(lake.lake, spec)
        written.append(reader.manifests())
    export_changes(lake.lake, spec)
    assert [len(manifests) for manifests in written] == [1, 2, 2]
    assert reader.manifests() == written[1], "a manifest is never replaced"
    assert export_changes(lake.lake, spec).manifests == 0
    (second,) = reader.manifests()[1:]
    assert reader.rows(second, "_change_type", "id", "at") == [
        ("delete", 2, 1),
        ("insert", 3, 2),
        ("update_postimage", 1, 2),
        ("update_preimage", 1, 1),
    ]
    assert (second["snapshot"], second["previous"]) == (False, first["version"])
    s3, bucket = lake.clients.s3, lake.output_bucket
    kept = {item["Key"] for item in s3.list_objects_v2(Bucket=bucket)["Contents"] if "/part-" in item["Key"]}
    named = {file["key"] for manifest in (first, second) for file in manifest["files"]}
    assert named < kept, "attempts that died left files, which no manifest names"

    folder = f"s3://{bucket}/exports/csv/"
    silver = spec.silver
    assert silver is not None
    assert silver.export is not None
    text = silver.model_copy(update={"export": silver.export.model_copy(update={"folder": folder, "format": "csv"})})
    for item in lake.lake.store.objects.under(lake.lake_bucket, lake.lake.store.key("exports", "")):
        lake.clients.s3.delete_object(Bucket=lake.lake_bucket, Key=item.key)
    key = SubjectKey("sixteen-characters", "person")
    forgotten = Suppression("orders", key, frozenset({key.digest("3")}), ("id",))
    monkeypatch.setattr(lake.lake, "suppression", lambda _: forgotten)
    export_changes(lake.lake, spec.model_copy(update={"silver": text}))
    (again,) = (manifest for manifest in reader.manifests() if manifest["format"] == "csv")
    assert reader.rows(again, "id", "tags") == [("1", '["x","y,\\""]')], "a forgotten person is in no export"
