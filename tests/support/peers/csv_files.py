"""CSV that other products read wrongly.

Each header is a plan of Spark, so cases share one: `texts` has cells as they are, and each column of `typed` is a case.
"""

from __future__ import annotations

from typing import Any

from tests.support.peers.case import Body, Peer, Row, packed

#: So many rows are more than any sample, and than what is held as a small file.
_LONG = 9_000
_TYPED = ("long_id", "slash_day", "code", "zeros", "fruit", "late_point", "digits", "whole", "iso", "sku")


def _texts(source: str, was: str, body: Body, rows: dict[int, tuple[str | None, str | None]], **more: Any) -> Peer:
    named: dict[int, Row] = {place: {"a": a, "b": b} for place, (a, b) in rows.items()}
    return Peer(source, was, "texts", body, named, **more)


def _typed(source: str, was: str, column: str, cells: dict[int, str], rows: dict[int, Any], **more: Any) -> Peer:
    found = {place: {column: value} for place, value in rows.items()}
    before = more.pop("before", None)
    return Peer(
        source,
        was,
        "typed",
        _file(column, cells),
        found,
        **more,
        before=None if before is None else _file(column, before),
    )


def _file(column: str, cells: dict[int, str], repeated: str = "", times: int = 0) -> str:
    place = _TYPED.index(column)

    def line(id: str, cell: str) -> str:
        return ",".join([id, *([""] * place), cell, *([""] * (len(_TYPED) - place - 1))]) + "\n"

    lines = [line(f"@{number}", cell) for number, cell in cells.items()]
    return "".join([",".join(["id", *_TYPED]) + "\n", line("@9", repeated) * times, *lines])


