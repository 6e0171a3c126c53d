"""Changes that other products merge wrongly."""

from __future__ import annotations

from typing import Any

from tests.support.peers.case import Changes, Row

#: Tables of these cases, as in lake.yaml.
TABLES: dict[str, dict[str, Any]] = {
    # The newest row of each key, which may have a NULL in it.
    "newest": {
        "columns": {"id": "bigint", "part": "string", "ts": "bigint", "op": "string", "v": "string", "w": "string"},
        "silver": {"keys": ["id", "part"], "order": "ts", "delete_when": "op = 'D'", "every": 10},
    },
    # A NULL is not a change.
    "partial": {
        "columns": {"id": "bigint", "ts": "bigint", "v": "string", "w": "string"},
        "silver": {"keys": ["id"], "order": "ts", "ignore_null_updates": True, "every": 10},
    },
    "debezium": {"silver": {"from": "debezium", "keys": ["id"], "every": 10}},
    "history": {
        "columns": {"id": "bigint", "ts": "bigint", "op": "string", "v": "string"},
        "silver": {
            "keys": ["id"],
            "order": "ts",
            "delete_when": "op = 'D'",
            "except_columns": ["op"],
            "stored_as": "scd2",
            "every": 10,
        },
    },
}


def _newest(source: str, was: str, *steps: str, rows: tuple[tuple[int, Row], ...]) -> Changes:
    return Changes(source, was, "newest", steps, rows)


def _changed(op: str, lsn: int, before: str = "null", after: str = "null") -> str:
    source = f'{{"connector":"postgresql","lsn":{lsn}}}'
    return f'{{"op":"{op}","before":{before},"after":{after},"source":{source}}}\n'


