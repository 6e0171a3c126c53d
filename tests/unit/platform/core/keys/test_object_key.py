"""Object keys: decoding, hidden names, the table prefix by convention, partition values."""

from __future__ import annotations

from urllib.parse import quote, quote_plus

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tidegate.platform.core.keys.object_key import (
    conventional_prefix,
    decode_event_key,
    is_hidden,
    key_length_problem,
    partition_values,
)

ANY_KEY = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=60)


@given(ANY_KEY)
@example("a b+c%2Fd//e=ü🦆.json")
def test_keys_of_events_come_back(key: str) -> None:
    assert decode_event_key(quote_plus(key, safe="/")) == key  # as AWS and MiniStack encode it
    assert decode_event_key(quote_plus(key)) == key  # moto and MinIO encode the slash too
    assert decode_event_key(quote(key)) == key


@pytest.mark.parametrize("raw", ["", "%", "a%2", "a%zz", "%ff.json", "%c3", "\ud800"])
def test_broken_keys_are_refused(raw: str) -> None:
    with pytest.raises(ValueError, match="object key"):
        decode_event_key(raw)


@pytest.mark.parametrize(
    "key",
    [
        "flights/_delta_log/00000000000000000000.json",
        "flights/_change_data/cdc-0.parquet",
        "flights/_tidegate/part-0.parquet",
        "flights/_temporary/0/task/part-0.parquet",
        "flights/_SUCCESS",
        "flights/.part-0.parquet.crc",
        "flights/.spark-staging-1/month=1/part-0.parquet",
        "_x.json",
        ".x.json",
        "a/../b.json",
        "flights/.month=1.parquet",  # Spark skips the file, whatever follows the dot
        "flights/part-0.parquet._COPYING_",
    ],
)
def test_hidden(key: str) -> None:
    assert is_hidden(key)


@pytest.mark.parametrize(
    "key", ["flights/x.parquet", "flights/_month=1/x.parquet", "a//b.json", "x_/y.z/b[1].json", "a/x._y"]
)
def test_not_hidden(key: str) -> None:
    assert not is_hidden(key)


@pytest.mark.parametrize(
    ("key", "prefix"),
    [
        ("flights/year=2013/month=1/x.parquet", "flights/"),
        ("flights/x.parquet", "flights/"),
        ("erp/orders/x.csv", "erp/orders/"),
        ("erp/orders/day=1/part/x.csv", "erp/orders/"),
        ("x.csv", ""),
        ("year=2013/x.parquet", ""),
        ("a//b.json", "a//"),
        ("/x.json", "/"),
        ("a/=1/x.json", "a/=1/"),  # without the name of a column, it is an ordinary folder
        ("a/x=1.json", "a/"),
    ],
)
def test_conventional_prefix(key: str, prefix: str) -> None:
    assert conventional_prefix(key) == prefix


@pytest.mark.parametrize(
    "folders",
    [
        "2024/",
        "2024/05/",
        "2024/05/01/",
        "2024/05/01/13/",  # the folders of Firehose
        "2024/05/01/13/59/",
        "2024/5/1/7/",
        "2024-5-1/",
        "2024-05/",
        "2024-05-01/",
        "2024-05-01/00/",
        "2024-05-01-13/",
        "2024-05-01T13/",
        "20240501/",
        "20240501/23/",
        "2024050113/",
        "20240501T13/",
        "2024/2024-05/2024-05-01/",
        "2023/2024/",
        "2024/05/01/13/region=eu/",
    ],
)
def test_dates_at_the_end_are_not_part_of_the_prefix(folders: str) -> None:
    assert conventional_prefix(f"logs/{folders}x.json") == "logs/"
    assert conventional_prefix(f"a/logs/{folders}x.json") == "a/logs/"
    assert conventional_prefix(f"{folders}x.json") == ""


@pytest.mark.parametrize(
    "prefix",
    [
        "logs/2024/05/01/host-a/",  # a date in the middle divides tables, as in exports/2024-05-01/orders/
        "2024-05-01/orders/",
        "logs/v2024/",
        "logs/2024-q1/",
        "logs/1234/",
        "logs/05/01/",
        "logs/2024/13/",
        "logs/2024/05/32/",
        "logs/2024/05/01/24/",
        "logs/2024-00-01/",
        "logs/2024511/",
        "logs/20241301/",
        "logs/202405/",
        "logs/2024//",
        "logs/٢٠٢٤/",
        "logs/2024-05-01\n/",
    ],
)
def test_what_is_not_a_date_at_the_end_stays(prefix: str) -> None:
    assert conventional_prefix(f"{prefix}x.json") == prefix


DATED_KEY = st.lists(
    st.sampled_from(["logs", "2024", "05", "01", "13", "2024-05-01", "20240501", "k=v", "", "2024-05", "x"]), max_size=7
).map(lambda folders: "".join(f"{folder}/" for folder in folders) + "x.json")


@given(ANY_KEY | DATED_KEY)
def test_the_prefix_is_a_prefix_of_folders_and_its_own(key: str) -> None:
    prefix = conventional_prefix(key)
    assert key.startswith(prefix)
    assert prefix == "" or prefix.endswith("/")
    assert conventional_prefix(f"{prefix}x.json") == prefix


@pytest.mark.parametrize(
    ("key", "values"),
    [
        ("t/x.parquet", {}),
        ("t/year=2013/month=1/x.parquet", {"year": "2013", "month": "1"}),
        ("t/year=__HIVE_DEFAULT_PARTITION__/x.parquet", {"year": None}),
        ("t/at=2013-01-01 10%3A00/x.parquet", {"at": "2013-01-01 10:00"}),
        ("t/a%20b=c%2Fd/x.parquet", {"a b": "c/d"}),
        ("t/e==/x.parquet", {"e": "="}),
        ("t/k=/x.parquet", {"k": ""}),
        ("t/k=%ff/x.parquet", {"k": "%ff"}),
        ("t/k=1+1/x.parquet", {"k": "1+1"}),
        ("t/a=1/sub/b=2/c=3.parquet", {"a": "1", "b": "2"}),
    ],
)
def test_partition_values(key: str, values: dict[str, str | None]) -> None:
    assert partition_values(key, "t/") == values
    assert list(partition_values(key, "t/")) == list(values)


@pytest.mark.parametrize(("key", "prefix"), [("t/a=1/a=2/x", "t/"), ("t/a=1/A=1/x", "t/"), ("u/x", "t/")])
def test_contradicting_partition_values(key: str, prefix: str) -> None:
    with pytest.raises(ValueError, match=r"twice|is not below"):
        partition_values(key, prefix)


@pytest.mark.parametrize(
    ("key", "refused"), [("k" * 1024, False), ("k" * 1025, True), ("é" * 512, False), ("é" * 513, True)]
)
def test_a_key_that_is_made_of_a_producer_s_key_is_bounded_in_bytes(key: str, refused: bool) -> None:
    why = key_length_problem(key, "its copy")
    assert (why is not None) == refused
    if why:
        assert why.startswith("its copy would have a key of 1,02")
