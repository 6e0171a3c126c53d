"""What a file of each format shows of its table, for `tidegate infer`: without Spark, and without the engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tidegate.platform.core.errors import BadParquet
from tidegate.platform.core.files.parquet.footer import footer_metadata
from tidegate.platform.core.infer.avro_schema import HEAD_BYTES, read_stated_columns, schema_of_file
from tidegate.platform.core.infer.text_format import (
    FileSample,
    SniffedFile,
    check_names,
    sniff_csv,
    sniff_json,
    sniff_text,
)
from tidegate.platform.lake.parquet.footers import read_footers

#: Bytes read at the end of a sample: footers of some thousand columns fit.
_TAIL_BYTES = 1 << 20


def sniff_file(format: str, sample: FileSample) -> SniffedFile:
    """Return the columns of a file, the options that it needs, and problems: nothing of a file of ORC.

    Args:
        format: as lake.yaml names it.

    Raises:
        ValueError: the file cannot be read; the message is the problem.
    """
    sniffer = _SNIFFERS.get(format)
    return SniffedFile() if sniffer is None else sniffer(sample)


def _sniff_csv(sample: FileSample) -> SniffedFile:
    head, whole = sample.text()
    return sniff_csv(head, whole=whole)


def _sniff_json(sample: FileSample) -> SniffedFile:
    head, whole = sample.text()
    return sniff_json(head, whole=whole)


def _sniff_text(sample: FileSample) -> SniffedFile:
    return sniff_text(sample.text()[0])


def _sniff_parquet(sample: FileSample) -> SniffedFile:
    tail = sample.last_bytes(_TAIL_BYTES)
    (footer,) = read_footers([(tail, sample.size)])
    if isinstance(footer, BadParquet):
        raise footer
    columns = {field.name: field.type.sql() for field in footer.fields}
    # A footer that a child has read without harm is safe to read here.
    stated = read_stated_columns(footer_metadata(tail))
    return SniffedFile(columns, problems=check_names(list(columns), loaded=False), stated=stated)


def _sniff_avro(sample: FileSample) -> SniffedFile:
    schema = schema_of_file(sample.first_bytes(HEAD_BYTES))
    columns = {field.name: field.type.sql() for field in schema.columns()}
    return SniffedFile(columns, problems=check_names(list(columns), loaded=True), stated=schema.stated_columns())


_SNIFFERS: Mapping[str, Callable[[FileSample], SniffedFile]] = {
    "csv": _sniff_csv,
    "json": _sniff_json,
    "text": _sniff_text,
    "parquet": _sniff_parquet,
    "avro": _sniff_avro,
}
