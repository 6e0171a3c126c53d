"""Which files fit a table, the schema that a table is born with, and how the schema grows."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace
from typing import Any

import pytest

from tidegate.platform.core.errors import Misfit
from tidegate.platform.core.schema.column_types import (
    Array,
    Decimal,
    Field,
    Map,
    Simple,
    Struct,
    field_from_json,
    grows,
    widens,
)
from tidegate.platform.core.schema.names import MAX_FIELDS, SOURCE_COLUMNS, check_names, needs_mapping, usable_fields
from tidegate.platform.core.schema.partitions import check_partition
from tidegate.platform.core.schema.sql_types import parse_sql_type, simple_type
from tidegate.platform.core.schema.table_schema import BY_NAME, WIDENED, TableSchema


def fields(text: str) -> tuple[Field, ...]:
    """Parse a list of columns in SQL, such as `a bigint, s struct<x:int>`."""
    kind = parse_sql_type(f"struct<{text}>")
    assert isinstance(kind, Struct)
    return kind.fields


def born(text: str, *partitions: str) -> TableSchema:
    return TableSchema(fields(text), partitions)


def shown(schema: TableSchema) -> list[str]:
    return [f"{field.name} {field.type.sql()}" for field in schema.fields]


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("int", Simple("integer")),
        (" BIGINT ", Simple("long")),
        ("decimal(10, 2)", Decimal(10, 2)),
        ("timestamp_ntz", Simple("timestamp_ntz")),
    ],
)
def test_simple_sql_types(sql: str, expected: Any) -> None:
    assert simple_type(sql) == expected


@pytest.mark.parametrize("sql", ["", "array<int>", "varchar(3)", "decimal", "nope"])
def test_other_types_are_refused_with_what_is_known(sql: str) -> None:
    with pytest.raises(ValueError, match=r"not a simple SQL type; known are bigint, .* and decimal\(p,s\)"):
        simple_type(sql)


@pytest.mark.parametrize("sql", ["decimal(39,2)", "decimal(5,6)", "decimal(0,0)"])
def test_a_decimal_has_up_to_38_digits(sql: str) -> None:
    with pytest.raises(ValueError, match="1 to 38 digits"):
        simple_type(sql)


@pytest.mark.parametrize(
    "sql",
    [
        "bigint",
        "decimal(38,0)",
        "array<array<string>>",
        "map<string,decimal(5,2)>",
        "struct<`a b`:int,`x.y`:array<struct<`@type`:timestamp>>,`tick``s`:map<string,date>>",
    ],
)
def test_a_type_survives_sql_and_json(sql: str) -> None:
    kind = parse_sql_type(sql)
    assert kind.sql() == sql
    assert field_from_json(Field("c", kind).json()) == Field("c", kind)


def test_a_table_is_born_with_the_columns_of_all_its_files() -> None:
    unborn = TableSchema.from_declared({"C2": "string"}, {"day": "int"})
    schema = unborn.accept_fields(fields("a int, b string"), "strict").accept_fields(
        fields("A bigint, c array<bigint>"), "strict"
    )
    assert shown(schema) == ["C2 string", "a bigint", "b string", "c array<bigint>", "day int"]
    assert schema.partitions == ("day",)
    assert all(field["nullable"] for field in schema.to_spark()["fields"])


def test_a_file_that_does_not_fit_shapes_nothing() -> None:
    unborn = TableSchema.from_declared({}, {}).accept_fields(fields("a string"), "evolve")
    with pytest.raises(Misfit, match="column a is double, but the table's is string"):
        unborn.accept_fields(fields("z int, a double"), "evolve")
    assert shown(unborn) == ["a string"]


def test_declared_types_stand() -> None:
    unborn = TableSchema.from_declared({"Temp": "double", "s": "struct<x:int>"}, {})
    assert shown(unborn.accept_fields(fields("temp int"), "evolve")) == ["Temp double", "s struct<`x`:int>"]
    with pytest.raises(Misfit, match="column temp is string, but the table's is double"):
        unborn.accept_fields(fields("temp string"), "evolve")
    with pytest.raises(Misfit, match=r"field s\.y is not in the table, and lake\.yaml fixes the column's type"):
        unborn.accept_fields(fields("s struct<x:int,y:int>"), "evolve")


TABLE = "a bigint, b double, m decimal(10,2), list array<bigint>, s struct<x:bigint,y:string>, day int"


@pytest.mark.parametrize(
    "text",
    [
        "a bigint",
        "A bigint, B double",
        "a tinyint",
        "a int, b float",
        "b int",
        "m decimal(5,2)",
        "m decimal(8,0)",
        "s struct<X:bigint>",
        "s struct<y:string,x:bigint>",
    ],
)
def test_files_that_fit_change_nothing(text: str) -> None:
    schema = born(TABLE, "day")
    assert schema.accept_fields(fields(text), "strict") is schema


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("x bigint", "column x is not in the table, and its `schema` in lake.yaml is strict"),
        ("a string", "column a is string, but the table's is bigint"),
        ("a double", "column a is double, but the table's is bigint"),
        ("b bigint", "column b is bigint, but the table's is double"),  # a double cannot hold every integer of 64 bits
        ("m decimal(10,3)", "column m is decimal(10,3), but the table's is decimal(10,2)"),
        ("m decimal(11,2)", "column m is decimal(11,2), but the table's is decimal(10,2)"),
        ("a array<bigint>", "column a is array<bigint>, but the table's is bigint"),
        ("list array<int>", "column list[] is int, but the table's is bigint"),
        ("s struct<z:int>", "field s.z is not in the table, and its `schema` in lake.yaml is strict"),
        ("s struct<x:string>", "column s.x is string, but the table's is bigint"),
    ],
)
def test_files_that_do_not_fit_a_strict_table(text: str, reason: str) -> None:
    with pytest.raises(Misfit) as refused:
        born(TABLE, "day").accept_fields(fields(text), "strict")
    assert str(refused.value).split(";")[0] == reason


@pytest.mark.parametrize(
    ("table", "given", "remedy"),
    [
        ("timestamp", "timestamp_ntz", "as pandas and Polars write them by default: write them with one"),
        ("timestamp_ntz", "timestamp", "; write its times without a time zone, or, for a type that takes both, say it"),
        (
            "int",
            "bigint",
            "; a table's columns become wider only with `widen: true` in lake.yaml, and none in an",
        ),
        ("bigint", "double", "; write the column as bigint or under another name, or, for a type that takes both,"),
        ("struct<x:string>", "struct<x:int>", "; write the column as string or under another name, or"),
    ],
)
def test_a_type_that_does_not_fit_is_reported_with_a_remedy(table: str, given: str, remedy: str) -> None:
    with pytest.raises(Misfit) as refused:
        born(f"a {table}").accept_fields(fields(f"a {given}"), "evolve")
    assert remedy in str(refused.value)
    assert "start the table over (tidegate reset)" in str(refused.value)


SIMPLE = ["tinyint", "smallint", "int", "bigint", "float", "double", "date", "timestamp_ntz", "timestamp", "string"]
DECIMALS = ["decimal(10,2)", "decimal(12,4)", "decimal(12,2)", "decimal(11,4)"]
GROWS = {
    ("tinyint", "smallint"), ("tinyint", "int"), ("tinyint", "bigint"), ("tinyint", "double"),
    ("smallint", "int"), ("smallint", "bigint"), ("smallint", "double"),
    ("int", "bigint"), ("int", "double"), ("float", "double"), ("date", "timestamp_ntz"),
    ("decimal(10,2)", "decimal(12,4)"), ("decimal(10,2)", "decimal(12,2)"), ("decimal(11,4)", "decimal(12,4)"),
}  # fmt: skip


def test_a_column_becomes_wider_without_loss_and_never_narrower() -> None:
    pairs = itertools.permutations([*SIMPLE, *DECIMALS], 2)
    assert {(a, b) for a, b in pairs if grows(parse_sql_type(a), parse_sql_type(b))} == GROWS
    for narrow, wide in GROWS:
        table = f"a {narrow}, s struct<x:{narrow}>, day int"
        schema = replace(born(table, "day"), grows=True)
        wider = schema.accept_fields(fields(f"S struct<X:{wide}>, A {wide}"), "strict")
        assert shown(wider) == [f"a {wide}", f"s struct<`x`:{wide}>", "day int"]
        assert wider.to_delta() == (TableSchema(wider.fields, ("day",)), WIDENED)
        # Files that were not changed fit, and change nothing.
        assert wider.accept_fields(fields(f"a {narrow}, s struct<x:{narrow}>"), "strict") is wider
        known = replace(wider, widened=False)
        assert known.accept_fields(fields(f"a {narrow}"), "strict").to_delta()[1] == {}
        with pytest.raises(Misfit, match=r"`widen: true`|is timestamp_ntz, but the table's is date"):
            born(table, "day").accept_fields(fields(f"a {wide}"), "evolve")


@pytest.mark.parametrize(
    ("table", "given"),
    [
        ("bigint", "double"),
        ("bigint", "decimal(20,0)"),
        ("int", "string"),
        ("date", "timestamp"),
        ("array<int>", "array<bigint>"),
        ("map<string,int>", "map<string,bigint>"),
        ("array<struct<x:int>>", "array<struct<x:bigint>>"),
        ("decimal(10,2)", "decimal(10,4)"),
    ],
)
def test_what_would_lose_values_or_is_in_an_array_does_not_become_wider(table: str, given: str) -> None:
    schema = replace(born(f"a {table}, day int", "day"), grows=True)
    with pytest.raises(Misfit):
        schema.accept_fields(fields(f"a {given}"), "evolve")


def test_new_columns_alone_need_no_property_and_a_wider_type_keeps_the_ids_of_a_mapped_table() -> None:
    schema = replace(born("a int"), grows=True)
    assert schema.accept_fields(fields("b int"), "evolve").to_delta()[1] == {}
    mapped = replace(TableSchema(fields("`a b` int")).to_delta()[0], grows=True)
    wider, needed = mapped.accept_fields(fields("`a b` bigint"), "evolve").to_delta()
    assert needed == BY_NAME | WIDENED
    assert wider.fields[0] == replace(mapped.fields[0], type=Simple("long"))


def test_silver_takes_the_wider_types_of_bronze() -> None:
    silver = born("id int, s struct<x:float,y:int>, own boolean")
    bronze = fields("ID bigint, s struct<x:double,new:int>, more int")
    wider = silver.with_field_types(bronze)
    assert shown(wider) == ["id bigint", "s struct<`x`:double,`y`:int>", "own boolean"]
    assert wider.growth == WIDENED
    assert silver.with_field_types(fields("id int, more int")) is silver


def test_our_own_columns_come_first_where_delta_keeps_bounds() -> None:
    wide = TableSchema.from_declared({f"c{n}": "int" for n in range(40)}, {"day": "int"})
    assert shown(wide.with_leading_fields(fields("_batch bigint")))[:2] == ["_batch bigint", "c0 int"]
    assert shown(wide.with_leading_fields(fields("_batch bigint")))[-1] == "day int"


def test_new_columns_are_added_before_those_of_the_path_at_every_depth() -> None:
    schema = born("a bigint, s struct<x:bigint>, l array<struct<x:bigint>>, day int", "day")
    wider = schema.accept_fields(
        fields("n string, S struct<X:bigint,new:int>, l array<struct<q:date,x:bigint>>"), "evolve"
    )
    assert shown(wider) == [
        "a bigint",
        "s struct<`x`:bigint,`new`:int>",
        "l array<struct<`x`:bigint,`q`:date>>",
        "n string",
        "day int",
    ]
    assert list(schema.missing_fields(wider.fields)) == [
        (("s", "new"), Simple("integer")),
        (("l", "element", "q"), Simple("date")),
        (("n",), Simple("string")),
    ]
    assert list(wider.missing_fields(wider.fields)) == []


def test_columns_in_another_type_are_reported_at_every_depth() -> None:
    schema = born("a bigint, s struct<x:bigint,y:int>, l array<struct<x:bigint>>, m map<string,int>, b int")
    given = fields("A string, s struct<X:int,new:int>, l array<bigint>, m map<string,bigint>, n int, b int")
    assert [(name, known.sql(), wanted.sql()) for name, known, wanted in schema.type_changes(given)] == [
        ("a", "bigint", "string"),
        ("s.x", "bigint", "int"),
        ("l[]", "struct<`x`:bigint>", "bigint"),
        ("m[]", "int", "bigint"),
    ]
    assert list(schema.type_changes(schema.fields)) == []


@pytest.mark.limit("Columns and types", "A column is nested up to 30 levels, in JSON and in every other format.")
def test_a_column_may_be_nested_so_deep_that_its_schema_can_still_be_read() -> None:
    def nested(levels: int) -> Any:
        kind: Any = Simple("long")
        for level in range(levels):
            kind = (Array(kind), Map(Simple("string"), kind), Struct((Field("x", kind),)))[level % 3]
        return kind

    assert TableSchema().accept_fields([Field("a", nested(30))], "evolve").fields
    with pytest.raises(Misfit, match=r"column a is nested deeper than 30 levels, .* write deeper parts as text"):
        TableSchema().accept_fields([Field("a", nested(31))], "evolve")


@pytest.mark.limit("Columns and types", "One file brings at most 10,000 fields, nested ones too, to a table.")
def test_the_fields_that_one_file_brings_are_bounded_and_a_table_that_has_them_takes_them() -> None:
    struct = Struct(tuple(Field(f"f{number}", Simple("long")) for number in range(100)))
    most = [Field(f"c{number}", struct) for number in range(99)]
    table = TableSchema().accept_fields(most, "evolve")
    many = [*most, Field("a", Simple("long"))]
    with pytest.raises(Misfit, match=r"it has 10,100 fields, .* at most 10,000 to a table"):
        table.accept_fields([*most, Field("c99", struct)], "evolve")
    wide = table.accept_fields(many[-1:], "evolve").accept_fields([Field("c99", struct)], "evolve")
    assert wide.accept_fields([*many, Field("c99", struct)], "evolve") is wide


def test_a_column_of_the_path_is_passed_over_in_the_file() -> None:
    schema = born("a bigint, day int", "day")
    assert schema.accept_fields(fields("DAY string, a bigint"), "strict") is schema


def test_what_is_inferred_adds_columns_and_changes_none() -> None:
    schema = born("a bigint, s struct<x:bigint>")
    added = schema.with_missing_fields(fields("a string, s struct<x:string,y:int>, n int"))
    assert shown(added) == ["a bigint", "s struct<`x`:bigint,`y`:int>", "n int"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a int, A int", "column A is there twice: it differs from a by case only"),
        ("a int, a int", "column a is there twice"),
        ("s struct<b:int,B:int>", r"column s\.B is there twice: it differs from s\.b by case only"),
        ("l array<struct<b:int,b:int>>", r"column l\.b is there twice"),
        ("`` int", "a column has no name"),
        (f"{'n' * 1001} int", "column n{60}… has a name of more than 1,000 characters"),
        ("s struct<``:int>", "a field of s has no name"),
        ("_metadata int", "column _metadata has the name of a column that Spark adds"),
        ("_Batch int", "column _Batch has the name of a column that Tidegate adds"),
        ("_ſource_path int", "column _ſource_path has the name of a column that Tidegate adds"),
        ("`µg` int, `μg` int", "μg is there twice: it differs from µg by letters that are one for Spark"),
        ("`id` int, `ıd` int", "ıd is there twice: it differs from id by letters that are one for Spark"),
    ],
)
@pytest.mark.limit(
    "Columns and types",
    "Names of two columns that differ only by case, or by letters such as µ and μ, are one name, a name has up to "
    "1,000 characters, and names of Tidegate's own columns are reserved.",
)
def test_names_that_no_table_can_have(text: str, reason: str) -> None:
    found = tuple(Field(f.name, f.type) for f in _parsed(text))
    with pytest.raises(Misfit, match=reason):
        check_names(found, reserved=SOURCE_COLUMNS)
    assert len(usable_fields(found)) == len(found) - 1


@pytest.mark.parametrize("known", ["`µg` int", "s struct<`µg`:int>", "s array<struct<`µg`:int>>"])
def test_a_file_with_another_letter_that_is_one_for_spark_is_refused_by_name(known: str) -> None:
    """The micro sign and the Greek letter: Spark's reader of Parquet would find no values."""
    given = known.replace("µ", "μ")
    with pytest.raises(Misfit, match=r"column (s(\[\])?\.)?μg is (s(\[\])?\.)?µg in the table: .*; write µg"):
        born(known).accept_fields(fields(given), "evolve")
    assert born(known).with_missing_fields(fields(given)) == born(known)
    assert list(born(known).missing_fields(fields(given))) == []


