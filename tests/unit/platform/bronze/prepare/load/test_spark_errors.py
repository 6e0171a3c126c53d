"""Which errors of Spark are the fault of a file."""

from __future__ import annotations

import pytest
from pyspark.errors import PySparkException

from tidegate.platform.bronze.prepare.load.spark_errors import Fault, explain_error, fault_of


class Raised(PySparkException):
    def __init__(self, condition: str | None, text: str) -> None:
        super().__init__(text)
        self._condition = condition

    def getCondition(self) -> str | None:  # noqa: N802
        return self._condition


@pytest.mark.parametrize(
    ("condition", "fault"),
    [
        ("COLUMN_ALREADY_EXISTS", Fault.FILE),
        ("FAILED_READ_FILE.CANNOT_READ_FILE_FOOTER", Fault.FILE),
        ("FAILED_READ_FILE.NO_HINT", Fault.EITHER),
        ("TASK_WRITE_FAILED", Fault.EITHER),
        ("DELTA_VIOLATE_CONSTRAINT_WITH_VALUES", Fault.FILE),
        ("DELTA_NOT_NULL_CONSTRAINT_VIOLATED", Fault.FILE),
        ("DELTA_EXCEED_CHAR_VARCHAR_LIMIT", Fault.FILE),
        ("TIDEGATE_COLUMNS", Fault.FILE),
        ("TIDEGATE_FILE", Fault.FILE),
        ("TIDEGATE_BUSY", Fault.ENVIRONMENT),
        ("DELTA_CONCURRENT_APPEND", Fault.ENVIRONMENT),
        ("UNRESOLVED_COLUMN.WITH_SUGGESTION", Fault.ENVIRONMENT),
        (None, Fault.ENVIRONMENT),  # a full disk, no memory, a lost executor
    ],
)
def test_the_condition_says_it(condition: str | None, fault: Fault) -> None:
    assert fault_of(Raised(condition, "503 Slow Down while reading part-50312.csv")) is fault


def test_reasons_are_in_our_words() -> None:
    twice = Raised("COLUMN_ALREADY_EXISTS", "[COLUMN_ALREADY_EXISTS] The column `name` already exists. SQLSTATE: 42711")
    assert explain_error(twice) == (
        "two of its fields have one name, or names that differ by case only (name); rename one of them"
    )
    footer = Raised("FAILED_READ_FILE.X", "[FAILED_READ_FILE.X] Could not read it. SQLSTATE: KD001\n\tat org.apache")
    assert explain_error(footer) == "Spark cannot read it: Could not read it. Write the file again"
    check = Raised(
        "DELTA_VIOLATE_CONSTRAINT_WITH_VALUES",
        "(org.apache.X) [DELTA_VIOLATE_CONSTRAINT_WITH_VALUES] CHECK constraint positive (id > 0) violated by row with "
        "values:\n - id : 0 SQLSTATE: 23001\n\nJVM stacktrace:\norg.apache.spark.SparkException",
    )
    assert explain_error(check) == (
        "a row of it breaks a rule of the table: CHECK constraint positive (id > 0) violated by row with values: "
        "- id : 0 Mend the file and write it again; or, if the rule is wrong, drop it with ALTER TABLE and redrive the "
        "file"
    )
    columns = Raised("TIDEGATE_COLUMNS", "[TIDEGATE_COLUMNS] Delta does not take the columns: [X] no\n\tat io.tidegate")
    assert explain_error(columns) == (
        "Delta does not take the columns: [X] no; write them under other names or in other types, or change the table, "
        "and redrive the file"
    )
