"""CSV files: cells are read as text, and turned into values by rules of our own, so that none changes its meaning."""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Hashable, Sequence
from itertools import islice
from typing import Any, BinaryIO, cast

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from tidegate.assets.bronze.formats.csv_bytes import csv_problem
from tidegate.assets.bronze.formats.csv_cells import INFERRED, inferred, misread, value
from tidegate.assets.bronze.formats.format import (
    BAD,
    IN_FILE,
    PATH,
    RAW,
    SUSPECT,
    UNKNOWN,
    Format,
    Look,
    Rewrite,
    SourceFile,
)
from tidegate.platform.core.csv_options import CsvOptions
from tidegate.platform.core.schema.column_types import Field, Simple
from tidegate.platform.core.schema.misfit import Misfit
from tidegate.platform.core.schema.names import SOURCE_COLUMNS, check_names
from tidegate.platform.core.schema.table_schema import TableSchema
from tidegate.platform.core.table_spec import TableSpec

#: Encodings of Python's that Spark's reader is trusted with; what is in another one is rewritten.
_SPARK_READS = ("utf-8", "ascii")
#: A quote that is never closed swallows lines; bytes of another encoding become the replacement character. (A cell that
#: begins with a quote may have been misread as well: other writers escape quotes by a backslash.)
_SUSPICIOUS = "[\\n\\r\ufffd]"
_CORRUPT = "_tidegate_corrupt"
_DELIMITERS = {";": '";"', "\t": 'a tab ("\\t")', "|": '"|"'}


class Csv(Format):
    """CSV as RFC 4180 says, or as the table's `csv` options say."""

    name = "csv"

    def look(self, head: bytes, whole: bool, spec: TableSpec) -> Look:
        """The header's names."""
        options = spec.csv
        try:
            lines = io.StringIO(_decoded(head, whole, options), newline="")
            rows = list(islice(filter(None, options.rows(lines)), 2))
        except csv.Error as error:
            raise Misfit(f"broken quoting in its first lines: {error}") from error
        if not rows:
            raise Misfit("no header line")
        names = _names(rows[0], options, tuple(spec.columns))
        if options.header and len(rows) == 2:
            _check_shape(rows[0], rows[1], options)
        check_names([Field(name, Simple("string")) for name in names], reserved=SOURCE_COLUMNS)
        plain = options.encoding in _SPARK_READS and not options.skip
        return Look(names, None if plain else _Plain(options))

    def group(self, file: SourceFile) -> Hashable:
        """Spark matches cells by position, so files of one header are read together."""
        return file.names

    def infer(self, session: SparkSession, files: Sequence[SourceFile], spec: TableSpec) -> list[Field]:
        """The narrowest types that hold every cell as it stands."""
        names = files[0].names
        cells = self._cells(session, files, spec)
        found = cells.agg(
            F.count("*").alias("rows"),
            *[
                expression.alias(f"{kind}_{index}")
                for index in range(len(names))
                for kind, expression in inferred(F.col(_cell(index)), spec.csv.decimal).items()
            ],
        ).collect()[0]
        if not found["rows"]:
            return []  # A header without rows says nothing of types.
        return [
            Field(name, Simple(next((kind for kind in INFERRED if found[f"{kind}_{index}"]), "string")))
            for index, name in enumerate(names)
        ]

    def read(
        self, session: SparkSession, files: Sequence[SourceFile], schema: TableSchema, spec: TableSpec
    ) -> DataFrame:
        """A cell whose value would not be what it says makes its row bad."""
        names, options = files[0].names, spec.csv
        places = {name.lower(): F.col(_cell(index)) for index, name in enumerate(names)}
        declared = {name.lower() for name in spec.columns}
        columns, wrong = [], []
        for field in schema.columns:
            cell = places.get(field.name.lower())
            if cell is None:
                columns.append(F.lit(None).cast(field.type.sql()).alias(field.name))
                continue
            columns.append(value(cell, field.type, options.decimal).alias(field.name))
            reason = F.concat(F.lit(f"column {field.name} is {field.type.sql()}, and this is not: "), cell)
            strict = field.name.lower() not in declared
            wrong.append(F.when(misread(cell, field.type, options.decimal, padded=strict), reason))
        cells = [F.col(_cell(index)) for index in range(len(names))]
        torn = F.col(_CORRUPT).isNotNull()
        bad = F.coalesce(F.when(torn, F.lit(f"not as many cells as the header has names ({len(names)})")), *wrong)
        line = F.to_csv(F.struct(*cells), {"sep": options.delimiter, "quote": options.quote, "escape": options.quote})
        return self._cells(session, files, spec).select(
            *columns,
            PATH,
            bad.alias(BAD),
            F.when(bad.isNotNull(), F.coalesce(F.col(_CORRUPT), line)).alias(RAW),
            (
                F.concat_ws("", *cells, _CORRUPT).rlike(_SUSPICIOUS)
                | F.concat_ws("\0", F.lit(""), *cells).contains(f"\0{options.quote}")
            ).alias(SUSPECT),
            F.lit(False).alias(UNKNOWN),
            *[
                places.get(field.name.lower(), F.lit(None).cast("string")).alias(f"{IN_FILE}{index}")
                for index, field in enumerate(schema.partition_fields)
            ],
        )

    def problem(self, body: BinaryIO, *, packed: bool, spec: TableSpec) -> str | None:
        """Read the bytes as the standard says."""
        return csv_problem(body, spec.csv, packed=packed)

    def _cells(self, session: SparkSession, files: Sequence[SourceFile], spec: TableSpec) -> DataFrame:
        """Every cell as text, by position: names are free to be what they are."""
        options = spec.csv
        schema = ", ".join(f"{_cell(index)} string" for index in range(len(files[0].names)))
        more: dict[str, Any] = {"comment": options.comment} if options.comment else {}
        frame = session.read.csv(
            [file.path for file in files],
            schema=f"{schema}, {_CORRUPT} string",
            header=options.header,
            mode="PERMISSIVE",
            sep=options.delimiter,
            quote=options.quote,
            escape=options.quote,
            multiLine=True,
            columnNameOfCorruptRecord=_CORRUPT,
            **more,
        )
        cells: list[Column] = [F.col(_cell(index)) for index in range(len(files[0].names))]
        if options.nulls:
            cells = [F.when(~cell.isin(list(options.nulls)), cell).alias(_cell(i)) for i, cell in enumerate(cells)]
        return frame.select(*cells, _CORRUPT, F.col("_metadata.file_path").alias(PATH))