def test_rows_whose_keys_are_data_bring_no_schema_without_end() -> None:
    """Every batch and the log contain the columns, so they have a limit. One pass judges a hundred thousand."""
    some = [Field(f"id{n}", Struct((Field("x", Simple("long")),))) for n in range(100_000)]
    assert len(usable_fields(some)) == MAX_FIELDS // 2


def _parsed(text: str) -> list[Field]:
    """Parse columns as `fields` does. Empty names, which a parser of SQL refuses, are allowed."""
    empty = "no_name_at_all"
    return [_renamed(field, empty) for field in fields(text.replace("``", empty))]


def _renamed(field: Field, empty: str) -> Field:
    kind = field.type
    if isinstance(kind, Struct):
        kind = Struct(tuple(_renamed(inner, empty) for inner in kind.fields))
    return Field("" if field.name == empty else field.name, kind)


@pytest.mark.parametrize("name", ["Order ID", "a,b", "a;b", "{a}", "(a)", "a\nb", "a\tb", "a=b"])
def test_names_that_delta_refuses_are_mapped_to_themselves(name: str) -> None:
    schema = TableSchema((Field("id", Simple("long")), Field("s", Struct((Field(name, Simple("string")),)))))
    assert needs_mapping(schema.fields)
    mapped, properties = schema.to_delta()
    assert properties == BY_NAME
    assert mapped.mapped
    inner = mapped.fields[1].type
    assert isinstance(inner, Struct)
    assert (inner.fields[0].id, inner.fields[0].physical) == (3, name)
    again = TableSchema.from_spark(mapped.to_spark(), ())
    assert again == mapped
    # A later column has the next id, and the other columns keep their ids and names.
    wider, _ = again.accept_fields(fields("plain int"), "evolve").to_delta()
    assert wider.fields[:2] == mapped.fields
    assert (wider.fields[2].id, wider.fields[2].physical) == (4, "plain")


