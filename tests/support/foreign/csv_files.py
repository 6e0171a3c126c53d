"""CSV as libraries, R, spreadsheets and databases write it. Cells are equal if their texts are."""

from __future__ import annotations

import csv
import datetime as dt
import gzip
import io
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
from pyarrow import csv as arrow_csv

from tests.support.foreign.by_duckdb import copied
from tests.support.foreign.case import Case, File, Made, Workshop, refused, same_or_refused, without
from tests.support.foreign.same import Cell

_DAY = dt.date(2026, 1, 2)
_MOMENT = dt.datetime(2026, 1, 2, 3, 4, 5, 6)


def cells(
    body: bytes,
    *,
    encoding: str = "utf-8-sig",
    nulls: Sequence[str] = ("",),
    decimal: str = ".",
    names: Sequence[str] = (),
    skip: int = 0,
    **dialect: Any,
) -> Made:
    """Return a file whose rows Python's own reader reads, with the options that its writer would give to
    a colleague.
    """
    text = (gzip.decompress(body) if body[:2] == b"\x1f\x8b" else body).decode(encoding)
    lines = [line for line in io.StringIO(text, newline="").readlines()[skip:] if not line.startswith("#")]
    rows = list(csv.reader(lines, **dialect))
    header = list(names) or [name or f"_c{place}" for place, name in enumerate(rows.pop(0))]

    def value(name: str, cell: str) -> Any:
        if cell in nulls:
            return None
        return int(cell) if name == "id" else Cell(cell.replace(decimal, ".") if decimal != "." else cell)

    return Made(body, [{name: value(name, cell) for name, cell in zip(header, row, strict=True)} for row in rows])


def good_csv(id: int) -> tuple[str, bytes]:
    """Return a plain file that every reader accepts."""
    return "good.csv", f"id\n{id}\n".encode()


def text(template: str, encoding: str = "utf-8", **options: Any) -> Callable[[Workshop], Made]:
    """Return a maker of the given text. `{0}`, `{1}` … in the text are ids."""

    def make(shop: Workshop) -> Made:
        body = template.format(*shop.ids(9)).encode(encoding)
        return cells(body, **{"encoding": "utf-8-sig" if encoding == "utf-8" else encoding, **options})

    return make


def _frame(shop: Workshop) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "id": shop.ids(3),
            "price": [1.5, None, 1e-20],
            "word": ["a,b", None, 'say "no"'],
            "lines": ["two\nlines", "ä", " padded "],
            "bought": pd.to_datetime(["2026-01-02 03:04:05.000006", None, "2026-01-02"], format="ISO8601"),
            "yes": [True, False, True],
        }
    )


def _pandas(shop: Workshop) -> Made:
    return cells(_frame(shop).to_csv().encode())


def _pandas_gz(shop: Workshop) -> Made:
    return cells(gzip.compress(_frame(shop).to_csv(index=False).encode()))


def _pandas_excel(shop: Workshop) -> Made:
    return cells(_frame(shop).to_csv(index=False, encoding="utf-8-sig", lineterminator="\r\n").encode("utf-8-sig"))


def _polars(shop: Workshop) -> Made:
    frame = pl.DataFrame(
        {
            "id": shop.ids(2),
            "polars_text": ["a,b", None],
            "polars_day": [_DAY, None],
            "polars_at": [_MOMENT, None],
            "polars_time": [dt.time(1, 2, 3), None],
            "polars_real": [0.1, float("inf")],
            "polars_exact": [Decimal("1.20"), None],
        }
    )
    return cells(frame.write_csv().encode())


def _arrow(shop: Workshop) -> Made:
    body = io.BytesIO()
    arrow_csv.write_csv(pa.table({"id": shop.ids(2), "arrow_text": ["x", 'a"b'], "arrow_day": [_DAY, None]}), body)
    return cells(body.getvalue())


