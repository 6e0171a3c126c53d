"""Whose fault an error of Spark is."""

from __future__ import annotations

import pytest
from pyspark.errors import PySparkException

from tidegate.assets.bronze.spark_errors import Fault, explained, fault_of


class Raised(PySparkException):
    def __init__(self, condition: str | None, text: str) -> None:
        super().__init__(text)
        self._told = condition

    def getCondition(self) -> str | None:  # noqa: N802
        return self._told


@pytest.mark.parametrize(
    ("condition", "fault"),
    [
        ("COLUMN_ALREADY_EXISTS", Fault.FILE),
        ("FAILED_READ_FILE.CANNOT_READ_FILE_FOOTER", Fault.FILE),
        ("FAILED_READ_FILE.NO_HINT", Fault.EITHER),
        ("TASK_WRITE_FAILED", Fault.EITHER),
        ("UNRESOLVED_COLUMN.WITH_SUGGESTION", Fault.ENVIRONMENT),
        (None, Fault.ENVIRONMENT),  # a full disk, no memory, a lost executor
    ],
)
def test_the_condition_says_it(condition: str | None, fault: Fault) -> None:
    assert fault_of(Raised(condition, "503 Slow Down while reading part-50312.csv")) is fault


def test_reasons_are_in_our_words() -> None:
    twice = Raised("COLUMN_ALREADY_EXISTS", "[COLUMN_ALREADY_EXISTS] The column `name` already exists. SQLSTATE: 42711")
    assert explained(twice) == (
        "two of its fields have one name, or names that differ by case only (name); rename one of them"
    )
    footer = Raised("FAILED_READ_FILE.X", "[FAILED_READ_FILE.X] Could not read it. SQLSTATE: KD001\n\tat org.apache")
    assert explained(footer) == "Spark cannot read it: Could not read it. Write the file again"
