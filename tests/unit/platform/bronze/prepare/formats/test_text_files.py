"""What a load asks of files of text."""

from __future__ import annotations

from io import BytesIO
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.aws_logs import LOGS, Log
from tidegate.platform.bronze.prepare.formats.format import Known, SourceFile
from tidegate.platform.bronze.prepare.formats.json_files import Json
from tidegate.platform.bronze.prepare.formats.text_files import TextLines
from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.core.errors import Misfit
from tidegate.platform.core.schema.column_types import Field, Simple, Struct
from tidegate.platform.core.schema.table_schema import TableSchema

_NONE: Any = None


def _spec(**fields: Any) -> TableSpec:
    return TableSpec.model_validate({"name": "t", "prefix": "s3://landing/t/", **fields})


def _file(*names: str, by_line: bool = True) -> SourceFile:
    return SourceFile(_NONE, TextLines(), "s3a://b/t/x", 1, names, by_line=by_line)


def _known(**columns: str) -> Known:
    return Known(TableSchema.from_declared(columns, {}), {}, lambda _: {})


@pytest.mark.parametrize("log", [log for log in LOGS.values() if "text" in log.setting], ids=lambda log: log.prefix)
def test_a_column_has_the_type_of_its_preset_unless_the_table_has_one(log: Log) -> None:
    spec = _spec(**log.setting)
    groups = [[_file(*TextLines().look(body, True, spec).names)] for body in log.plain.values()]
    assert spec.text is not None
    found = TextLines().infer(_NONE, groups, spec, _known(time="string"))
    names = {name: None for (file,) in groups for name in file.names if name != "time"}
    assert [field.name for field in found] == list(names)
    assert {field.name: field.type.sql().lower() for field in found if field.type != Simple("string")} == {
        name: kind for name, kind in spec.text.types.items() if name in names
    }


def test_the_server_is_asked_by_position_and_no_type_is_guessed() -> None:
    spec = _spec(format="text", text={"pattern": "(?P<A>x)(y)(?P<b>.*)", "nulls": ["-"]}, columns={"b": "int"})
    asked = TextLines().read([_file("A", "b", by_line=False)], TableSchema.from_declared({"b": "int"}, {}), spec)
    assert (asked["reader"], asked["whole"], asked["names"], asked["declared"]) == (
        "text",
        True,
        ("A", "b"),
        ["a", "b"],
    )
    assert asked["pattern"] == "(x)(?:y)(.*)"
    assert (asked["csv"]["nulls"], asked["csv"]["comment"], asked["csv"]["header"]) == (("-",), None, False)
    flow = TextLines().read([_file("start")], TableSchema.from_declared({}, {}), _spec(**LOGS["vpc_flow"].setting))
    assert (flow["pattern"], flow["csv"]["header"], flow["csv"]["nulls"]) == ("([^ ]*)", True, ("-",))
    edge = TextLines().read([_file("date")], TableSchema.from_declared({}, {}), _spec(**LOGS["cloudfront"].setting))
    assert (edge["pattern"], edge["csv"]["header"], edge["csv"]["comment"]) == ("([^\t]*)", False, "#")


def test_a_part_of_a_line_cannot_be_a_struct() -> None:
    schema = TableSchema((Field("a", Struct((Field("x", Simple("string")),))), Field("b", Simple("string"))))
    spec = _spec(format="text", text={"pattern": "(?P<A>.*)"})
    with pytest.raises(Misfit, match="a cell of text cannot hold"):
        TextLines().read([_file("A")], schema, spec)
    TextLines().read([_file("b")], schema, spec)


def test_files_of_one_header_are_read_together() -> None:
    assert TextLines().group(_file("a", "b")) == TextLines().group(_file("a", "b"))
    assert TextLines().group(_file("a", "b")) != TextLines().group(_file("b", "a"))


def test_a_header_with_a_column_of_tidegate_refuses_its_file() -> None:
    with pytest.raises(Misfit, match="it has no first line that names its fields"):
        TextLines().look(b"version _batch\n", True, _spec(**LOGS["vpc_flow"].setting))


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be"])
def test_a_text_of_utf_16_is_written_again(codec: str) -> None:
    text = "\ufeffversion account-id\n5 1\n"
    seen = TextLines().look(text.encode(codec) + b"5", False, _spec(**LOGS["vpc_flow"].setting))
    assert seen.names == ("version", "account_id")
    assert seen.rewrite is not None
    seen.rewrite.write(BytesIO(text.encode(codec)), copy := BytesIO())
    assert copy.getvalue().decode() == text[1:]


def test_a_file_with_a_header_of_other_fields_is_quarantined_as_a_whole() -> None:
    spec = _spec(**LOGS["vpc_flow"].setting)
    why = TextLines().problem(BytesIO(), packed=False, spec=spec, limit=1)
    assert why is not None
    assert "names other fields than the first" in why


def test_records_of_an_object_are_read_with_their_whole_file() -> None:
    spec, head = _spec(format="json", json={"records": "Records"}), b'{"Records":[{"a":1}]}\n{"Records":[]}\n'
    seen = Json().look(head, True, spec)
    assert (seen.by_line, seen.names) == (False, ())
    assert Json().look(head, True, _spec(format="json")).by_line
    file: Any = SimpleNamespace(by_line=False)
    assert Json().read([file], TableSchema(()), spec)["records"] == "Records"
    assert Json().read([file], TableSchema(()), _spec(format="json"))["records"] is None
