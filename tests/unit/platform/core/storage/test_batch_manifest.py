"""Manifests of S3 Batch Operations."""

from __future__ import annotations

from urllib.parse import unquote_plus

import pytest

from tidegate.platform.core.storage.batch_manifest import (
    BatchManifestError,
    ListedObject,
    ManifestFields,
    manifest_lines,
)

ODD = ["a b/c+d.json", 'quo"te,', "ü/\U0001f30a", "50%41", "line\nbreak"]


def test_keys_are_encoded_so_that_each_decoding_gives_them_again() -> None:
    lines = list(manifest_lines([ListedObject("acme", key) for key in ODD], with_versions=False))
    assert lines[0] == "acme,a%20b/c%2Bd.json\n"
    cells = [line.removesuffix("\n").split(",") for line in lines]
    assert [(bucket, unquote_plus(key)) for bucket, key in cells] == [("acme", key) for key in ODD]
    assert all(line.isascii() and line.count("\n") == 1 for line in lines)


def test_versions_are_those_of_all_objects_or_of_none() -> None:
    objects = [ListedObject("acme", "a", "v1"), ListedObject("acme", "b", None)]
    assert list(manifest_lines(objects[:1], with_versions=True)) == ["acme,a,v1\n"]
    assert list(manifest_lines(objects, with_versions=False)) == ["acme,a\n", "acme,b\n"]
    with pytest.raises(BatchManifestError, match="acme/b has no version ID, and a manifest has the version of all"):
        list(manifest_lines(objects, with_versions=True))


@pytest.mark.parametrize("listed", [ListedObject(None, "a"), ListedObject("acme", None), ListedObject("acme", "")])
def test_a_row_without_bucket_or_key_is_refused(listed: ListedObject) -> None:
    with pytest.raises(BatchManifestError, match="the bucket or the key of row 2 is NULL or empty"):
        list(manifest_lines([ListedObject("acme", "a"), listed], with_versions=False))


def test_the_columns_of_a_query_are_the_fields_of_a_job() -> None:
    fields = ManifestFields.of(["size", "Key", "VERSION_ID", "bucket"])
    assert fields.columns == ("bucket", "Key", "VERSION_ID")
    assert fields.names == ("Bucket", "Key", "VersionId")
    assert ManifestFields.of(["bucket", "key", "size", "size"]).names == ("Bucket", "Key")
    with pytest.raises(BatchManifestError, match="no column bucket, only name, key: give a column its name with AS"):
        ManifestFields.of(["name", "key"])
    with pytest.raises(BatchManifestError, match="two columns of the query have the name Key"):
        ManifestFields.of(["bucket", "key", "Key"])
