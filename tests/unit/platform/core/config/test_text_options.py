"""How the lines of text files become rows, as lake.yaml says it."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.core.config.text_options import TextOptions

_TABLE = {"name": "t", "prefix": "s3://landing/t/"}
_PATTERN = {"pattern": "(?P<a>.*)"}


def test_a_pattern_has_its_names_and_no_types() -> None:
    options = TextOptions(pattern="(?P<a>[^ ]*) (x)?(?P<b>.*)", nulls=("", "NULL"))
    assert options.names(b"whatever") == ("a", "b")
    assert options.lines(("a", "b")).groups == "([^ ]*) (?:x)?(.*)"
    assert (options.types, options.null_texts, options.comment, options.skips_first) == ({}, ("", "NULL"), None, False)


def test_a_preset_knows_what_a_pattern_has_to_say() -> None:
    options = TextOptions(preset="cloudfront", nulls=("none",))
    assert options.names(b"#Fields: date c-ip\n") == ("date", "c_ip")
    assert options.lines(("date", "c_ip")).groups == "([^\t]*)\t([^\t]*)"
    assert (options.types["date"], options.null_texts) == ("date", ("none", "-"))
    assert (options.comment, options.skips_first) == ("#", False)
    assert TextOptions(preset="vpc-flow").skips_first
    assert TextOptions(preset="alb").names(b"")[:2] == ("type", "time")


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"format": "text"}, "`format: text` needs `text`"),
        ({"text": _PATTERN}, "`text` is for text files: add `format: text`"),
        ({"format": "csv", "text": _PATTERN}, "`text` is for text files: add `format: text`"),
        ({"format": "text", "text": {}}, "give `preset`, a log of AWS, or `pattern`"),
        ({"format": "text", "text": {"preset": "alb", **_PATTERN}}, "give `preset`, a log of AWS, or `pattern`"),
        ({"format": "text", "text": {"preset": "elb"}}, "Input should be 's3-access', 'alb'"),
        ({"format": "text", "text": {"pattern": "(a)"}}, "it names no columns"),
        ({"format": "text", "text": {"pattern": "(?P<_batch>.*)"}}, "_batch"),
        ({"format": "text", "text": _PATTERN, "mode": "register"}, "only parquet files can be registered"),
        ({"format": "text", "text": _PATTERN, "schema": "rescue"}, "`schema: rescue` is for JSON and CSV"),
        ({"format": "text", "text": _PATTERN, "schema": "variant"}, "`schema: variant` is for JSON"),
        ({"format": "text", "text": _PATTERN, "widen": True}, "only files that declare the types"),
        ({"mode": "inventory", "text": _PATTERN}, "`text`"),
        ({"mode": "inventory", "json": {"records": "Records"}}, "`json` says where JSON files have their rows"),
        ({"format": "json", "json": {"records": "Records"}, "schema": "variant"}, None),
        ({"json": {"records": "Records"}}, None),
        *(
            ({"json": {"records": "Records"}, **fields}, "`json: {records: …}` is for JSON files that are loaded")
            for fields in (
                *({"format": format} for format in ("csv", "parquet", "orc", "avro")),
                {"format": "text", "text": _PATTERN},
                {"mode": "register"},
            )
        ),
    ],
)
def test_what_does_not_go_together_is_refused(fields: dict[str, Any], expected: str | None) -> None:
    table = {**_TABLE, **fields}
    if expected is None:
        TableSpec.model_validate(table)
        return
    with pytest.raises(ValidationError) as refused:
        TableSpec.model_validate(table)
    assert expected in str(refused.value)
