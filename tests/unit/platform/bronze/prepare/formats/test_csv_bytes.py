"""CSV files that Spark would misread."""

from __future__ import annotations

import csv
import gzip
import io
import tracemalloc
from contextlib import suppress
from random import Random

import pytest

from tidegate.platform.bronze.prepare.formats import csv_bytes
from tidegate.platform.bronze.prepare.formats.csv_bytes import csv_problem
from tidegate.platform.core.config.csv_options import CsvOptions
from tidegate.platform.lake.capacity import TooLarge

GOOD = 'a,b\r\n1,"two\nlines"\n2,"a ""q"" b"\n3,"\u2028\u0085"\n4,"last\nline"'


def problem(text: str, encoding: str = "utf-8") -> str | None:
    plain = text.encode(encoding)
    found = csv_problem(io.BytesIO(plain), CsvOptions(), packed=False)
    assert csv_problem(io.BytesIO(gzip.compress(plain)), CsvOptions(), packed=True) == found
    return found


@pytest.mark.parametrize("text", ["", GOOD, f"\ufeff{GOOD}\n", f'a\n"{"x" * 200_000}\n"\n', "a\n\ufffd\n"])
def test_a_good_file_has_none(text: str) -> None:
    assert problem(text) is None


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('a,b\n1,"never closed\n2,x\n', 2),
        ('a,b\n1,"never closed', 2),
        ('a,b\n1,"two\nlines"\n2,"never closed\n3,"closed"\n', 4),
        ('a,b\n1,"x"y\n', 2),
    ],
)
def test_broken_quoting_is_reported_with_its_line(text: str, line: int) -> None:
    assert (problem(text) or "").startswith(f"broken quoting in the row that begins in line {line}: ")


@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_the_header_again_in_another_order_is_a_problem_of_the_whole_file(mark: str) -> None:
    for again in ("b,a", '" B ","a"'):
        found = problem(f"{mark}a,b\n1,2\n{mark}{again}\n3,4\n")
        assert (found or "").startswith("line 3 has the header again, in another order: ")
    assert problem(f"{mark}a,b\n1,2\n{mark}A, b\n{mark}3,a\na,a\nb\n") is None


def test_bytes_that_are_not_utf_8_are_reported_with_about_their_line() -> None:
    found = problem("a,b\n" + "1,x\n" * 5000 + "2,M\u00fcller\n", "latin-1") or ""
    assert found.startswith("not UTF-8, in or after line ")
    assert 3000 < int(found.split()[6].rstrip(":")) <= 5002


def test_a_cut_gzip_is_reported() -> None:
    packed = gzip.compress("".join(f"{n},{n * n}\n" for n in range(5000)).encode())
    for body in (packed[:-50], packed + b"\0" * 512, packed + b"rubbish", b"id,a\n1,2\n"):
        assert (csv_problem(io.BytesIO(body), CsvOptions(), packed=True) or "").startswith("broken gzip: ")


def test_a_quote_that_is_never_closed_does_not_fill_the_memory() -> None:
    text = "a,b\n" + "1,x\n" * 1000 + '2,"never closed\n' + "3,x\n" * 1000
    for body, packed in ((text.encode(), False), (gzip.compress(text.encode()), True)):
        with pytest.raises(TooLarge):
            csv_problem(io.BytesIO(body), CsvOptions(), packed=packed, limit=2_000)
        assert "broken quoting" in (csv_problem(io.BytesIO(body), CsvOptions(), packed=packed, limit=10_000) or "")


def test_rows_that_are_long_together_are_none_that_is_long() -> None:
    text = "a,b\n" + 'x,"two\nlines"\n' * 1000
    assert csv_problem(io.BytesIO(text.encode()), CsvOptions(), packed=False, limit=20) is None


def test_a_line_without_an_end_does_not_fill_the_memory() -> None:
    with pytest.raises(TooLarge):
        csv_problem(io.BytesIO(b"a" * 100_000), CsvOptions(), packed=False, limit=1_000)


@pytest.mark.limit("Files", "A row of CSV has at most 100,000 cells.")
@pytest.mark.parametrize(
    "row", ["ab," * 400_000, "ab," * 400_000 + '"x"y', ',"a"' * 400_000, '"\n",' * 400_000, 'a"' + ",b" * 400_000]
)
@pytest.mark.parametrize("before", ["", "a,b\n"])
def test_a_row_of_very_many_cells_is_refused_before_they_are_made(before: str, row: str) -> None:
    body = gzip.compress(f"{before}{row}\n".encode())
    tracemalloc.start()
    with pytest.raises(TooLarge):
        csv_problem(io.BytesIO(body), CsvOptions(), packed=True)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 10 * len(row)


def test_a_wide_row_and_a_cell_full_of_delimiters_are_read() -> None:
    wide = ",".join(f"column_{number}" for number in range(20_000))
    full = ",\n,," * 300_000
    for text in (f"{wide}\n{wide}\n", f'a,b\n1,"{full}"\n"{full}""{full}",2\n', f'a,b\n"{full}"\n' * 3):
        assert problem(text) is None


@pytest.mark.seeds(1, 10)
def test_the_cells_that_are_counted_are_those_that_are_made(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever quotes, delimiters, comments and line ends there are."""
    chance = Random(seed)
    monkeypatch.setattr(csv_bytes, "_COUNTED", 0)
    options = CsvOptions(delimiter=";", quote="'", comment="#", skip=1)
    for _ in range(2_000):
        text = "".join(chance.choices([";", "'", "a", "\n", "\r\n", "#"], [5, 3, 3, 2, 1, 1], k=chance.randint(1, 40)))
        body = io.TextIOWrapper(io.BytesIO(text.encode()), newline="")
        lines = csv_bytes._Lines(body, 1_000, options)
        with suppress(csv.Error):
            for row in options.rows(lines, strict=True, see=lines.take_cells):
                delimiters = lines._max_cells - lines._cells_left
                assert delimiters == max(len(row) - 1, 0), (text, row)
                lines.end_row()
