"""No statistics of personal columns in the log of a silver table."""

from __future__ import annotations

from collections.abc import Sequence

from tidegate.platform.core.config.silver_columns import KEY, ORDER, VALID_FROM, VALID_TO
from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.core.schema.column_statistics import personal_paths, statistics_property
from tidegate.platform.core.schema.column_types import Field, folded
from tidegate.platform.core.schema.names import RESCUED_COLUMN
from tidegate.platform.core.silver.subject_paths import row_choices
from tidegate.platform.lake.lake import Lake
from tidegate.platform.lake.spark.properties import set_properties
from tidegate.platform.silver.pending import PendingMerge


def private_statistics(spec: TableSpec, columns: Sequence[Field]) -> dict[str, str]:
    """Return the property of a silver table that leaves its personal columns out of statistics, or none.

    A nested field of bronze may have become a column of silver, so every column counts that has the name of a personal
    field. So does the key or the order that silver derives, because it may be derived from one. If the rows themselves
    are derived or personal as a whole, no column has statistics.

    Args:
        spec: the table in lake.yaml.
        columns: of the silver table.
    """
    if spec.personal is None:
        return {}
    if _hides_names(spec):
        return statistics_property((), spec.personal.paths)
    paths = personal_paths(columns, spec.personal.names)
    made = {KEY, ORDER, VALID_FROM, VALID_TO}
    if spec.silver is not None:
        # A derived column may have any value of the row.
        made |= {folded(name) for name in spec.silver.derive}
        made |= {
            folded(new)
            for old, new in spec.silver.rename.items()
            if folded(old) in {*spec.personal.names, RESCUED_COLUMN}
        }
    return statistics_property(columns, paths | spec.personal.paths | made)


def _hides_names(spec: TableSpec) -> bool:
    """Return whether any column of silver may have personal values: its name does not show it."""
    silver, personal = spec.silver, spec.personal
    if silver is None or personal is None:
        return False
    if silver.row is None:
        # Debezium's rows are columns of an envelope, which may be personal as a whole.
        return silver.preset == "debezium" and not personal.names.isdisjoint({"before", "after", "payload"})
    parents = row_choices(silver.row)
    whole = {folded(".".join(parent[:length])) for parent in parents or () for length in range(1, len(parent) + 1)}
    return parents is None or not personal.paths.isdisjoint(whole)


def make_private(lake: Lake, work: PendingMerge, columns: Sequence[Field]) -> None:
    """Give a silver table that exists the property, if it does not have it: lake.yaml or the columns have changed.

    Args:
        lake: has the table.
        work: what is pending.
        columns: of the silver table, without those that Tidegate adds to each.
    """
    wanted = private_statistics(work.table.spec, columns)
    if not wanted.items() <= work.silver.properties.items():
        set_properties(lake.delta.session, work.location, wanted)
