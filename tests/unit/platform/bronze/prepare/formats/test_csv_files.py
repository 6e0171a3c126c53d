"""What the beginning of a CSV file shows."""

from __future__ import annotations

import io
from itertools import product
from types import SimpleNamespace
from typing import Any

import pytest

from tidegate.platform.bronze.prepare.formats.csv_bytes import csv_problem
from tidegate.platform.bronze.prepare.formats.csv_files import Csv
from tidegate.platform.bronze.prepare.formats.format import Look
from tidegate.platform.core.config.csv_options import CsvOptions
from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.core.errors import Misfit
from tidegate.platform.core.infer.text_format import sniff_csv
from tidegate.platform.core.schema.column_types import Field, Simple, Struct
from tidegate.platform.core.schema.table_schema import TableSchema


def look(body: bytes, **options: Any) -> Look:
    spec: Any = SimpleNamespace(csv=CsvOptions(**options), columns={})
    return Csv().look(body, True, spec)


def test_a_name_differs_from_an_empty_cell_of_the_header() -> None:
    for header, unnamed in {"a,,c": (1,), "_c0,_c1": (), ",_c1": (0,), "\ufeff,b": (0,)}.items():
        seen = look(f"{header}\n".encode())
        assert (seen.unnamed, len(seen.names)) == (unnamed, header.count(",") + 1)
    assert look(b",,\n", header=False).unnamed == ()


@pytest.mark.parametrize("encoding", ["latin-1", "windows-1252", "utf-8", "ascii"])
def test_a_byte_order_mark_is_proof_of_utf_8_whatever_the_table_says(encoding: str) -> None:
    body = "\ufeffArtikel-Nr,Größe\n1,ü\n".encode()
    seen = look(body, encoding=encoding)
    assert seen.names == tuple(sniff_csv(body, whole=True).columns) == ("Artikel-Nr", "Größe")
    assert seen.rewrite is None
    assert csv_problem(io.BytesIO(body), CsvOptions(encoding=encoding), packed=False) is None


@pytest.mark.parametrize("mark", ["utf-16-le", "utf-16-be"])
def test_a_mark_of_utf_16_is_proof_where_the_encoding_would_read_it_as_other_text(mark: str) -> None:
    body, target = "\ufeffArtikel-Nr,Größe\n1,ü\n".encode(mark), io.BytesIO()
    seen = look(body, encoding="latin-1")
    assert seen.names == tuple(sniff_csv(body, whole=True).columns) == ("Artikel-Nr", "Größe")
    assert csv_problem(io.BytesIO(body), CsvOptions(encoding="latin-1"), packed=False) is None
    assert seen.rewrite is not None
    seen.rewrite.write(io.BytesIO(body), target)
    assert target.getvalue().decode() == "Artikel-Nr,Größe\n1,ü\n"
    with pytest.raises(Misfit, match="not UTF-8"):
        look(body)


def test_a_byte_order_mark_stays_out_of_a_copy() -> None:
    body, target = "\ufeffnote\na,ü\n".encode(), io.BytesIO()
    seen = look(body, encoding="latin-1", skip=1)
    assert seen.names == ("a", "ü")
    assert seen.rewrite is not None
    seen.rewrite.write(io.BytesIO(body), target)
    assert target.getvalue().decode() == "a,ü\n"


def test_without_a_mark_the_table_says_the_encoding() -> None:
    assert look("Größe\n".encode("latin-1"), encoding="latin-1").names == ("Größe",)
    with pytest.raises(Misfit, match="not UTF-8"):
        look("Größe\n".encode("latin-1"))


@pytest.mark.parametrize("cells", list(product(("1", "", '""', '"a,"', '"a\n"', " ", '"b"""'), repeat=3)))
def test_what_is_behind_the_last_delimiter_is_a_cell_unless_it_is_nothing(cells: tuple[str, ...]) -> None:
    """`CsvGrammarTest` of platform/jvm has the same rule, by the same cells: a quoted empty cell is a cell."""
    for end in ("\n", "\r\n", ""):
        body = f"a,b{end or chr(10)}{','.join(cells)}{end}".encode()
        if cells[-1] == "":
            assert look(body).trailing
        else:
            with pytest.raises(Misfit, match="a row name"):
                look(body)


def test_a_delimiter_at_the_end_of_each_row_is_not_a_cell_and_a_name_of_a_row_is_none() -> None:
    assert look(b"a,b\n1,2,\n3,4,\n").trailing
    assert not look(b"a,b\n1,2\n3,4,\n").trailing
    with pytest.raises(Misfit, match="a row name"):
        look(b"a,b\nr1,1,2\nr2,3,\n")
    with pytest.raises(Misfit, match="a row name"):
        look(b"a,b\nr1,1,\nr2,3,4\n")
    assert not look(b"a,b\nnorth rocks\\,au,1\n3,4\n").trailing, "a bad row, and others that are not"


def test_what_a_load_refuses_is_asked_with_all_columns_also_those_that_no_cell_holds() -> None:
    """The subject of a person may be in a struct. A header that names one makes its files misfits."""
    schema = TableSchema((Field("id", Simple("long")), Field("Home", Struct((Field("who", Simple("string")),)))))
    asked: list[Any] = []

    def infer(request: Any, known: TableSchema) -> dict[str, Any]:
        asked.append((request, known))
        return {"fields": []}

    spec: Any = SimpleNamespace(csv=CsvOptions(), columns={})
    known: Any = SimpleNamespace(schema=schema, request=lambda groups: [files for _, files in groups])
    delta: Any = SimpleNamespace(infer_csv=infer)
    headers = (("id", "note"), ("id", "home"))
    how: dict[str, Any] = {"trailing": False, "unnamed": (), "by_line": True}
    able, misfit = ([SimpleNamespace(names=names, **how)] for names in headers)
    groups: Any = [able, misfit]
    assert Csv().infer(delta, groups, spec, known) == []
    assert asked == [([able], schema)]
    assert Csv().infer(delta, groups[1:], spec, known) == []
    assert len(asked) == 1


def test_a_header_of_very_many_cells_is_refused_before_its_columns_are_made() -> None:
    spec = TableSpec.model_validate({"name": "t", "prefix": "s3://landing/t/", "format": "csv"})
    for names in (20_000, 100_000):
        header = ",".join(f"{number:x}" for number in range(names))
        assert len(Csv().look(f"{header}\n".encode(), True, spec).names or ()) == names
    with pytest.raises(
        Misfit, match="its first row has 100,001 cells, and a row has 100,000 at most; write it as rows"
    ):
        Csv().look(f"{header},x\n".encode(), True, spec)
