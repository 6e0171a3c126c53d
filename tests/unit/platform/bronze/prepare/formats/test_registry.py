"""The table of formats, and what each format does with the ending of a name and the first bytes."""

from __future__ import annotations

from typing import get_args

import pytest

from tidegate.platform.bronze.prepare.formats.format import Format
from tidegate.platform.bronze.prepare.formats.registry import READABLE, format_of_file
from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.core.errors import Misfit
from tidegate.platform.core.infer.text_format import format_of_bytes
from tidegate.platform.core.keys.file_format import (
    ARCHIVES,
    FORMATS,
    REFUSED,
    FormatName,
    format_of,
    mode_of,
    with_mode,
)

EACH = pytest.mark.parametrize("format", READABLE.values(), ids=READABLE)


def test_every_place_has_all_formats() -> None:
    names = set(get_args(FormatName))
    assert set(FORMATS) == set(READABLE) == names
    assert all(name == format.name for name, format in [*FORMATS.items(), *READABLE.items()])  # type: ignore[attr-defined]


@EACH
def test_a_format_can_be_loaded_and_has_a_reader(format: Format) -> None:
    assert "load" in format.file_format.modes
    assert format.readers


@EACH
def test_an_ending_says_the_format_in_any_case(format: Format) -> None:
    for ending in format.file_format.endings:
        for key in (f"t/a.{ending}", f"t/a.b.{ending.upper()}", f"t/.{ending}"):
            assert format_of(key) == format.name
        packed = format.name if format.file_format.text else None
        assert format_of(f"t/a.{ending}.gz") == packed
        assert format_of(f"t/a.{ending}.GZ") is None


@EACH
def test_the_first_bytes_say_the_format_where_they_are_always_the_same(format: Format) -> None:
    if format.file_format.magic:
        assert format_of_bytes(format.file_format.magic + b"\0\1") == format.name
    else:
        assert format.file_format.text


def test_an_ending_belongs_to_one_format() -> None:
    endings = [ending for format in FORMATS.values() for ending in format.endings]
    assert len(endings) == len(set(endings))


@pytest.mark.parametrize("key", ["t/csv", "t/a.csv/b", "t/a.csvx", "t/a.", "t/", "t/a.gz", "t/a.csv.bz2"])
def test_other_names_say_nothing(key: str) -> None:
    assert format_of(key) is None


def test_only_parquet_joins_a_table_where_it_is() -> None:
    assert with_mode("register") == ["parquet"]
    assert mode_of("parquet") == "register"
    assert all(mode_of(name) == "load" for name in FORMATS if name != "parquet")


@pytest.mark.parametrize("ending", [*REFUSED, *ARCHIVES])
def test_a_packed_file_of_a_table_without_a_format_is_refused_for_its_packing(ending: str) -> None:
    spec = TableSpec.model_validate({"name": "t", "prefix": "s3://landing/t/"})
    with pytest.raises(Misfit, match="of packed text only gzip is read"):
        format_of_file(spec, f"t/a.csv{ending}")
    with pytest.raises(Misfit, match="no format is known"):
        format_of_file(spec, "t/a.txt")
