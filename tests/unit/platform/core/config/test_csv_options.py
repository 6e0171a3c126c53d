"""A comment is a line where a row may begin. Within quotes, a line is a part of a cell."""

from __future__ import annotations

import csv
import io
from random import Random

import pytest

from tidegate.platform.bronze.prepare.formats.csv_bytes import csv_problem
from tidegate.platform.core.config.csv_options import CsvOptions


@pytest.mark.parametrize("seed", range(30))
def test_a_line_within_quotes_is_not_a_comment(seed: int) -> None:
    random = Random(seed)
    rows = [["".join(random.choices('a#,\n"', k=random.randint(1, 4))) for _ in range(2)] for _ in range(5)]
    text = io.StringIO(newline="")
    text.write("skipped\n")
    for row in rows:
        if random.random() < 0.5:
            text.write('# a "comment\n')
        csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="\n").writerow(row)
    options = CsvOptions(comment="#", skip=1)
    assert list(options.rows(io.StringIO(text.getvalue(), newline=""), strict=True)) == rows
    assert csv_problem(io.BytesIO(text.getvalue().encode()), options, packed=False, limit=1_000) is None


def test_a_problem_names_the_line_of_the_file() -> None:
    body = io.BytesIO(b'first\n# one\na,b\n# two\n1,"x\n# y"\n2,"z"z\n')
    problem = csv_problem(body, CsvOptions(comment="#", skip=1), packed=False, limit=1_000)
    assert problem is not None
    assert problem.startswith("broken quoting in the row that begins in line 7")
