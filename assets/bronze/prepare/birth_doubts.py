"""What a table's first CSV file may have been meant as, for what a birth decides is for ever."""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Iterable
from itertools import islice

from tidegate.assets.bronze.prepare.load.readable_files import FORMATS, format_name, head_of
from tidegate.platform.core.bronze.plan import Candidate
from tidegate.platform.core.files.csv_doubts import header_doubt, text_doubts
from tidegate.platform.core.schema.column_types import Simple
from tidegate.platform.core.schema.misfit import Misfit
from tidegate.platform.core.schema.table_schema import TableSchema
from tidegate.resources.aws.s3 import StoreError
from tidegate.resources.lake import Table

_ROWS = 1_000


def birth_doubts(table: Table, candidates: Iterable[Candidate], schema: TableSchema) -> list[str]:
    """What to look at before more files come; nothing where the beginning of a file cannot be had now.

    Args:
        table: the table.
        candidates: files that gave it its columns.
        schema: its columns.
    """
    one = next((candidate for candidate in candidates if format_name(table, candidate) == FORMATS["csv"].name), None)
    if one is None:
        return []
    try:
        names, columns = _first_cells(*head_of(table, one), table)
    except (StoreError, Misfit, UnicodeDecodeError, csv.Error):
        return []
    said = {name.lower() for name in table.spec.columns}
    text = {field.name for field in schema.columns if field.type == Simple("string") and field.name.lower() not in said}
    header = header_doubt(names) if table.spec.csv.header and not said else None
    doubts = [f"of {one.key}, {header}"] if header else []
    doubts += text_doubts({name: cells for name, cells in columns.items() if name in text}, table.spec.csv.nulls)
    return [f"{doubt}; then begin the table anew with `tidegate reset`" for doubt in doubts]


def _first_cells(head: bytes, whole: bool, table: Table) -> tuple[list[str], dict[str, list[str]]]:
    options = table.spec.csv
    text = codecs.getincrementaldecoder(options.codec)().decode(head, final=whole)
    rows = [row for row in islice(options.rows(io.StringIO(text, newline="")), _ROWS + 1) if row]
    if not whole and len(rows) <= _ROWS:
        rows = rows[:-1]  # It may be cut off.
    if not rows:
        return [], {}
    names = rows[0] if options.header else [f"_c{place}" for place in range(len(rows[0]))]
    cells = rows[1:] if options.header else rows
    return names, {name: [row[place] for row in cells if place < len(row)] for place, name in enumerate(names)}
