"""Whose fault an error of Spark is: quarantine is for what is known to be the file's."""

from __future__ import annotations

import re
from enum import Enum

from pyspark.errors import PySparkException

#: Conditions that tell of a file's content, and of nothing else.
_FILE = (
    "AMBIGUOUS_COLUMN",
    "AMBIGUOUS_REFERENCE",
    "COLUMN_ALREADY_EXISTS",
    "FAILED_READ_FILE.PARQUET_COLUMN_DATA_TYPE_MISMATCH",
    "FAILED_READ_FILE.CANNOT_READ_FILE_FOOTER",
    "MALFORMED_CHARACTER_CODING",
    "MALFORMED_RECORD_IN_PARSING",
    "UNABLE_TO_INFER_SCHEMA",
)
#: Conditions that a broken or deleted file causes, but an expired token or a full disk just as well.
_EITHER = ("FAILED_READ_FILE", "PATH_NOT_FOUND", "TASK_WRITE_FAILED")


class Fault(Enum):
    """Whose fault an error is."""

    FILE = "the file's"
    EITHER = "the file's or the environment's"
    ENVIRONMENT = "the environment's"


def fault_of(error: PySparkException) -> Fault:
    """Whose fault an error is, by its condition; a text that may hold a key or a number is not asked."""
    condition = error.getCondition() or ""
    if condition.startswith(_FILE):
        return Fault.FILE
    return Fault.EITHER if condition.startswith(_EITHER) else Fault.ENVIRONMENT


def explained(error: PySparkException) -> str:
    """What is wrong with the file, and what to do, in our words."""
    if (error.getCondition() or "").startswith(("COLUMN_ALREADY_EXISTS", "AMBIGUOUS")):
        found = re.search(r"`([^`]+)`", str(error))
        name = f" ({found[1]})" if found else ""
        return f"two of its fields have one name, or names that differ by case only{name}; rename one of them"
    text = re.sub(r"^(\[[A-Z_.]+\]\s*)+|\s*SQLSTATE: \w+", "", str(error).splitlines()[0])
    return f"Spark cannot read it: {text[:500]} Write the file again"
