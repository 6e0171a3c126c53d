"""The rows of a query, whatever times are in them."""

from __future__ import annotations

from pyspark.sql import DataFrame, Row
from pyspark.sql.functions import col
from pyspark.sql.types import (
    ArrayType,
    DataType,
    DateType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)


def collect_rows(frame: DataFrame) -> list[Row]:
    """Return the rows of a frame.

    Python has times from year 1 to 9999 only, and Spark has more. If one of the rows has such a time, then every date
    and timestamp of the rows is text as Spark writes it, in the time zone of the session.
    """
    try:
        return frame.collect()
    except (OverflowError, ValueError):
        texts = [_text_type(field.dataType) for field in frame.schema]
        if texts == [field.dataType for field in frame.schema]:
            raise
    names = frame.columns
    numbered = frame.toDF(*(f"c{place}" for place in range(len(names))))
    casts = [col(name).cast(kind) for name, kind in zip(numbered.columns, texts, strict=True)]
    return numbered.select(*casts).toDF(*names).collect()


def _text_type(kind: DataType) -> DataType:
    """Return a type with text in place of dates and timestamps."""
    match kind:
        case DateType() | TimestampType() | TimestampNTZType():
            return StringType()
        case ArrayType():
            return ArrayType(_text_type(kind.elementType), kind.containsNull)
        case MapType():
            return MapType(_text_type(kind.keyType), _text_type(kind.valueType), kind.valueContainsNull)
        case StructType():
            return StructType(
                [StructField(field.name, _text_type(field.dataType), field.nullable) for field in kind.fields]
            )
    return kind