CASES = (
    _newest(
        "apache/hudi#7335",
        "a row that came late replaced a newer one",
        '{"id":@1,"ts":9,"v":"new"}\n',
        '{"id":@1,"ts":8,"v":"old"}\n',
        rows=((1, {"v": "new", "ts": 9}),),
    ),
    _newest(
        "apache/hudi#1803",
        "of three updates in one second, one in the middle won",
        '{"id":@1,"ts":47,"v":"61"}\n{"id":@1,"ts":52,"v":"63"}\n{"id":@1,"ts":52,"v":"64"}\n{"id":@1,"ts":52,"v":"65"}\n',
        rows=((1, {"v": "65"}),),
    ),
    _newest(
        "apache/hudi#3266",
        "an insert and a delete in one second: the row stayed, or not, by chance",
        '{"id":@1,"ts":5,"op":"I"}\n{"id":@1,"ts":5,"op":"D"}\n{"id":@2,"ts":5,"op":"I"}\n',
        '{"id":@2,"ts":5,"op":"D"}\n',
        rows=(),
    ),
    _newest(
        "memiiso/debezium-server-iceberg#661",
        "an insert, a delete and an insert in one second: the first insert won",
        '{"id":@1,"ts":5,"op":"I","v":"hello"}\n{"id":@1,"ts":5,"op":"D"}\n{"id":@1,"ts":5,"op":"I","v":"hallo"}\n',
        rows=((1, {"v": "hallo"}),),
    ),
    _newest(
        "airbytehq/airbyte#32930",
        "a delete in the batch of its insert was not seen",
        '{"id":@1,"ts":1,"op":"I"}\n{"id":@1,"ts":2,"op":"U"}\n{"id":@1,"ts":3,"op":"D"}\n',
        rows=(),
    ),
    _newest(
        "airbytehq/airbyte#16780",
        "an update to NULL left the old value",
        '{"id":@1,"ts":1,"v":"sent","w":"x"}\n',
        '{"id":@1,"ts":2,"v":null,"w":"x"}\n',
        rows=((1, {"v": None, "w": "x"}),),
    ),
    _newest(
        "apache/hudi#9390",
        "a row whose order is NULL stopped the table, or hid what came before",
        '{"id":@1,"ts":null,"v":"first"}\n{"id":@2,"ts":3,"v":"stays"}\n',
        '{"id":@1,"ts":1,"v":"second"}\n{"id":@2,"ts":null,"v":"no"}\n',
        rows=((1, {"v": "second"}), (2, {"v": "stays"})),
    ),
    _newest(
        "delta-io/delta#780",
        "a key with a NULL was inserted again by each merge",
        '{"id":@1,"part":null,"ts":1,"v":"a"}\n{"id":@1,"part":"","ts":1,"v":"empty"}\n',
        '{"id":@1,"part":null,"ts":2,"v":"b"}\n',
        '{"id":@1,"part":null,"ts":3,"v":"c"}\n',
        rows=((1, {"part": "", "v": "empty"}), (1, {"part": None, "v": "c"})),
    ),
    _newest(
        "PostHog/posthog#75601",
        "a delete of a key with a NULL found no row",
        '{"id":@1,"part":null,"ts":1,"v":"a"}\n{"id":@1,"part":"x","ts":1,"v":"b"}\n',
        '{"id":@1,"part":null,"ts":2,"op":"D"}\n',
        rows=((1, {"part": "x", "v": "b"}),),
    ),
    _newest(
        "delta-io/delta-rs#2961",
        "two rows of one key in one batch became two rows of the table",
        '{"id":@1,"part":"p","ts":1,"v":"a"}\n{"id":@1,"part":"p","ts":1,"v":"a"}\n',
        '{"id":@1,"part":"p","ts":2,"v":"b"}\n{"id":@1,"part":"p","ts":2,"v":"b"}\n',
        rows=((1, {"v": "b"}),),
    ),
    _newest(
        "delta-io/delta#461",
        "a row that the table has was inserted again by a merge of all rows",
        '{"id":@1,"ts":1,"v":"a"}\n',
        '{"id":@1,"ts":1,"v":"a"}\n{"id":@2,"ts":1,"v":"n"}\n',
        rows=((1, {"v": "a"}), (2, {"v": "n"})),
    ),
    _newest(
        "dlt-hub/dlt#2479",
        "a row was left out because another key had a later time before",
        '{"id":@1,"ts":1,"v":"in progress"}\n{"id":@2,"ts":900,"v":"done"}\n',
        '{"id":@1,"ts":5,"v":"done"}\n',
        rows=((1, {"v": "done"}), (2, {"v": "done"})),
    ),
    _newest(
        "dlt-hub/dlt#1739",
        "columns that came after the first merge were left out",
        '{"id":@1,"ts":1,"v":"a"}\n',
        '{"id":@1,"ts":2,"v":"b","joined_later":5}\n',
        rows=((1, {"v": "b", "joined_later": 5}),),
    ),
    _newest(
        "apache/hudi#5036",
        "a delete that has only the key failed the table",
        '{"id":@1,"ts":1,"v":"a"}\n{"id":@2,"ts":1,"v":"b"}\n',
        '{"id":@1,"ts":2,"op":"D"}\n',
        rows=((2, {"v": "b"}),),
    ),
    Changes(
        "apache/hudi#8579",
        "a partial update took the value of an older row of its batch, which the table was newer than",
        "partial",
        (
            '{"id":@1,"ts":1000,"v":"a1","w":"10.0"}\n',
            '{"id":@1,"ts":999,"v":"a1","w":"11.0"}\n{"id":@1,"ts":1001,"v":"a1","w":null}\n',
        ),
        ((1, {"v": "a1", "w": "10.0", "ts": 1001}),),
    ),
    Changes(
        "apache/hudi#2106",
        "two partial rows of one batch: the values of one were lost",
        "partial",
        ('{"id":@1,"ts":1,"v":"Karl","w":null}\n{"id":@1,"ts":2,"v":null,"w":"18"}\n',),
        ((1, {"v": "Karl", "w": "18", "ts": 2}),),
    ),
    Changes(
        "debezium/debezium#43",
        "after an update of its key, the row was there under both keys",
        "debezium",
        (
            _changed("c", 1, after='{"id":@1,"name":"a"}'),
            _changed("d", 2, before='{"id":@1,"name":"a"}') + _changed("c", 2, after='{"id":@2,"name":"a"}'),
        ),
        ((2, {"name": "a"}),),
    ),
    Changes(
        "databricks/iceberg-kafka-connect#318",
        "a delete whose row has only the key deleted nothing",
        "debezium",
        (
            _changed("r", 1, after='{"id":@1,"name":"a"}') + _changed("r", 1, after='{"id":@2,"name":"b"}'),
            _changed("d", 5, before='{"id":@1,"name":null}'),
        ),
        ((2, {"name": "b"}),),
    ),
    Changes(
        "apache/flink-cdc#2703",
        "a delete added a row",
        "debezium",
        (_changed("d", 5, before='{"id":@1}'), _changed("u", 4, before='{"id":@1}', after='{"id":@1,"name":"late"}')),
        (),
    ),
    Changes(
        "apache/iceberg#15351",
        "updates and deletes were inserted as rows",
        "debezium",
        (
            _changed("c", 1, after='{"id":@1,"name":"a"}')
            + _changed("u", 2, before='{"id":@1,"name":"a"}', after='{"id":@1,"name":"b"}')
            + _changed("c", 3, after='{"id":@2,"name":"c"}')
            + _changed("d", 4, before='{"id":@2,"name":"c"}'),
        ),
        ((1, {"name": "b"}),),
    ),
    Changes(
        "dbt-labs/dbt-core#2871",
        "the newest row of a key got an end",
        "history",
        ('{"id":@1,"ts":1,"v":"a"}\n', '{"id":@1,"ts":2,"v":"b"}\n', '{"id":@1,"ts":3,"v":"b"}\n'),
        (
            (1, {"v": "a", "valid_from": 1, "valid_to": 2}),
            (1, {"v": "b", "valid_from": 2, "valid_to": None}),
        ),
    ),
    Changes(
        "dbt-labs/dbt-core#5867",
        "the end of a deleted row was before its beginning",
        "history",
        ('{"id":@1,"ts":5,"v":"a"}\n{"id":@1,"ts":5,"op":"D"}\n', '{"id":@1,"ts":3,"v":"before"}\n'),
        ((1, {"v": "before", "valid_from": 3, "valid_to": 5}),),
    ),
    Changes(
        "oracle/dbt-oracle#179",
        "each run recorded a delete again, and a row that came back was not recorded",
        "history",
        (
            '{"id":@1,"ts":1,"v":"a"}\n{"id":@1,"ts":2,"op":"D"}\n',
            '{"id":@1,"ts":3,"op":"D"}\n{"id":@1,"ts":4,"op":"D"}\n',
            '{"id":@1,"ts":6,"v":"a"}\n',
        ),
        (
            (1, {"v": "a", "valid_from": 1, "valid_to": 2}),
            (1, {"v": "a", "valid_from": 6, "valid_to": None}),
        ),
    ),
    Changes(
        "dbt-labs/dbt-core#6215",
        "two equal rows of one key in one run wedged the table",
        "history",
        (
            '{"id":@1,"ts":1,"v":"a"}\n{"id":@1,"ts":1,"v":"a"}\n',
            '{"id":@1,"ts":2,"op":"D"}\n{"id":@1,"ts":2,"op":"D"}\n',
        ),
        ((1, {"v": "a", "valid_from": 1, "valid_to": 2}),),
    ),
)
