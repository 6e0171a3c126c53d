"""JSON that other products read wrongly."""

from __future__ import annotations

from typing import Any

from tests.support.peers.case import Body, Peer, Row, packed


def _json(source: str, was: str, body: Body, rows: dict[int, Row], **more: Any) -> Peer:
    return Peer(source, was, "json", body, rows, **more)


CASES = (
    _json(
        "duckdb/duckdb#25786",
        "beyond the sample, `true` became 1, 7 became `true`, and 1.5 became 2",
        '{"id":@9,"late_kind":7,"late_point":7,"flag":true}\n' * 2_000
        + '{"id":@1,"late_kind":true,"late_point":1.5,"flag":7}\n',
        {1: {"late_kind": "true", "late_point": 1.5, "flag": "7"}},
        types={"late_kind": "string", "late_point": "double", "flag": "string"},
    ),
    _json(
        "pola-rs/polars#29330",
        "a key that the first hundred records do not have was lost",
        '{"id":@9}\n' * 3_000 + '{"id":@1,"late_key":10}\n',
        {1: {"late_key": 10}},
        types={"late_key": "bigint"},
    ),
    _json(
        "pola-rs/polars#10041",
        "after `NaN` or `.1`, which are not JSON, the rest of the file was left out",
        '{"id":@1,"real":2.0}\n{"id":@2,"real":NaN}\n{"id":@3,"real":.1}\n{"id":@4,"real":6.0}\n',
        {1: {"real": 2.0}, 4: {"real": 6.0}},
        bad=2,
    ),
    _json(
        "pola-rs/polars#13768",
        "a line that is not JSON failed the file",
        '{"id":@1,"around":1}\nx\n{"id":@2,"around":2}\n',
        {1: {"around": 1}, 2: {"around": 2}},
        bad=1,
    ),
    _json(
        "pola-rs/polars#22807",
        "empty arrays, and an array of objects a hundred lines later",
        '{"id":@9,"items":[]}\n' * 100 + '{"id":@1,"items":[{"n":1,"b":[]}]}\n',
        {1: {"items": [{"n": 1}]}},
    ),
    _json(
        "pola-rs/polars#13183",
        "a NULL in the last line made NULLs of all numbers before it",
        '{"id":@1,"start":1.6239999999999999}\n{"id":@2,"start":2.0540000000000003}\n{"id":@3,"start":null}\n',
        {1: {"start": 1.6239999999999999}, 2: {"start": 2.0540000000000003}, 3: {"start": None}},
        types={"start": "double"},
    ),
    _json(
        "pola-rs/polars#21953",
        "an object in a column of text became NULL",
        '{"id":@1,"fields":{"name":"body","value":"2"}}\n{"id":@2,"fields":{"name":"body","value":{"a":1}}}\n',
        {1: {"fields": {"name": "body", "value": "2"}}, 2: {"fields": {"name": "body", "value": '{"a":1}'}}},
    ),
    _json(
        "serverless/serverless#2916",
        "a backslash and an n between two objects, in place of a line end",
        '{"id":@1,"slash_n":"foo"}\\n{"id":@2,"slash_n":"bar"}\n{"id":@3,"slash_n":"last"}\n',
        {1: {"slash_n": "foo"}, 3: {"slash_n": "last"}},
        bad=1,
    ),
    _json(
        "s12v/awsbeats#39",
        "of the objects in one line, all but the first were dropped",
        packed('{"id":@1,"beat":"a}{"}{"id":@2,"beat":"b"}', '{"id":@3,"beat":"c"}'),
        {1: {"beat": "a}{"}, 2: {"beat": "b"}, 3: {"beat": "c"}},
        key="beats.json.gz",
    ),
    _json(
        "elastic/beats#24872",
        "after an empty line the rest of the file was left out",
        '{"id":@1,"empty_line":1}\n\n \n{"id":@2,"empty_line":2}',
        {1: {"empty_line": 1}, 2: {"empty_line": 2}},
    ),
    _json(
        "apache/spark#47920",
        "of a field that an object has twice, one value was dropped",
        '{"id":@1,"twice":{"x":1,"y":2}}\n{"id":@2,"twice":{"x":1,"x":2}}\n',
        {1: {"twice": {"x": 1, "y": 2}}},
        bad=1,
        says=("twice",),
    ),
    _json(
        "apache/spark#58545",
        "of a field that an object has twice, the value that did not fit was dropped",
        '{"id":@1,"dropped":1}\n{"id":@2,"dropped":"x","dropped":5}\n',
        {1: {"dropped": 1}},
        bad=1,
    ),
    _json(
        "apache/spark#18865",
        "a text in a column of numbers became NULL, and was not counted",
        '{"id":@1,"small":1}\n{"id":@2,"small":"3"}\n',
        {1: {"small": 1}},
        before='{"id":@3,"small":2}\n',
        bad=1,
        says=("another type",),
    ),
    _json(
        "apache/spark#48453",
        "`null` in place of a record made the file a corrupt one",
        'null\n{"id":@1,"nulls":1}\nnull\n',
        {1: {"nulls": 1}},
        bad=2,
    ),
    _json(
        "airbytehq/airbyte#9471",
        "whole numbers were written as 4.800000000000000e+01",
        '{"id":@1,"exponent":4.800000000000000e+01}\n{"id":@2,"exponent":73}\n',
        {1: {"exponent": 48}, 2: {"exponent": 73}},
    ),
    _json(
        "airbytehq/airbyte#12057",
        "ids beyond 2^53 became floating-point numbers",
        '{"id":@1,"big_id":9007199254740993}\n{"id":@2,"big_id":-9223372036854775808}\n{"id":@3,"big_id":null}\n',
        {1: {"big_id": 9007199254740993}, 2: {"big_id": -9223372036854775808}, 3: {"big_id": None}},
        types={"big_id": "bigint"},
    ),
    _json(
        "airbytehq/airbyte#12057",
        "ids beyond 2^53 next to a decimal number",
        '{"id":@1,"mixed_id":9007199254740993}\n{"id":@2,"mixed_id":1.5}\n',
        {1: {"mixed_id": "9007199254740993"}, 2: {"mixed_id": "1.5"}},
    ),
    _json(
        "airbytehq/airbyte#25243",
        "milliseconds since 1970 lost their last digits",
        '{"id":@1,"millis":1648218655338}\n{"id":@2,"millis":-1}\n',
        {1: {"millis": 1648218655338}, 2: {"millis": -1}},
        types={"millis": "bigint"},
    ),
    _json(
        "duckdb/duckdb#10784",
        "an array of a number and a text gave other rows each time",
        '[4, "hello"]\n',
        {},
        refused=True,
        says=("object",),
    ),
    _json(
        "duckdb/duckdb#10823",
        "a field that one object of ten has became a map of key and value",
        '[{"id":@1,"rare":1}' + ',{"id":@9}' * 9 + "]",
        {1: {"rare": 1}},
        types={"rare": "bigint"},
    ),
)
