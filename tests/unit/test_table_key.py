"""The table-key codec. Keys are for ever, so these properties are pinned from the first day."""

from __future__ import annotations

import re

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from tidegate.platform.core.table_key import TableKey

# Dagster does not check dynamic partition keys; this is what its UI, tags and URLs carry without escaping.
SAFE = re.compile(r"^[a-z0-9][a-z0-9_]*(\.[a-z0-9_]+)*$")

BUCKETS = st.from_regex(r"[a-z0-9][a-z0-9.-]{1,20}[a-z0-9]", fullmatch=True)
AWKWARD = st.sampled_from(
    ["", "_", "__", "_z", "z", ".", "..", "-", "_2d", "%", "+", " ", "k=v", "ü", "A", "a", "🦆", "\x00"]
)
SEGMENTS = st.one_of(AWKWARD, st.text(st.characters(exclude_categories=["Cs"], exclude_characters="/"), max_size=12))
KEYS = st.builds(
    TableKey, BUCKETS, st.lists(SEGMENTS, max_size=5).map(lambda parts: "".join(f"{part}/" for part in parts))
)


@given(KEYS)
def test_round_trip(key: TableKey) -> None:
    assert TableKey.decode(key.encode()) == key


@given(KEYS)
def test_encoded_key_is_safe_everywhere(key: TableKey) -> None:
    assert SAFE.fullmatch(key.encode())


@given(KEYS, KEYS)
@example(TableKey("abc", ""), TableKey("abc", "/"))
@example(TableKey("abc", "a/b/"), TableKey("abc", "a.b/"))
@example(TableKey("abc", "_2d/"), TableKey("abc", "-/"))
@example(TableKey("abc", "/"), TableKey("abc", "_z/"))
def test_different_keys_encode_differently(one: TableKey, other: TableKey) -> None:
    assume(one != other)
    assert one.encode() != other.encode()


@given(KEYS, KEYS)
@example(TableKey("abc", "a-b/"), TableKey("abc", "a/2db/"))
@example(TableKey("abc", "a_b/"), TableKey("abc", "a/b/"))
@example(TableKey("a.b", ""), TableKey("a-b", ""))
def test_sql_names_are_identifiers_and_unique(one: TableKey, other: TableKey) -> None:
    assert re.fullmatch(r"[a-z0-9_]+", one.sql_name)
    assume(one != other)
    assert one.sql_name != other.sql_name


@given(KEYS)
def test_no_key_can_imitate_a_hashed_name(key: TableKey) -> None:
    assert ("__" in key.sql_name) == ("_" in key.encode())


@given(st.one_of(st.text(max_size=30), st.from_regex(SAFE), st.from_regex(r"[a-z0-9._]{1,30}", fullmatch=True)))
def test_decode_takes_only_what_encode_makes(text: str) -> None:
    try:
        key = TableKey.decode(text)
    except ValueError:
        return
    assert key.encode() == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        ".",
        "abc.",
        ".abc",
        "abc..d",
        "abc\n",
        "Abc",
        "abc.a-b",
        "ab",  # shorter than any bucket
        "_61bc",
        "abc._",  # an escape cut off
        "abc._2",
        "abc.a_",
        "abc._z_z",  # an empty segment is alone in its segment
        "abc.a_z",
        "abc._61",  # a letter escaped
        "abc._5f",  # the underscore has its own escape
        "abc._2D",
        "abc._2f",  # a slash within a segment
        "abc._ff",  # not UTF-8
        "abc._c3",
    ],
)
def test_decode_refuses(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not a (table key|bucket name)"):
        TableKey.decode(text)


@pytest.mark.parametrize(
    ("uri", "encoded", "sql_name"),
    [
        ("s3://landing/", "landing", "landing"),
        ("s3://landing/flights/", "landing.flights", "landing_flights"),
        ("s3://landing/erp/2024/", "landing.erp.2024", "landing_erp_2024"),
        ("s3://my-bucket.eu/", "my_2dbucket_2eeu", "my_2dbucket_2eeu__2c8c5a"),
        ("s3://landing/a_b//ü+%/", "landing.a__b._z._c3_bc_2b_25", "landing_a__b__z__c3_bc_2b_25__53b3e3"),
    ],
)
def test_pinned_for_ever(uri: str, encoded: str, sql_name: str) -> None:
    key = TableKey.from_uri(uri)
    assert (key.encode(), key.sql_name, key.uri) == (encoded, sql_name, uri)


@pytest.mark.parametrize(
    ("bucket", "prefix", "reason"),
    [
        ("", "a/", "bucket name"),
        ("Landing", "a/", "bucket name"),
        ("a_b", "a/", "bucket name"),
        ("landing", "a", 'must end with "/"'),
        ("landing", "\ud800/", "not valid Unicode"),
    ],
)
def test_refuses_what_is_no_table_prefix(bucket: str, prefix: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        TableKey(bucket, prefix)