def _duckdb(shop: Workshop) -> Made:
    select = """SELECT {id} AS id, 170141183460469231731687303715884105727 AS huge, time '01:02:03' AS duck_time,
        interval 1 month AS span, [1, 2] AS list, '6f9619ff-8b86-d011-b42d-00c04fc964ff'::uuid AS uuid, 'a,b' AS both"""
    return cells(copied(select, "csv")(shop).body)


def _spark(shop: Workshop) -> Made:
    folder = shop.folder / "spark"
    query = (
        f"""SELECT {shop.first} AS id, 'a,b' AS spark_text, 'say "no"' AS spark_quote, date '2026-01-02' AS spark_day"""
    )
    shop.spark.sql(query).coalesce(1).write.csv(folder.as_uri(), header=True)
    (part,) = folder.glob("*.csv")
    return cells(part.read_bytes(), escapechar="\\", doublequote=False)


def _python(shop: Workshop) -> Made:
    body = io.StringIO()
    writer = csv.writer(body)
    writer.writerow(["id", "py_text"])
    writer.writerows([[shop.first, 'a "b" c'], [shop.first + 1, ""]])
    return cells(body.getvalue().encode())


#: Text that looks like a value of another type, and must stay text.
_TRAPS = (
    "00123", "+5", "-0", "1e5", "1_000", "1,5", "123456789012345678", "1234567890123456789012", "12345678901234567.89",
    "TRUE", "yes", "12:30", "2026", "2026-1-2", "01/02/2026", "2026-02-30", "1 000", "0x1F", "NaN", "null", "NULL",
    "N/A", " x ", "1.", ".5", "1.50", "٣", "1d", "5f", "--", "'", "\\N", "=1+1", "2026-01-02T03:04:05Z", "epoch", "now",
)  # fmt: skip


def _traps(shop: Workshop) -> Made:
    """Return one column for each text, so that only this text decides the column's type."""
    body = io.StringIO()
    writer = csv.writer(body, lineterminator="\n")
    writer.writerow(["id", *(f"trap{place}" for place in range(len(_TRAPS)))])
    writer.writerow([shop.first, *_TRAPS])
    writer.writerow([shop.first + 1, *_TRAPS])
    return cells(body.getvalue().encode())


def _mixed(shop: Workshop) -> Made:
    """Return a column whose later cells do not fit the type of the first thousand."""
    lines = ["id,late"] + [f"{shop.first + place},{place if place < 900 else 'x'}" for place in range(950)]
    return cells("\n".join(lines).encode())


_R = '"","id","name","n"\n"1",{0},"a",1.5\n"2",{1},NA,NA\n"Mazda RX4",{2},"b",2\n'

DEFAULT = Case(
    "csv",
    (
        File("pandas.csv", _pandas),
        File("pandas.csv.gz", _pandas_gz),
        File("pandas bom crlf.csv", _pandas_excel),
        File("polars.csv", _polars),
        File("arrow.csv", _arrow),
        File("duckdb.csv", _duckdb),
        File("spark.csv", _spark, same_or_refused()),
        File("python.csv", _python),
        File("r.csv", text(_R, nulls=())),
        File("readr.csv", text("id,model,cyl\n{0},Mazda RX4,6\n{1},NA,8\n", nulls=())),
        File("names.csv", text('id,Order ID,a.b,@type,"x,y",{{z}},`q`,path/to,😀\n{0},1,2,3,4,5,6,7,8\n')),
        File("case.csv", text("id,Case\n{0},1\n")),
        File("two nameless.csv", text("id,,\n{0},a,b\n")),
        File("quoted all.csv", text('"id","q1","q2"\n"{0}","1","x"\n')),
        File("no last newline.csv", text("id,tail\n{0},x")),
        File("blank lines.csv", text("id,blank\n{0},x\n{1},y\n")),
        File("header only.csv", text("id,only\n")),
    ),
    good_csv,
    {"format": "csv"},
    by_others=True,
)