class _Plain(Rewrite):
    """The same in UTF-8, without the lines before the header."""

    def __init__(self, options: CsvOptions) -> None:
        self._options = options

    def write(self, body: BinaryIO, target: BinaryIO) -> None:
        reader = io.TextIOWrapper(io.BufferedReader(cast(io.RawIOBase, body)), self._options.codec, newline="")
        try:
            for _ in range(self._options.skip):
                reader.readline()
            while chunk := reader.read(1 << 20):
                target.write(chunk.encode())
        except UnicodeDecodeError as error:
            raise _misencoded(self._options, error) from error


def _cell(index: int) -> str:
    return f"c{index}"


def _decoded(head: bytes, whole: bool, options: CsvOptions) -> str:
    try:
        # The cut may fall inside a character.
        return codecs.getincrementaldecoder(options.codec)().decode(head, final=whole)
    except UnicodeDecodeError as error:
        raise _misencoded(options, error) from error


def _misencoded(options: CsvOptions, error: UnicodeDecodeError) -> Misfit:
    return Misfit(
        f"not {options.encoding.upper()}: {error.reason} at byte {error.start}; if it is another encoding, set "
        "`csv: {encoding: …}` of the table in lake.yaml"
    )


def _names(first: list[str], options: CsvOptions, declared: tuple[str, ...]) -> tuple[str, ...]:
    if not options.header:
        # Where lake.yaml names columns, they are those of the cells, in its order.
        return tuple([*declared, *(f"_c{index}" for index in range(len(declared), len(first)))][: len(first)])
    if len(first) == 1 and (found := [one for one in _DELIMITERS if one in first[0] and one != options.delimiter]):
        raise Misfit(
            f"its header has one column, {first[0][:60]!r}: it looks separated by {_DELIMITERS[found[0]]}; set "
            "`csv: {delimiter: …}` of the table in lake.yaml"
        )
    return tuple(name or f"_c{index}" for index, name in enumerate(first))


def _check_shape(header: list[str], first: list[str], options: CsvOptions) -> None:
    if len(first) == len(header) + 1:
        raise Misfit(
            f"its header names {len(header)} columns, its first row has {len(first)} cells: if the first cell is a row "
            "name, as R's write.table leaves it without a header, write the file with `col.names = NA`, or set "
            f"`csv: {{header: false, skip: {options.skip + 1}}}` of the table in lake.yaml"
        )
