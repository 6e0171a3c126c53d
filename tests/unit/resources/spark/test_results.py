"""What a table's state allows."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tidegate.platform.core.schema.table_schema import TableSchema
from tidegate.resources.spark.results import TableState


def test_a_table_with_files_of_elsewhere_is_refused() -> None:
    state = TableState(3, None, "id", {}, TableSchema(()), 1)
    state.require_own_files()
    with pytest.raises(RuntimeError, match=r"^\[TIDEGATE_OWNERSHIP\] the log names s3a://lake/secret"):
        replace(state, refusal="the log names s3a://lake/secret").require_own_files()
