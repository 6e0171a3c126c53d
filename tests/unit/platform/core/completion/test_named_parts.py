"""The parts that manifests of S3 Inventory and of Redshift name, and manifests that cannot be used."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.platform.core.completion.named_parts import NamedPart, named_parts

MD5 = "f11166069f1990abeb9c97ace9cdfabc"
INVENTORY = {
    "sourceBucket": "example-source-bucket",
    "destinationBucket": "arn:aws:s3:::landing",
    "version": "2016-11-30",
    "creationTimestamp": "1514944800000",
    "fileFormat": "CSV",
    "fileSchema": "Bucket, Key, VersionId, IsLatest, IsDeleteMarker, Size",
    "files": [{"key": "inv/source/cfg/data/a b.csv.gz", "size": 2147483647, "MD5checksum": MD5.upper()}],
}
REDSHIFT = {
    "entries": [
        {"url": "s3://landing/inv/venue_pipe_0000_part_00", "meta": {"content_length": 32295, "record_count": 10}},
        {"url": "s3://landing/inv/venue_pipe_0001_part_00", "mandatory": True},
    ],
    "schema": {"elements": []},
    "meta": {"content_length": 32295},
    "author": {"name": "Amazon Redshift", "version": "1.0.0"},
}


def read(manifest: Any) -> tuple[NamedPart, ...]:
    return named_parts(json.dumps(manifest).encode(), "landing", "inv/")


def test_a_manifest_of_s3_inventory() -> None:
    assert read(INVENTORY) == (NamedPart("inv/source/cfg/data/a b.csv.gz", 2147483647, MD5),)
    china = {**INVENTORY, "destinationBucket": "arn:aws-cn:s3:::landing"}
    assert read(china) == read(INVENTORY)


def test_a_manifest_of_redshift_s_unload() -> None:
    first, second = read(REDSHIFT)
    assert first == NamedPart("inv/venue_pipe_0000_part_00", 32295)
    assert second == NamedPart("inv/venue_pipe_0001_part_00")


def test_a_manifest_of_another_program_needs_keys_only_and_a_repeated_part_counts_once() -> None:
    assert read({"files": [{"key": "inv/a"}, {"key": "inv/a"}, {"key": "inv/b", "MD5checksum": "abc-2"}]}) == (
        NamedPart("inv/a"),
        NamedPart("inv/b"),
    )


@pytest.mark.parametrize(
    ("manifest", "message"),
    [
        ([], "not a JSON object"),
        ({}, "neither `files` nor `entries`"),
        ({"files": "inv/a"}, "neither `files` nor `entries`"),
        ({"files": []}, "it names no parts"),
        ({"files": ["inv/a"]}, "an entry of `files` has no `key`"),
        ({"files": [{"key": ""}]}, "the object key is empty"),
        ({"entries": [{"uri": "s3://landing/inv/a"}]}, "an entry of `entries` has no `url`"),
        ({"entries": [{"url": "https://landing/inv/a"}]}, "it names a part that is not in S3"),
        ({"entries": [{"url": "s3://landing"}]}, "the object key is empty"),
        ({"files": [{"key": "other/a"}]}, "it names s3://landing/other/a, which is outside of s3://landing/inv/"),
        ({"files": [{"key": "inv"}]}, "outside of"),
        ({"entries": [{"url": "s3://elsewhere/inv/a"}, {"url": "s3://b/c"}]}, "s3://elsewhere/inv/a and 1 more, which"),
        ({**INVENTORY, "destinationBucket": "arn:aws:s3:::elsewhere"}, "s3://elsewhere/inv/source"),
    ],
)
def test_a_manifest_that_cannot_be_used_says_why(manifest: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read(manifest)


@given(
    st.binary() | st.recursive(st.none() | st.booleans() | st.text(), st.lists).map(lambda x: json.dumps(x).encode())
)
def test_no_body_breaks_the_reader(body: bytes) -> None:
    with pytest.raises(ValueError, match=r"it is not a manifest|names no parts"):
        named_parts(body, "landing", "inv/")


def test_a_deeply_nested_body_is_not_a_manifest() -> None:
    with pytest.raises(ValueError, match="it is not a manifest"):
        named_parts(b"[" * 200_000, "landing", "inv/")
