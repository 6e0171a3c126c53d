"""The formats of loaded tables. Each format is one object."""

from __future__ import annotations

from collections.abc import Mapping

from tidegate.platform.bronze.prepare.formats.csv_files import Csv
from tidegate.platform.bronze.prepare.formats.declared_columns import Avro, Orc
from tidegate.platform.bronze.prepare.formats.format import Format
from tidegate.platform.bronze.prepare.formats.json_files import Json, JsonLines, JsonObjects
from tidegate.platform.bronze.prepare.formats.parquet_files import Parquet, ParquetObjects
from tidegate.platform.bronze.prepare.formats.text_files import TextLines
from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.core.errors import Misfit
from tidegate.platform.core.keys.file_format import format_of, refusal

#: The formats by their names in lake.yaml.
READABLE: Mapping[str, Format] = {
    format.name: format for format in (Csv(), Json(), TextLines(), Parquet(), Orc(), Avro())
}


#: JSON files of tables that have whole objects, and files of outputs.
_OBJECTS, _LINES, _PARQUET = JsonObjects(), JsonLines(), ParquetObjects()


def format_for(spec: TableSpec, key: str) -> Format | None:
    """Return the format of a table's object, or None if no format is known."""
    name = spec.format or format_of(key)
    if spec.mode == "repartition":
        return _LINES
    if spec.mode == "concatenate":
        return _PARQUET
    if name == "json" and spec.policy == "variant":
        return _OBJECTS
    return READABLE[name] if name else None


def format_of_file(spec: TableSpec, key: str) -> Format:
    """Return the format of a table's object.

    Raises:
        Misfit: no format is known for the ending of its key.
    """
    if format := format_for(spec, key):
        return format
    raise Misfit(
        refusal(key)
        or f"no format is known for the ending of {key.rsplit('/', 1)[-1]}; set `format` of the table in lake.yaml"
    )