@pytest.mark.parametrize("name", ["plain", "Order ID"])
def test_what_a_batch_has_of_a_new_table_is_what_its_readers_have(name: str) -> None:
    """Which types are configured, and that there is no table yet, is not in a batch."""
    schema, _ = TableSchema.from_declared({name: "bigint"}, {"day": "date"}).to_delta()
    assert schema == TableSchema.from_spark(schema.to_spark(), ("day",))
    assert schema.partitions == ("day",)


@pytest.mark.parametrize("name", ["a.b", "@type", "user-id", "Straße", "[x]", "`tick`", "a/b", "🌊"])
def test_other_names_need_no_mapping(name: str) -> None:
    schema = TableSchema((Field(name, Simple("long")),))
    assert schema.to_delta() == (schema, {})


@pytest.mark.parametrize(
    ("narrow", "wide", "fits"),
    [
        ("int", "bigint", True),
        ("bigint", "int", False),
        ("int", "string", False),
        ("decimal(5,2)", "decimal(6,3)", True),
        ("decimal(5,2)", "decimal(5,3)", False),
        ("decimal(5,2)", "decimal(5,2)", False),
        ("float", "double", True),
    ],
)
def test_what_spark_reads_into_a_wider_type(narrow: str, wide: str, fits: bool) -> None:
    assert widens(simple_type(narrow), simple_type(wide)) is fits


