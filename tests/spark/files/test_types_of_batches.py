"""The types of new columns follow from the values of a batch, and not from the files that have them.

One lake has a table for each case, so that Spark is asked once for each.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from tests.support.lakes.shuffled_rows import files_of, rows_of
from tidegate.platform.core.infer.text_format import sniff_json
from tidegate.platform.core.schema.names import SOURCE_COLUMNS
from tidegate.platform.testing import TestLake

PAD = "p" * 70_000


def test_types_follow_from_the_values_of_a_batch(module_lake: Callable[..., TestLake], kit: Any) -> None:
    silver = {"keys": ["id"], "order": "v", "every": 60}
    lake = module_lake(
        [
            {"name": "headers", "prefix": "headers/", "format": "csv", "silver": silver},
            {"name": "sizes", "prefix": "sizes/", "format": "json", "silver": silver},
            {"name": "cells", "prefix": "cells/", "format": "csv"},
            {"name": "empty", "prefix": "empty/", "format": "json"},
            {"name": "joined", "prefix": "joined/", "format": "csv"},
            {"name": "paths", "prefix": "paths/", "format": "csv"},
            {"name": "members", "prefix": "members/", "format": "json"},
            {"name": "both", "prefix": "both/"},
        ],
        discovery=False,
    )
    objects = {
        # More columns, another order, and a column that is empty in one file.
        "headers/1.csv": "id,v,d\n1,9,2026-01-01\n",
        "headers/2.csv": "d,id,v,w,e\n2026-01-01 10:00:00,1,10.5,x,5\n",
        "headers/3.csv": "e,id,v\n,2,1\n\n",
        # A row that is not taken, the header again, and quotes around nothing.
        "headers/4.csv": 'id,v,e\n3,1,""\nTRAILER\nid,v,e\nTRL,2,3,4\n',
        # A small file and a large one; a new field in a struct.
        "sizes/a.json": '{"id": 1, "v": 9, "s": {"a": 1}}',
        "sizes/b.json": '{"id": 1, "v": 10.5, "s": {"a": 1.5, "b": ""}}\n' + json.dumps({"id": 2, "v": 1, "pad": PAD}),
        "sizes/c.json": json.dumps({"id": 3, "v": 1}, indent=1) + json.dumps({"id": 4, "v": 2}),
        # The same cells, as lines and as a whole file.
        "cells/1.csv": 'id,t,n\n1,"",\n2,,""\n',
        "cells/2.csv": 'id,t,n\n3,"",\n4,,""\n5,"two\nlines",7\n',
        "cells/3.csv": "id,t,n\n6,x,8,\n7,y,,\n",
        "empty/1.json": '{"id": 1, "note": ""}\n',
        # Files that were put together: a mark and the header again; in another order the file is refused.
        "joined/1.csv": "\ufeffid,v\n1,9\n\ufeffid,v\n\ufeff1,10.5\n",
        "joined/2.csv": "id,v\n2,9\nV,id\nx,3\n",
        # A row that its path refuses.
        "paths/day=1/1.csv": "day,v\n1,9\n2,none\n",
        "members/day=1/1.json": '\ufeff{"day": 1, "v": 9}\n\ufeff{"day": 2, "v": "none"}\n',
        # Two formats: a double would change a whole number of one of them.
        "both/1.json": '{"id": 1, "v": 9007199254740993, "w": 1.5, "x": 9}\n',
        "both/2.csv": "id,v,w,x\n2,1.5,-9007199254740993,2.5\n",
    }
    for key, body in objects.items():
        lake.put(key, body)
    tables = ("headers", "sizes", "cells", "empty", "joined", "paths", "members", "both")
    types = {}
    for table in tables:
        kit.run(lake, table)
        schema = lake.lake.delta.session.sql(f"DESCRIBE delta.`{kit.location(lake, table)}`").collect()
        types[table] = {
            row["col_name"]: row["data_type"] for row in schema if not row["col_name"].startswith(("_", "#"))
        }
    assert types["headers"] == {
        "id": "bigint", "v": "double", "d": "timestamp", "w": "string", "e": "bigint",
    }  # fmt: skip
    assert types["sizes"] == {
        "id": "bigint", "v": "double", "s": "struct<a:double,b:string>", "pad": "string",
    }  # fmt: skip
    assert types["cells"] == {"id": "bigint", "t": "string", "n": "bigint"}
    assert types["empty"] == {"id": "bigint", "note": "string"}
    assert types["joined"] == {"id": "bigint", "v": "double"}
    assert types["both"] == {"id": "bigint", "v": "string", "w": "string", "x": "double"}
    assert set(kit.bronze(lake, "both", "id, v, w, x")) == {
        (1, "9007199254740993", "1.5", 9.0),
        (2, "1.5", "-9007199254740993", 2.5),
    }
    assert types["paths"] == types["members"] == {"v": "bigint", "day": "string"}

    assert set(kit.bronze(lake, "headers", "id, v, e")) == {
        (1, 9.0, None),
        (1, 10.5, 5),
        (2, 1.0, None),
        (3, 1.0, None),
    }
    assert set(kit.bronze(lake, "sizes", "id, v")) == {(1, 9.0), (1, 10.5), (2, 1.0), (3, 1.0), (4, 2.0)}
    assert set(kit.bronze(lake, "cells", "id, t, n")) == {
        (1, "", None), (2, None, None), (3, "", None), (4, None, None), (5, "two\nlines", 7), (6, "x", 8),
        (7, "y", None),
    }  # fmt: skip
    assert kit.bronze(lake, "empty", "id, note") == [(1, "")]
    assert set(kit.bronze(lake, "joined", "id, v")) == {(1, 9.0), (1, 10.5)}
    status, reason = kit.fate(lake, "joined")["2.csv"]
    assert (status, reason[:47]) == ("quarantined", "line 3 has the header again, in another order: ")
    assert kit.bronze(lake, "paths", "day, v") == kit.bronze(lake, "members", "day, v") == [("1", 9)]
    # The newer row is the larger number, not the later text.
    for table in ("headers", "sizes"):
        kit.merge(lake, table)
        assert (1, 10.5) in kit.silver(lake, table, "id, v")

    # The same grammar for a table that exists; what its columns refuse has no say in a new column.
    lake.put("cells/4.csv", 'id,t,n,m\n8,"","",1\n9,,x,y\n')
    lake.put("cells/5.csv", 'id,m,t,n\n10,2.5,"two\nlines",\n')
    kit.run(lake, "cells")
    found = kit.bronze(lake, "cells", "id, t, n, m")
    assert set(found) >= {(8, "", None, 1.0), (10, "two\nlines", None, 2.5)}
    assert len(found) == 9
    # A header brings a column, and files of another format have a say in its type.
    lake.put("both/3.csv", "id,y\n3,5\n")
    lake.put("both/4.json", '{"id": 4, "y": "n/a"}\n')
    kit.run(lake, "both")
    assert set(kit.bronze(lake, "both", "id, y")) >= {(3, "5"), (4, "n/a")}


#: What a first file cannot say, by the field that has it: values of JSON, and the type that a later file says.
UNTYPED = {
    "nothing": ("null", "7", "bigint"),
    "list": ("[]", "[7]", "array<bigint>"),
    "nulls": ("[null, []]", "[[7]]", "array<array<bigint>>"),
    "struct": ("{}", '{"a": 7}', "struct<a:bigint>"),
    "inner": ('{"a": null, "b": {"c": []}}', '{"a": 7}', "struct<a:bigint>"),
    "items": ('[{"a": null}, {}]', '[{"a": 7}]', "array<struct<a:bigint>>"),
}
#: Those of Parquet and Avro, which declare them: the type that is declared, and a value.
DECLARED: dict[str, tuple[pa.DataType, Any, Any, Any]] = {
    "nothing": (pa.null(), None, pa.int64(), 7),
    "list": (pa.list_(pa.null()), [], pa.list_(pa.int64()), [7]),
    "inner": (pa.struct([("a", pa.null())]), {"a": None}, pa.struct([("a", pa.int64())]), {"a": 7}),
    "items": (
        pa.list_(pa.struct([("a", pa.null()), ("b", pa.int64())])), [{"a": None, "b": 1}],
        pa.list_(pa.struct([("a", pa.int64()), ("b", pa.int64())])), [{"a": 7, "b": 1}],
    ),
    "map": (pa.map_(pa.string(), pa.null()), [("k", None)], pa.map_(pa.string(), pa.string()), [("k", "v")]),
}  # fmt: skip


def test_what_a_first_file_cannot_say_waits_without_its_rows(module_lake: Callable[..., TestLake], kit: Any) -> None:
    names = ("lines", "strict", "only", "registered", "loaded")
    lake = module_lake(
        [
            {"name": "lines", "prefix": "lines/", "silver": {"keys": ["id"], "order": "at", "every": 60}},
            {"name": "strict", "prefix": "strict/", "schema": "strict"},
            {"name": "only", "prefix": "only/"},
            {"name": "registered", "prefix": "registered/"},
            {"name": "loaded", "prefix": "loaded/", "mode": "load"},
        ],
        discovery=False,
    )

    def line(number: int, place: int) -> str:
        fields = ", ".join(f'"{name}": {values[place]}' for name, values in UNTYPED.items())
        return f'{{"id": {number}, "at": {number}, "text": "", "s": {{"a": 1, "b": {{"c": null}}}}, {fields}}}\n'

    def declared(number: int, place: int) -> pa.Table:
        columns = {name: pa.array([column[place + 1], None], column[place]) for name, column in DECLARED.items()}
        return pa.table({"id": [number, number + 1], **columns})

    def types(table: str) -> dict[str, str]:
        rows = kit.query(lake, "DESCRIBE {t}", t=kit.location(lake, table))
        return {row["col_name"]: row["data_type"] for row in rows if not row["col_name"].startswith(("_", "#"))}

    # The first batch.
    for table in ("lines", "strict"):
        lake.put(f"{table}/1.json", line(1, 0))
    lake.put("only/1.json", '{"inner": {"a": null}, "list": []}\n')
    for table in ("registered", "loaded"):
        lake.put(f"{table}/1.parquet", kit.parquet(declared(1, 0)))
    for table in names:
        kit.run(lake, table)
    text = {"id": "bigint", "at": "bigint", "text": "string", "s": "struct<a:bigint>"}
    inferred = sniff_json(line(1, 0).encode(), whole=True).columns
    assert {name: kind.replace("`", "").replace(": ", ":") for name, kind in inferred.items()} == text
    assert types("lines") == types("strict") == text
    assert types("only") == {}
    some = {"id": "bigint", "items": "array<struct<b:bigint>>", "map": "map<string,string>"}
    assert types("registered") == types("loaded") == some
    assert kit.bronze(lake, "loaded", "id, map['k'], size(map), items[0].b") == [(1, None, 1, 1), (2, None, None, None)]
    kit.merge(lake, "lines")
    assert kit.silver(lake, "lines", "id, text, s.a") == [(1, "", 1)]

    # The second batch says the types, in one file of several.
    lake.put("lines/2.json", line(2, 0))
    lake.put("lines/3.json", line(3, 1))
    lake.put("strict/2.json", line(2, 0))
    lake.put("only/2.json", '{"inner": {"a": 7}, "list": [7], "id": 2}\n')
    for table in ("registered", "loaded"):
        lake.put(f"{table}/2.parquet", kit.parquet(declared(3, 0)))
        lake.put(f"{table}/3.parquet", kit.parquet(declared(5, 2)))
    for table in names:
        kit.run(lake, table)
        assert {status for status, _ in kit.fate(lake, table).values()} == {"committed"}, kit.fate(lake, table)
    assert types("lines") == text | {name: kind for name, (*_, kind) in UNTYPED.items()}
    assert types("strict") == text
    assert types("only") == {"id": "bigint", "inner": "struct<a:bigint>", "list": "array<bigint>"}
    assert kit.bronze(lake, "only", "inner.a, list, id") == [(7, [7], 2), (None, None, None)]
    columns = "id, text, nothing, list, nulls, struct.a, inner.a, items[0].a"
    first, said = (1, "", *[None] * 6), (3, "", 7, [7], [[7]], 7, 7, 7)
    # In a column that has a type by now, an empty list is one.
    second = (2, "", None, [], [None, []], None, None, None)
    assert kit.bronze(lake, "lines", columns) == [first, second, said]
    kit.merge(lake, "lines")
    assert kit.silver(lake, "lines", columns) == [first, second, said]
    everything = {"nothing": "bigint", "list": "array<bigint>", "inner": "struct<a:bigint>"}
    for table in ("registered", "loaded"):
        assert types(table) == some | everything | {"items": "array<struct<b:bigint,a:bigint>>"}
        found = kit.bronze(lake, table, "id, nothing, list, inner.a, items[0].a, items[0].b, map['k']")
        assert found == [
            (1, *[None] * 4, 1, None), (2, *[None] * 6), (3, *[None] * 4, 1, None), (4, *[None] * 6),
            (5, 7, [7], 7, 7, 1, "v"), (6, *[None] * 6),
        ]  # fmt: skip


@pytest.mark.seeds(1, 40)
@pytest.mark.parametrize("kind", ["csv", "json"])
def test_rows_are_one_table_however_they_are_divided_over_files(
    module_lake: Callable[..., TestLake], kit: Any, seed: int, kind: str
) -> None:
    names = [f"{kind}_{way}" for way in range(2)]
    lake = module_lake([{"name": name, "prefix": f"{name}/", "format": kind} for name in names], discovery=False)
    rows, found = rows_of(Random(f"{seed}"), kind), []
    for name in names:
        for file, body in files_of(Random(f"{seed} {name}"), kind, rows).items():
            lake.put(f"{name}/{file}", body)
        kit.run(lake, name)
        assert set(kit.fate(lake, name).values()) == {("committed", "")}, name
        frame = lake.lake.delta.session.sql(f"SELECT * FROM delta.`{kit.location(lake, name)}`")
        types = {each.name: each.dataType.jsonValue() for each in frame.schema if each.name not in SOURCE_COLUMNS}
        values = [{each: row[each] for each in sorted(types)} for row in map(_plain, frame.collect())]
        found.append((_sorted(types), sorted(values, key=lambda row: int(row["id"]))))
    (types, values), (other_types, other_values) = found
    assert types == other_types
    differing = {
        (row["id"], name): (row[name], other[name])
        for row, other in zip(values, other_values, strict=True)
        for name in row
        if row[name] != other[name]
    }
    assert differing == {}
    assert len(values) == len(rows)


def _plain(row: Any) -> dict[str, Any]:
    return row.asDict(recursive=True)  # type: ignore[no-any-return]


def _sorted(kind: Any) -> Any:
    """Return the order of a struct's fields is that in which they are found."""
    if isinstance(kind, dict):
        fields = {name: _sorted(value) for name, value in kind.items()}
        if isinstance(fields.get("fields"), list):
            fields["fields"] = sorted(fields["fields"], key=lambda field: str(field["name"]))
        return fields
    return [_sorted(each) for each in kind] if isinstance(kind, list) else kind