CASES = (
    DEFAULT,
    Case("csv_traps", (File("traps.csv", _traps), File("mixed.csv", _mixed)), good_csv, {"format": "csv"}),
    Case(
        "csv_refused",
        (
            File("twice.csv", lambda shop: Made(f"id,a,a\n{shop.first},1,2\n".encode(), []), refused("a", "twice")),
            File("case.csv", text("id,Name,name\n{0},1,2\n"), refused("name", "twice")),
            File("ours.csv", text("id,_batch\n{0},1\n"), refused("_batch")),
            File("latin.csv", text("id,latin\n{0},Müller\n", encoding="windows-1252"), refused("encoding")),
            File("utf16.csv", text("id,wide\n{0},x\n", encoding="utf-16"), refused("encoding")),
            File("excel.csv", text("id;Betrag\n{0};1,5\n", delimiter=";"), refused("delimiter")),
            File("tab.csv", text("id\tb\n{0}\t1\n", delimiter="\t"), refused("delimiter")),
        ),
        good_csv,
        {"format": "csv"},
    ),
    Case(
        "csv_excel",
        (
            File(
                "excel.csv",
                text(
                    "id;Größe;Betrag €;Datum\r\n{0};'groß; \"x\"';-1234,50;02.01.2026\r\n{1};;0,5;\r\n",
                    quotechar="'",
                    encoding="windows-1252",
                    delimiter=";",
                    decimal=",",
                ),
                types={"Betrag €": "double"},
            ),
        ),
        good_csv,
        {"format": "csv", "csv": {"delimiter": ";", "decimal": ",", "encoding": "windows-1252", "quote": "'"}},
    ),
    Case(
        "csv_tab",
        (
            File(
                "a.tsv",
                text('id\tsay\n{0}\t1,5\n{1}\ta "b"\n', delimiter="\t", quoting=csv.QUOTE_NONE),
                same_or_refused(),
            ),
            File("b.tsv", text("id\tplain\n{0}\tx y\n", delimiter="\t")),
        ),
        lambda id: ("good.tsv", good_csv(id)[1]),
        {"format": "csv", "csv": {"delimiter": "\t"}},
    ),
    Case(
        "csv_preamble",
        (
            File(
                "report.csv",
                text("Report of today\n\nmade by hand\nid,v\n{0},1.5\n# a remark\n{1},NA\n", skip=3, nulls=("NA", "")),
                types={"v": "double"},
            ),
        ),
        lambda id: ("good.csv", f"a\nb\nc\nid\n{id}\n".encode()),
        {"format": "csv", "csv": {"skip": 3, "comment": "#", "nulls": ["", "NA"]}},
    ),
    Case(
        "csv_no_header",
        (
            File("bare.csv", text("{0},x,1.5\n{1},y,2.5\n", names=("id", "word", "real"))),
            File("ragged.csv", text("{0},x,1.5\n", names=("id", "word", "real"))),
        ),
        lambda id: ("good.csv", f"{id},z,3.5\n".encode()),
        {
            "format": "csv",
            "csv": {"header": False},
            "columns": {"id": "bigint", "word": "string", "real": "double"},
        },
    ),
    Case(
        "csv_rows",
        (
            File(
                "ragged.csv",
                lambda shop: _and(cells(f"id,real\n{shop.first},1.5\n".encode()), b"7,2,3\n8\n"),
                without(2),
            ),
            File(
                "mistyped.csv", lambda shop: _and(cells(f"id,real\n{shop.first},2.5\n".encode()), b"9,x\n"), without(1)
            ),
            File(
                "inexact.csv",
                lambda shop: _and(cells(f"id,exact\n{shop.first},1.23\n".encode()), b"9,1.239\n"),
                without(1),
            ),
        ),
        good_csv,
        {"format": "csv", "columns": {"id": "bigint", "real": "double", "exact": "decimal(10,2)"}},
    ),
)


def _and(made: Made, more: bytes) -> Made:
    return Made(made.body + more, made.rows)
