"""The codec of table keys. The key of a table never changes, so each version must have these properties."""

from __future__ import annotations

import re
from urllib.parse import quote

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from tidegate.platform.core.keys.table_key import TableKey

# A key has only RFC 3986's unreserved characters, because Dagster's URLs, S3 keys and Hadoop's paths do not
# percent-encode them. A key begins with a letter or a digit, because "_" and "." hide a folder from Spark's readers. It
# never has two dots in a row, because Dagster reads "a...b" as a range of partitions.
SAFE = re.compile(r"^[a-z0-9][A-Za-z0-9_~-]*(\.[A-Za-z0-9_~-]+)*$")

BUCKETS = st.from_regex(r"[a-z0-9][a-z0-9.-]{1,20}[a-z0-9]", fullmatch=True)
AWKWARD = st.sampled_from(
    ["", "_", "__", "~", "~2e", "2e", ".", "..", "...", "-", "--", "%", "+", " ", "k=v", "ü", "A", "a", "🦆", "\x00"]
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
    assert quote(key.encode(), safe="") == key.encode()


@given(KEYS, KEYS)
@example(TableKey("abc", ""), TableKey("abc", "/"))
@example(TableKey("abc", "a/b/"), TableKey("abc", "a.b/"))
@example(TableKey("abc", "~2e/"), TableKey("abc", "./"))
@example(TableKey("abc", "/"), TableKey("abc", "~/"))
@example(TableKey("a.b", ""), TableKey("a-b", ""))
def test_different_keys_encode_differently(left: TableKey, right: TableKey) -> None:
    assume(left != right)
    assert left.encode() != right.encode()


@given(KEYS, KEYS)
@example(TableKey("abc", "a-b/"), TableKey("abc", "a_b/"))
@example(TableKey("abc", "a_b/"), TableKey("abc", "a/b/"))
@example(TableKey("abc", "a__b/"), TableKey("abc", "a/b/"))
@example(TableKey("abc", "a_/b/"), TableKey("abc", "a/_b/"))
@example(TableKey("abc", "Orders/"), TableKey("abc", "orders/"))
@example(TableKey("abc", "Orders/"), TableKey("abc", "ORDERS/"))
@example(TableKey("abc", "a//"), TableKey("abc", "a/"))
@example(TableKey("abc", "ü/"), TableKey("abc", ""))
@example(TableKey("a.b", ""), TableKey("a-b", ""))
@example(TableKey("abc--d", ""), TableKey("abc", "d/"))
@example(TableKey("abc-d", "e/"), TableKey("abc", "d/e/"))
def test_sql_names_are_identifiers_and_unique(left: TableKey, right: TableKey) -> None:
    assert re.fullmatch(r"[a-z0-9][a-z0-9_]*", left.sql_name)
    assume(left != right)
    assert left.sql_name != right.sql_name


WORDS = st.from_regex(r"[a-z0-9]{1,5}(_[a-z0-9]{1,5}){0,2}", fullmatch=True)


@given(st.lists(WORDS, min_size=1, max_size=4))
def test_a_sql_name_without_loss_says_its_key(parts: list[str]) -> None:
    bucket, *folders = [f"{parts[0]}_lake".replace("_", "-"), *parts[1:]]
    name = TableKey(bucket, "".join(f"{folder}/" for folder in folders)).sql_name
    assert name.split("__") == [bucket.replace("-", "_"), *folders]


@given(KEYS)
def test_only_what_loses_something_has_a_hash(key: TableKey) -> None:
    lossless = re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*(\.[a-z0-9]+(_[a-z0-9]+)*)*", key.encode())
    assert ("___" in key.sql_name) == (lossless is None)


@given(st.one_of(st.text(max_size=30), st.from_regex(SAFE), st.from_regex(r"[A-Za-z0-9._~-]{1,30}", fullmatch=True)))
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
        "abc.a b",
        "abc.a%20b",
        "ab",  # shorter than the name of any bucket
        "~61bc",
        "_abc",
        "abc.~2",  # an incomplete escape
        "abc.a~",
        "abc.~~",  # the mark of an empty segment must be alone in its segment
        "abc.~61",  # an escaped letter
        "abc.~5f",
        "abc.~2D",
        "abc.~2E",  # the hex digits of a dot are lower-case
        "abc.~2f",  # an escaped slash
        "abc.~ff",  # not UTF-8
        "abc.~c3",
    ],
)
def test_decode_refuses(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not a (table key|bucket name)"):
        TableKey.decode(text)


@pytest.mark.parametrize(
    ("uri", "encoded", "sql_name"),
    [
        ("s3://landing/", "landing", "landing"),
        ("s3://landing/flights/", "landing.flights", "landing__flights"),
        ("s3://landing/erp/2024/", "landing.erp.2024", "landing__erp__2024"),
        ("s3://shop-landing/order_items/", "shop-landing.order_items", "shop_landing__order_items"),
        ("s3://shop-landing/Order-Items/", "shop-landing.Order-Items", "shop_landing__order_items___613dd7d8"),
        ("s3://my-bucket.eu/", "my-bucket~2eeu", "my_bucket_eu___697b4989"),
        ("s3://landing/v1.2//ü+%/", "landing.v1~2e2.~.~c3~bc~2b~25", "landing__v1_2___923aa411"),
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
def test_refuses_what_is_not_a_table_prefix(bucket: str, prefix: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        TableKey(bucket, prefix)
