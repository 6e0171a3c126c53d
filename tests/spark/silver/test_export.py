"""The export of a silver table's changes: each change once, whatever dies, as files that manifests name."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.lakes.seams import dying_in
from tidegate.platform.core.forgetting.request import SubjectKey
from tidegate.platform.core.keys.s3_address import S3Address
from tidegate.platform.lake.spark.session import override_settings
from tidegate.platform.lake.suppression import Suppression
from tidegate.platform.silver import export as module
from tidegate.platform.silver.export import SEAMS, export_changes
from tidegate.platform.silver.value_origins import empty_others_values
from tidegate.platform.testing import TestLake

SILVER = {
    "keys": ["id"],
    "order": "at",
    "apply_as_deletes": "op = 'D'",
    "except_columns": ["op"],
    "every": 10,
    "export": {"folder": "exports/orders/"},
}
TABLE = {
    "name": "orders",
    "prefix": "orders/",
    "format": "json",
    "columns": {"seen": "timestamp"},
    "silver": SILVER,
}
#: What CSV could change: spaces, microseconds, and JSON in a cell.
ODD = {"tags": ["x", 'y,"'], "note": " two  ", "seen": "2026-01-02T03:04:05.123456Z"}


class Reader:
    """A consumer of the export, which knows only its bucket."""

    def __init__(self, lake: TestLake) -> None:
        self.lake = lake

    def manifests(self) -> list[dict[str, Any]]:
        """Return the manifests, in the order of their names."""
        s3, bucket = self.lake.clients.s3, self.lake.output_bucket
        keys = [item["Key"] for item in s3.list_objects_v2(Bucket=bucket).get("Contents", [])]
        found = sorted(key for key in keys if "/manifests/" in key)
        return [json.loads(s3.get_object(Bucket=bucket, Key=key)["Body"].read()) for key in found]

    def files(self) -> set[str]:
        """Return the keys of all data files, those that no manifest names included."""
        listed = self.lake.clients.s3.list_objects_v2(Bucket=self.lake.output_bucket)["Contents"]
        return {item["Key"] for item in listed if "/part-" in item["Key"]}

    def rows(self, manifest: dict[str, Any], *columns: str) -> list[tuple[Any, ...]]:
        """Return the rows of the files that a manifest names."""
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
        whole = (ODD | {"who": {"name": f"n{row['id']}"}} | row for row in rows)
        lake.put(f"orders/{name}.json", kit.lines(*whole))
        kit.run(lake, "orders")
        kit.merge(lake, "orders")

    land("1", {"id": 1, "at": 1, "op": "I"}, {"id": 2, "at": 1, "op": "I"}, {"id": 3, "at": 1, "op": "D"})
    with dying_in(module, "export-write"):
        export_changes(lake.lake, spec)
    land("later", {"id": 4, "at": 1, "op": "I", "extra": "a column that the first export does not have"})
    export_changes(lake.lake, spec)
    first, later = reader.manifests()
    assert (first["snapshot"], first["previous"], first["rows"]) == (True, None, {"insert": 2})
    assert reader.rows(first, "_change_type", "id") == [("insert", 1), ("insert", 2)]
    assert reader.rows(later, "_change_type", "id", "_commit_version") == [("insert", 4, later["version"])]

    land("2", {"id": 1, "at": 2, "op": "U"}, {"id": 2, "at": 2, "op": "D"}, {"id": 3, "at": 2, "op": "I"})
    marks, table_id = lake.lake.store.export_marks, first["table_id"]
    before = marks.ensure("orders", table_id, 0, "")
    written = []
    for seam in SEAMS:
        with dying_in(module, seam):
            export_changes(lake.lake, spec)
        written.append((reader.manifests(), reader.files()))
    assert [len(manifests) for manifests, _ in written] == [2, 3, 3]
    assert written[1] == written[2], "what a manifest names is not written again"
    assert export_changes(lake.lake, spec).manifests == 0
    marks.write("orders", table_id, before)
    with monkeypatch.context() as patched:
        patched.setattr(module._Version, "_read_counts", lambda _: None)  # as another attempt at the same time sees it
        export_changes(lake.lake, spec)
    assert (reader.manifests(), reader.files()) == written[2], "a manifest is never replaced"
    second = reader.manifests()[2]
    assert reader.rows(second, "_change_type", "id", "at") == [
        ("delete", 2, 1),
        ("insert", 3, 2),
        ("update_postimage", 1, 2),
        ("update_preimage", 1, 1),
    ]
    assert (second["snapshot"], second["previous"]) == (False, later["version"])
    named = {file["key"] for manifest in (first, later, second) for file in manifest["files"]}
    assert named < reader.files(), "attempts that died left files, which no manifest names"

    folder = f"s3://{lake.output_bucket}/exports/csv/"
    silver = spec.silver
    assert silver is not None
    assert silver.export is not None
    text = silver.model_copy(update={"export": silver.export.model_copy(update={"folder": folder, "format": "csv"})})
    for item in lake.lake.store.objects.list_under(lake.lake_bucket, lake.lake.store.key("exports", "")):
        lake.clients.s3.delete_object(Bucket=lake.lake_bucket, Key=item.key)
    key = SubjectKey("sixteen-characters", "person")
    forgotten = Suppression("orders", key, frozenset({key.digest("n3")}), ("who.name",))
    monkeypatch.setattr(lake.lake, "suppression", lambda _: forgotten)
    export_changes(lake.lake, spec.model_copy(update={"silver": text}))
    (again,) = (manifest for manifest in reader.manifests() if manifest["format"] == "csv")
    texts = ('["x","y,\\""]', " two  ", "2026-01-02T03:04:05.123456Z")
    found = reader.rows(again, "id", "tags", "note", "seen")
    assert found == [("1", *texts), ("4", *texts)], "a forgotten person is in no export"
    # Between two exports the order of somebody becomes that of the person, who is forgotten then.
    monkeypatch.setattr(lake.lake, "suppression", lambda _: None)
    land("3", {"id": 1, "at": 3, "op": "U", "who": {"name": "n3"}})
    monkeypatch.setattr(lake.lake, "suppression", lambda _: forgotten)
    export_changes(lake.lake, spec.model_copy(update={"silver": text}))
    (last,) = (manifest for manifest in reader.manifests() if manifest["format"] == "csv" and not manifest["snapshot"])
    assert reader.rows(last, "_change_type", "id", "at") == [("delete", "1", "2")]

    # The feed is off for a while: all rows come again, and then changes as before.
    monkeypatch.setattr(lake.lake, "suppression", lambda _: None)
    off = "ALTER TABLE {t} SET TBLPROPERTIES ('delta.enableChangeDataFeed' = 'false')"
    kit.query(lake, off, t=lake.lake.store.uri("silver", "orders"))
    for name, row in (("4", {"id": 5, "at": 4, "op": "I"}), ("5", {"id": 5, "at": 5, "op": "D"})):
        land(name, row)
        export_changes(lake.lake, spec.model_copy(update={"silver": text}))
    *_, whole, change = (manifest for manifest in reader.manifests() if manifest["format"] == "csv")
    assert (whole["snapshot"], whole["previous"], change["snapshot"]) == (True, last["version"], False)
    assert reader.rows(whole, "_change_type", "id") == [("insert", id) for id in ("1", "3", "4", "5")]
    assert reader.rows(change, "_change_type", "id") == [("delete", "5")]


def test_an_export_that_waited_longer_than_vacuum_starts_over(tidegate_lake: Callable[..., TestLake], kit: Any) -> None:
    """The export was denied for longer than earlier versions are kept: files are gone, and then commits."""
    lake = tidegate_lake([TABLE])
    reader, spec, location = Reader(lake), lake.spec("orders"), lake.lake.store.uri("silver", "orders")

    def land(at: int) -> None:
        lake.put(f"orders/{at}.json", kit.lines({"id": 1, "at": at, "op": "U"}, {"id": 1 + at, "at": at, "op": "I"}))
        kit.run(lake, "orders")
        kit.merge(lake, "orders")

    def vacuum() -> None:
        session = lake.lake.delta.session
        lake.lake.delta.compact(location)
        with override_settings(session, {"spark.databricks.delta.retentionDurationCheck.enabled": "false"}):
            session.sql(f"VACUUM delta.`{location}` RETAIN 0 HOURS").collect()

    def exported() -> list[tuple[bool, int | None, dict[str, int]]]:
        export_changes(lake.lake, spec)
        return [(each["snapshot"], each["previous"], each["rows"]) for each in reader.manifests()]

    land(1)
    with dying_in(module, "export-write"):
        export_changes(lake.lake, spec)
    land(2)
    vacuum()
    assert exported() == [(True, None, {"insert": 3})], "the version of the first export is gone"
    versions = [reader.manifests()[0]["version"]]

    def again(rows: int) -> None:
        *_, last = exported()
        assert last == (True, versions[-1], {"insert": rows})
        versions.append(reader.manifests()[-1]["version"])
        assert export_changes(lake.lake, spec).manifests == 0

    land(3)
    land(4)
    vacuum()
    again(5)

    land(5)
    lake.lake.delta.upkeep.checkpoint(location, write=True)
    land(6)
    bucket, key = S3Address.parse_s3a(f"{location}/_delta_log/")
    commits = [item.key for item in lake.lake.store.objects.list_under(bucket, key) if item.key.endswith(".json")]
    lake.lake.store.objects.delete(bucket, [each for each in commits if int(each[-25:-5]) <= versions[-1] + 1])
    again(7)
    land(7)
    assert exported()[-1][:2] == (False, versions[-1]), "changes, as before"


def test_an_export_has_no_value_of_a_forgotten_person_in_the_row_of_another(
    tidegate_lake: Callable[..., TestLake], kit: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Ann's key becomes Ben's and keeps her phone, also in versions that are not exported before she is forgotten."""
    keeps = {"keys": ["id"], "order": "at", "every": 10, "ignore_null_updates_except_columns": ["who"]}
    people = {
        "name": "people",
        "prefix": "people/",
        "format": "json",
        "columns": {"id": "int", "at": "int", "who": "string", "phone": "string"},
        "silver": {**keeps, "export": {"folder": "exports/people/"}},
        "personal": {"subject": "who", "columns": ["phone"]},
    }
    (tmp_path / "secret").write_text("sixteen-characters")
    lake = tidegate_lake([people], forget={"secret": {"file": str(tmp_path / "secret")}})
    reader, spec, location = Reader(lake), lake.spec("people"), lake.lake.store.uri("silver", "people")

    def land(at: int, **phones: str | None) -> None:
        rows = ({"id": id, "at": at, "who": who, "phone": phones[who]} for id, who in enumerate(phones))
        lake.put(f"people/{at}.json", kit.lines(*rows))
        kit.run(lake, "people")
        kit.merge(lake, "people")

    land(1, ann="ann's", zoe="zoe's")
    export_changes(lake.lake, spec)
    land(2, ben=None, kim=None)
    land(3, ben=None)
    key = SubjectKey("sixteen-characters", "person")
    forgotten = Suppression("people", key, frozenset({key.digest("ann")}), ("who",))
    state = lake.lake.delta.table_state(location)
    assert empty_others_values(lake.lake.delta.session, location, state, forgotten) == 1
    monkeypatch.setattr(lake.lake, "suppression", lambda _: forgotten)
    export_changes(lake.lake, spec)
    _, *later = reader.manifests()
    assert [reader.rows(manifest, "_change_type", "id", "who", "phone") for manifest in later] == [
        [
            ("insert", 0, "ben", None),
            ("update_postimage", 1, "kim", "zoe's"),
            ("update_preimage", 1, "zoe", "zoe's"),
        ],
        [("update_postimage", 0, "ben", None), ("update_preimage", 0, "ben", None)],
        [("update_postimage", 0, "ben", None), ("update_preimage", 0, "ben", None)],
    ]
