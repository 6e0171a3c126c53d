"""Manifests and marks of exports."""

from __future__ import annotations

import json

import pytest

from tidegate.platform.core.silver.export_manifest import ExportedFile, ExportManifest, ExportMark, manifest_name


def test_a_manifest_names_the_files_and_the_manifest_before() -> None:
    files = (ExportedFile("exports/part-0.parquet", 12, "e"),)
    made = ExportManifest("silver.orders", "id", 7, 5, False, "parquet", {"insert": 1}, files)
    assert json.loads(made.to_json()) == {
        "format_version": 1, "table": "silver.orders", "table_id": "id", "version": 7, "previous": 5, "snapshot": False,
        "format": "parquet", "rows": {"insert": 1},
        "files": [{"key": "exports/part-0.parquet", "size": 12, "etag": "e"}],
    }  # fmt: skip


def test_names_have_the_order_of_versions() -> None:
    assert sorted(map(manifest_name, (10, 9, 100))) == [manifest_name(version) for version in (9, 10, 100)]


def test_a_mark_is_read_as_it_was_written_and_a_damaged_one_is_named() -> None:
    mark = ExportMark(3, 7, 5)
    assert ExportMark.from_json(mark.to_json(), "s3://lake/mark") == mark
    for text in ("", "{}", '{"start": 1, "last": }'):
        with pytest.raises(ValueError, match=r"^s3://lake/mark is not a mark of an export .* begin the export again"):
            ExportMark.from_json(text, "s3://lake/mark")