CASES = (
    _texts(
        "duckdb/duckdb#11164",
        "one row with fewer cells: the file was refused, or the row left out without a word",
        "id,a,b\n@1,b,c\n@2,\n@3,e,f\n",
        {1: ("b", "c"), 3: ("e", "f")},
        bad=1,
        says=("cells",),
    ),
    _texts(
        "duckdb/duckdb#25827",
        "rows with more cells from some line on: the header and all rows before were left out",
        "id,a,b\n@1,2,3\n@2,3,4\n@3,4,5,6\n",
        {1: ("2", "3"), 2: ("3", "4")},
        bad=1,
        says=("cells",),
    ),
    _texts(
        "duckdb/duckdb#15783",
        "a carriage return within a row of a file with CRLF ended the row, and the letter after it was lost",
        "id,a,b\r\n@1,one\rtwo,x\r\n@2,y,z\r\n",
        {1: ("one\rtwo", "x"), 2: ("y", "z")},
    ),
    _texts(
        "duckdb/duckdb#14177",
        "a line end within a cell without quotes: valid rows next to it were left out",
        "id,a,b\n@1,x,\ny\n@2,p,q\n",
        {1: ("x", None), 2: ("p", "q")},
        bad=1,
    ),
    _texts(
        "duckdb/duckdb#13787",
        "rows around a long cell were swallowed",
        "id,a,b\n@1,a,1\n@2," + "y" * 300_000 + ",2\n@3,b,3\n",
        {1: ("a", "1"), 2: ("y" * 300_000, "2"), 3: ("b", "3")},
    ),
    _texts(
        "duckdb/duckdb#11838",
        "the first quotation mark came after the sample: quotes were not quotes in the whole file",
        "id,a,b\n" + "@9,a,0\n" * _LONG + '@1,"x,y",1\n',
        {1: ("x,y", "1")},
    ),
    _texts(
        "apache/spark#54812",
        "quotes around nothing in the last cell of a row became a quotation mark",
        'id,a,b\n@1,"",""\n@2,x,""\n',
        {1: ("", ""), 2: ("x", "")},
    ),
    _texts(
        "apache/spark#38446",
        "a backslash before the quotation mark that ends a cell swallowed the next cells",
        'id,a,b\n@1,"C:\\dir\\","x"\n@2,"a\\\\","y"\n',
        {1: ("C:\\dir\\", "x"), 2: ("a\\\\", "y")},
    ),
    _texts(
        "databricks/spark-csv#390",
        "a comma after a backslash divided the cell, and the rest moved into the next column",
        "id,a,b\n@1,north rocks\\,au,AU\n@2,perth,AU\n",
        {2: ("perth", "AU")},
        bad=1,
        says=("cells",),
    ),
    _texts(
        "yaslab/CSV.swift#123",
        "quotes with backslashes in a cell of three lines became three rows",
        'id,a,b\n@1,"{(\n 2fa,\n \\"Apple Watch\\"\n)}",1\n@2,x,2\n',
        {},
        refused=True,
        says=("quot",),
    ),
    _texts(
        "mrodrig/json-2-csv#214",
        "a quotation mark that ends a cell at the beginning of a line began a new cell",
        'id,a,b\n@1,"hello\n",world\n',
        {1: ("hello\n", "world")},
    ),
    _texts(
        "JuliaData/CSV.jl#765",
        "a cell of several lines that ends with a line end, and a comma at the end of each row",
        'id,a,b\n@1,"a: 1\nb: 2\n",,\n@2,,,\n@3,"c\n",d,\n',
        {1: ("a: 1\nb: 2\n", None), 2: (None, None), 3: ("c\n", "d")},
    ),
    _texts(
        "pandas-dev/pandas#14012",
        "U+0000 in a cell ended the row",
        "id,a,b\n@1,2,0\n@2,\x00,0\n@3,4,0\n",
        {1: ("2", "0"), 2: ("\x00", "0"), 3: ("4", "0")},
    ),
    _texts(
        "pandas-dev/pandas#19886",
        "what came after U+0000 in a cell was lost",
        "id,a,b\n@1,test\x00test,Reg\n@2,\x00\x00\x00,Reg\n",
        {1: ("test\x00test", "Reg"), 2: ("\x00\x00\x00", "Reg")},
    ),
    _texts(
        "pandas-dev/pandas#14459",
        "a quotation mark within a cell joined it with the next line",
        'id,a,b\n@1,a",x\n@2,b",y\n',
        {1: ('a"', "x"), 2: ('b"', "y")},
    ),
    _texts(
        "aws-samples/aurora-dsql-samples#1159",
        "the last row without a line end was left out",
        "id,a,b\r\n@1,5,x\r\n@2,6,y",
        {1: ("5", "x"), 2: ("6", "y")},
    ),
    _texts(
        "elastic/beats#30436",
        "the last line of a packed file of two members was left out, because it has no line end",
        packed("id,a,b\n@1,a,1\n", "@2,b,2"),
        {1: ("a", "1"), 2: ("b", "2")},
        key="two members.csv.gz",
    ),
    _typed(
        "duckdb/duckdb#22750",
        "ids of 20 digits became floating-point numbers",
        "long_id",
        cells := {1: "12345678901234567890", 2: "99999999999999999999"},
        cells,
    ),
    _typed(
        "duckdb/duckdb#15473",
        "days with slashes became a number",
        "slash_day",
        cells := {1: "2024/12/12", 2: "1"},
        cells,
    ),
    _typed(
        "duckdb/duckdb#5794",
        "codes of towns lost their zeros",
        "code",
        cells := {1: "0870", 2: "870"},
        cells,
        types={"code": "string"},
    ),
    _typed(
        "apache/spark#55884",
        "an id of zeros and digits became a number, also if it has a decimal point",
        "zeros",
        cells := {1: "000123", 2: "00.5"},
        cells,
    ),
    _typed(
        "pola-rs/polars#14064",
        "one day among words made a column of days, and the words NULL",
        "fruit",
        {1: "2020-01-01", 2: "banana", 3: "", 4: "xxx"},
        {1: "2020-01-01", 2: "banana", 3: None, 4: "xxx"},
    ),
    Peer(
        "pola-rs/polars#13272",
        "a column of whole numbers whose first decimal comes late",
        "typed",
        _file("late_point", {1: "0.5"}, "7", 2_000),
        {1: {"late_point": 0.5}},
        types={"late_point": "double"},
    ),
    _typed(
        "turi-code/SFrame#23",
        "a late text was cut to the digits at its beginning",
        "digits",
        {1: "9a", 2: "a", 3: "3"},
        {3: 3},
        before={4: "0", 5: "1"},
        bad=2,
        says=("digits is bigint",),
    ),
    _typed(
        "airbytehq/airbyte#26181",
        "a decimal in a column that began with whole numbers failed the sync",
        "whole",
        {1: "1.5", 2: "2"},
        {2: 2},
        before={3: "1"},
        bad=1,
        says=("whole is bigint",),
    ),
    _typed(
        "wireservice/csvkit#806",
        "the code of Namibia became NULL, with quotes and without",
        "iso",
        {1: "NA", 2: '"NA"', 3: "None", 4: ""},
        {1: "NA", 2: "NA", 3: "None", 4: None},
    ),
    _typed(
        "airbytehq/airbyte#6480",
        "names of products that begin with digits were taken for numbers",
        "sku",
        cells := {1: "1e5", 2: "12E", 3: "0x1F"},
        cells,
    ),
)
