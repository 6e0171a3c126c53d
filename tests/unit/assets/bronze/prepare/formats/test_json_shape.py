"""JSON files that do not have one object on each line, and their rewritten form."""

from __future__ import annotations

import io
import json

import pytest

from tidegate.assets.bronze.prepare.formats.json_shape import OneObjectALine, needs_rewrite
from tidegate.assets.bronze.prepare.formats.json_values import check_keys
from tidegate.platform.core.schema.column_types import Field
from tidegate.platform.core.schema.misfit import Misfit
from tidegate.platform.core.schema.sql_types import any_type

ROWS = [{"a": 1, "s": 'b"[{'}, {"a": {"x": [1, 2]}, "s": "two\nlines"}]
PRETTY = json.dumps(ROWS[0], indent=2)


def rewritten(body: bytes) -> list[str]:
    target = io.BytesIO()
    OneObjectALine().write(io.BytesIO(body), target)
    return target.getvalue().decode().splitlines()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n\n",
        '{"a": 1}\n{"a": 2}\n',
        '{"a": 1}\r\n{"a": 2}\r\n',
        ' {"a": 1} \n',
        'not json\n{"a": 1}\n',
        '{"a": 1\n{"a": 2}\n',  # a torn line, then a good one
        '{"a": 1} tail\n',
    ],
)
def test_lines_are_read_as_they_are(text: str) -> None:
    assert not needs_rewrite(text.encode(), whole=True)


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(ROWS),
        json.dumps(ROWS, indent=1),
        "[\n" + ",\n".join(json.dumps(row) for row in ROWS) + "\n]\n",
        "".join(json.dumps(row) for row in ROWS),
        f"{json.dumps(ROWS[0])} {json.dumps(ROWS[1])}\n",
        f"{PRETTY}\n{json.dumps(ROWS[1], indent=4)}\n",
        "\ufeff" + "\n".join(json.dumps(row) for row in ROWS),
        f"  \n\t{json.dumps(ROWS)}",
    ],
)
def test_other_shapes_become_lines(text: str) -> None:
    body = text.encode()
    assert needs_rewrite(body, whole=True)
    assert [json.loads(line) for line in rewritten(body)] == ROWS


def test_utf_16_becomes_utf_8() -> None:
    body = '{"a": "ü"}'.encode("utf-16")
    assert needs_rewrite(body, whole=True)
    assert rewritten(body) == ['{"a": "ü"}']


def test_numbers_keep_every_digit() -> None:
    assert rewritten(b'[{"a": 1.10, "b": 12345678901234567890123}]') == ['{"a": 1.10, "b": 12345678901234567890123}']


def test_an_object_that_is_longer_than_the_head_continues_in_the_next_lines() -> None:
    assert needs_rewrite(json.dumps({"a": ["x"] * 1000}, indent=1).encode()[:500], whole=False)
    assert not needs_rewrite(json.dumps({"a": 1}).encode() + b"\n" + b'{"a": [', whole=False)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('[{"a": 1}, {"a": ', "not JSON: "),
        ('[{"a": 1}', "its JSON array has no end: the file was cut off; write it again"),
        ('[{"a": 1}] {"b": 2}', "something follows its JSON array"),
        ('{"a": 1}{"a": }', "not JSON: "),
    ],
)
def test_an_error_refuses_the_whole_file(text: str, reason: str) -> None:
    with pytest.raises(Misfit, match=reason):
        rewritten(text.encode())


@pytest.mark.limit("Files", "A JSON array, or a JSON object over several lines, is UTF-8; other bytes refuse the file.")
def test_bytes_that_are_not_utf_8_are_refused() -> None:
    with pytest.raises(Misfit, match=r"not UTF-8: .* at byte 7"):
        rewritten(b'[{"a": \xff}]')


@pytest.mark.parametrize("text", ['{"a": ' + "[" * 5000, "[" + "[" * 5000, '{"a":\n' + '{"x":' * 5000])
@pytest.mark.limit("Files", "JSON is nested up to 30 levels.")
def test_what_is_nested_without_end_is_refused_for_that(text: str) -> None:
    with pytest.raises(Misfit, match="nested deeper than 30 levels; write"):
        assert rewritten(text.encode()) if needs_rewrite(text.encode(), whole=True) else None


@pytest.mark.parametrize("kind", ["map<string,map<string,bigint>>", "array<struct<x:map<string,int>>>", "bigint"])
def test_names_are_keys_of_maps_by_text(kind: str) -> None:
    check_keys(Field("m", any_type(kind)))


@pytest.mark.parametrize("kind", ["map<int,string>", "array<struct<x:map<date,int>>>", "map<string,map<int,int>>"])
def test_names_are_no_keys_of_other_maps(kind: str) -> None:
    with pytest.raises(Misfit, match=r"column m has a map by (int|date), and names of JSON are text"):
        check_keys(Field("m", any_type(kind)))
