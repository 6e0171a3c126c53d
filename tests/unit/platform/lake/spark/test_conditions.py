from __future__ import annotations

import pytest
from pyspark.sql.connect import functions as F
from pyspark.sql.connect.proto import Expression

from tidegate.platform.lake.spark.conditions import any_condition


@pytest.mark.parametrize("number", [1, 2, 3, 100, 1_000])
def test_a_condition_of_many_is_a_message_that_can_be_read(number: int) -> None:
    condition = any_condition([F.col("key").startswith(f"folder {n}/") for n in range(number)])
    message = condition.to_plan(None).SerializeToString()  # type: ignore[attr-defined, operator, arg-type]
    assert Expression.FromString(message).SerializeToString() == message
    assert message.count(b"startsWith") + message.count(b"startswith") == number