def test_maps_fit_by_key_and_value() -> None:
    schema = born("m map<string,bigint>")
    assert schema.accept_fields((Field("m", Map(Simple("string"), Simple("long"))),), "strict") is schema
    with pytest.raises(Misfit, match=r"column m\[\] is int"):
        schema.accept_fields(fields("m map<string,int>"), "evolve")
    assert Array(Simple("long")) != Array(Simple("integer"))


@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        ("int", ["1", "-2147483648", "+7", "007"], ["", "x", "1.0", "2147483648", "1 ", "١٢"]),
        ("tinyint", ["127"], ["128"]),
        ("bigint", ["9223372036854775807"], ["9223372036854775808"]),
        (
            "double",
            ["1", "1.5", "-1e9", "0.1", "0.10000000000000001", "9007199254740992", "1e23", "0e999", "007.50"],
            ["", "one", "1,5", "١٢", "9007199254740993", "1e400", "1e-400", "0.33333333333333333333", "1e999999999"],
        ),
        ("float", ["16777216", "0.1", "52.520008", "1e38"], ["16777217", "123456789.5", "1e39", "3.14159265"]),
        ("boolean", ["true", "FALSE"], ["1", "yes"]),
        # Python's own parser also accepts dates without hyphens and dates with a week. Spark does not.
        ("date", ["2013-01-31"], ["2013-02-30", "yesterday", "20130131", "2013-W05-4"]),
        (
            "timestamp",
            ["2013-01-31 10:00:00", "2013-01-31T10:00:00Z", "2013-01-31T10:00+18:00"],
            ["10 o'clock", "20130131T100000", "2013-01-31T10:00+18:01", "2013-01-31T10:00+23:00"],
        ),
        ("timestamp_ntz", ["2013-01-31 10:00:00"], ["2013-01-31T10:00:00Z", "2013-01-31T10:00:00+01:00"]),
        ("decimal(5,2)", ["1", "-999.99", "0001.5", "1.500"], ["", "x", "1000", "1e2", ".", "1.239"]),
        ("string", ["", "anything"], []),
    ],
)
def test_partition_values_must_be_of_their_type(kind: str, good: list[str], bad: list[str]) -> None:
    for value in good:
        assert check_partition({"P": value}, fields(f"p {kind}")) == {"p": value}
    for value in bad:
        with pytest.raises(Misfit, match=re.escape(f"is not a {kind}")):
            check_partition({"p": value}, fields(f"p {kind}"))
    assert check_partition({"p": None}, fields(f"p {kind}")) == {"p": None}


@pytest.mark.parametrize(("values", "table"), [({}, "p"), ({"p": "1"}, ""), ({"p": "1", "q": "2"}, "p")])
def test_a_path_must_have_the_table_s_partition_columns(values: dict[str, str | None], table: str) -> None:
    with pytest.raises(Misfit, match="its path has the partition columns"):
        check_partition(values, [Field(name, Simple("string")) for name in table])
