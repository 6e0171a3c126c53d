"""JSON files that do not have one object on each line, and their rewritten form."""

from __future__ import annotations

import io
import json

import pytest

from tidegate.platform.bronze.prepare.formats.json_files import Utf8, check_keys, is_by_line
from tidegate.platform.core.errors import Misfit
from tidegate.platform.core.files.utf_16 import is_utf_16
from tidegate.platform.core.schema.column_types import Field
from tidegate.platform.core.schema.sql_types import parse_sql_type

ROW = {"a": {"x": [1, 2]}, "s": "two\nlines"}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n\n",
        '{"a": 1}\n{"a": 2}\n',
        '{"a": 1}\r\n{"a": 2}\r\n',
        ' {"a": 1} \n',
        'not json\n{"a": 1}\n',
        '{"a": 1} tail\n',
        '{"a": 1}{"a": 2}\n{"a":',
        "\ufeff" + json.dumps(ROW),
        '{"a": ' + "[" * 5000,
    ],
)
def test_whole_values_in_the_first_line_are_read_by_line(text: str) -> None:
    assert is_by_line(text.encode(), whole=True)


@pytest.mark.parametrize(
    "text", ["[1]", f"  \n\t{json.dumps([ROW])}", json.dumps(ROW, indent=2), '{"a": 1\n{"a": 2}\n', '{"a": 1']
)
def test_values_over_several_lines_are_read_by_file(text: str) -> None:
    assert not is_by_line(text.encode(), whole=True)


def test_a_file_of_one_line_is_not_read_as_one_row() -> None:
    assert not is_by_line(b'{"a": 1}' * 500, whole=False)
    assert not is_by_line(json.dumps({"a": ["x"] * 1000}, indent=1).encode()[:500], whole=False)
    assert is_by_line(b'{"a": 1}\n{"a": [', whole=False)
    assert not is_by_line(b"x" * 500, whole=False)


def test_utf_16_becomes_utf_8() -> None:
    body, target = '{"a": "ü"}'.encode("utf-16"), io.BytesIO()
    assert is_utf_16(body)
    Utf8().write(io.BytesIO(body), target)
    assert target.getvalue().decode() == '{"a": "ü"}'
    with pytest.raises(Misfit, match=r"not UTF-16: .*; write it in UTF-8"):
        Utf8().write(io.BytesIO(body[:-1]), io.BytesIO())


@pytest.mark.parametrize("kind", ["map<string,map<string,bigint>>", "array<struct<x:map<string,int>>>", "bigint"])
def test_names_are_keys_of_maps_by_text(kind: str) -> None:
    check_keys(Field("m", parse_sql_type(kind)))


@pytest.mark.parametrize("kind", ["map<int,string>", "array<struct<x:map<date,int>>>", "map<string,map<int,int>>"])
def test_names_are_not_keys_of_other_maps(kind: str) -> None:
    with pytest.raises(Misfit, match=r"column m has a map by (int|date), and names of JSON are text"):
        check_keys(Field("m", parse_sql_type(kind)))
