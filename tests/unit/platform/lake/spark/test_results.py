"""What a table's state allows."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tidegate.platform.core.errors import DataError
from tidegate.platform.core.schema.table_schema import TableSchema
from tidegate.platform.lake.spark.results import TableState


def test_a_table_with_files_of_elsewhere_is_refused() -> None:
    state = TableState(3, None, "id", {}, TableSchema(()), 1)
    state.require_own_files()
    with pytest.raises(DataError, match=r"^\[TIDEGATE_OWNERSHIP\] the log names s3a://lake/secret"):
        replace(state, refusal="the log names s3a://lake/secret").require_own_files()


@pytest.mark.parametrize(
    "feature", ["catalogManaged", "coordinatedCommits-preview", "icebergCompatV2", "of a later Delta"]
)
def test_a_feature_that_nobody_looked_at_is_refused_by_name(feature: str) -> None:
    state = TableState(3, None, "id", {}, TableSchema(()), 1, features=("appendOnly", "rowTracking"))
    state.require_served_features("bronze.t", "start over")
    text = rf"^bronze\.t has the table feature {feature}, .*DROP FEATURE '{feature}', or start over"
    with pytest.raises(DataError, match=text):
        replace(state, features=(*state.features, feature)).require_served_features("bronze.t", "start over")
