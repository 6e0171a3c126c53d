"""How many rows of each file can enter the table, and what is said of the others."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from tidegate.assets.bronze.formats.format import BAD, SUSPECT, UNKNOWN
from tidegate.resources.lake import Table


@dataclass(frozen=True)
class RowCounts:
    """The rows of one file.

    Attributes:
        good: can enter.
        bad: cannot.
        suspect: rows that may show that the whole file was misread.
        unknown: of the bad ones, those that only have fields which the table has not.
        why: the reason of one bad row; None if there is none.
    """

    good: int
    bad: int
    suspect: int = 0
    unknown: int = 0
    why: str | None = None

    def told(self) -> str:
        """What is wrong with the bad rows, of which there are some."""
        some = f"{self.bad} of its {self.good + self.bad} rows do not fit the table"
        none = f"none of its {self.bad} rows fits the table"
        return f"{some if self.good else none}, such as: {self.why}"


def count_rows(rows: DataFrame, table: Table) -> dict[str, RowCounts]:
    """Count the rows that were read, by the key of their file.

    Raises:
        RuntimeError: Spark reports rows of a file that was not asked for.
    """
    bucket = f"s3://{table.key.bucket}/"
    counts = {
        "all": F.count("*"),
        "bad": F.count(BAD),
        "why": F.min(BAD),
        "suspect": F.count_if(F.col(SUSPECT)),
        "unknown": F.count_if(F.col(UNKNOWN)),
    }
    found = rows.groupBy("_source_path").agg(*[count.alias(name) for name, count in counts.items()]).collect()
    if any(row["_source_path"] is None for row in found):
        raise RuntimeError(
            f"Spark reported rows of {table.text} under a path that was not asked for; nothing was "
            "staged. Please report this with the keys of the batch"
        )
    return {
        row["_source_path"][len(bucket) :]: RowCounts(
            row["all"] - row["bad"], row["bad"], row["suspect"], row["unknown"], row["why"]
        )
        for row in found
    }
