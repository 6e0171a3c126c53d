"""Whose fault an error of Spark is. A file is quarantined only if it is known to be at fault."""

from __future__ import annotations

import re
from enum import Enum

from pyspark.errors import PySparkException

#: Conditions that only the content of a file causes.
_FILE = (
    "AMBIGUOUS_COLUMN",
    "AMBIGUOUS_REFERENCE",
    "COLUMN_ALREADY_EXISTS",
    "DELTA_EXCEED_CHAR_VARCHAR_LIMIT",
    "DELTA_NOT_NULL_CONSTRAINT_VIOLATED",
    "DELTA_VIOLATE_CONSTRAINT",
    "FAILED_READ_FILE.PARQUET_COLUMN_DATA_TYPE_MISMATCH",
    "FAILED_READ_FILE.CANNOT_READ_FILE_FOOTER",
    "MALFORMED_CHARACTER_CODING",
    "MALFORMED_RECORD_IN_PARSING",
    "TIDEGATE_COLUMNS",
    "TIDEGATE_FILE",
    "UNABLE_TO_INFER_SCHEMA",
)
#: Those of `_FILE` that mean that a row breaks a rule which a user gave the table.
_RULES = ("DELTA_EXCEED_CHAR_VARCHAR_LIMIT", "DELTA_NOT_NULL_CONSTRAINT_VIOLATED", "DELTA_VIOLATE_CONSTRAINT")
#: Conditions that a broken or deleted file causes, but also an expired token or a full disk.
_AMBIGUOUS_CONDITIONS = ("FAILED_READ_FILE", "PATH_NOT_FOUND", "TASK_WRITE_FAILED")


class Fault(Enum):
    """Whose fault an error is."""

    FILE = "the file's"
    EITHER = "the file's or the environment's"
    ENVIRONMENT = "the environment's"


def fault_of(error: PySparkException) -> Fault:
    """Return whose fault an error is, by its condition. Its text is not used because it may hold a key or a number."""
    condition = error.getCondition() or ""
    if condition.startswith(_FILE):
        return Fault.FILE
    return Fault.EITHER if condition.startswith(_AMBIGUOUS_CONDITIONS) else Fault.ENVIRONMENT


def explain_error(error: PySparkException, *, discreet: bool = False) -> str:
    """Return what is wrong with the file, and what to do, in Tidegate's words.

    Args:
        discreet: quote no value of the file.
    """
    if (error.getCondition() or "").startswith(("COLUMN_ALREADY_EXISTS", "AMBIGUOUS")):
        found = re.search(r"`([^`]+)`", str(error))
        name = f" ({found[1]})" if found else ""
        return f"two of its fields have one name, or names that differ by case only{name}; rename one of them"
    condition = error.getCondition() or ""
    if condition == "TIDEGATE_COLUMNS":
        return columns_refused(str(error).splitlines()[0])
    if condition == "TIDEGATE_FILE":
        return _strip_stack_trace(str(error).splitlines()[0])
    if condition.startswith(_RULES):
        message = " ".join(re.split(r"\n[ \t]*at |\n\nJVM", str(error))[0].split())
        if discreet:
            message = re.split(r" (?:violated by row )?with values", message)[0] + "."
        return (
            f"a row of it breaks a rule of the table: {_strip_stack_trace(message)[:500]} Mend the file and write it "
            "again; or, if the rule is wrong, drop it with ALTER TABLE and redrive the file"
        )
    if discreet:
        return f"Spark cannot read it ({condition}). Write the file again"
    return f"Spark cannot read it: {_strip_stack_trace(str(error).splitlines()[0])[:500]} Write the file again"


def columns_refused(message: str) -> str:
    """Return what is wrong with columns that Delta does not accept, and what to do, in Tidegate's words."""
    return (
        f"{_strip_stack_trace(message)}; write them under other names or in other types, or change the table, and "
        "redrive the file"
    )


def _strip_stack_trace(text: str) -> str:
    return re.sub(r"^((\([\w.$]+\)|\[[A-Z_.]+\])\s*)+|(?<!\s)\s*SQLSTATE: \w+", "", text)
