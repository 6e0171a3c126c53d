"""No statistics of personal columns in the log of a silver table."""

from __future__ import annotations

from collections.abc import Sequence

from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.core.schema.column_statistics import is_personal_path, only_statistics, statistics_paths
from tidegate.platform.core.schema.column_types import Field, folded
from tidegate.platform.core.silver.subject_paths import silver_origins
from tidegate.platform.lake.lake import Lake
from tidegate.platform.lake.spark.properties import set_properties
from tidegate.platform.silver.pending import PendingMerge


def private_statistics(spec: TableSpec, columns: Sequence[Field], bronze: Sequence[Field]) -> dict[str, str]:
    """Return the property of a silver table that leaves its personal columns out of statistics, or none.

    A column or nested field has statistics if it is known from which ones of bronze its values are, and none of these
    is personal. What silver derives, the key and the order among it, may have any value of the row.

    Args:
        spec: the table in lake.yaml.
        columns: of the silver table.
        bronze: the columns of bronze that it is merged from.
    """
    if spec.personal is None or spec.silver is None:
        return {}
    personal, origins = spec.personal.paths, silver_origins(spec.silver, bronze)
    private = [origin.place for origin in origins if is_personal_path(origin.path, personal)]
    public = [origin.place for origin in origins if not is_personal_path(origin.path, personal)]
    paths = ((path, tuple(map(folded, path))) for path in statistics_paths(columns))
    return only_statistics(path for path, form in paths if _is_of(form, public) and not _is_of(form, private))


def _is_of(path: tuple[str, ...], places: Sequence[tuple[str, ...]]) -> bool:
    """Return whether a path is one of some places, or is within one, or has one within it."""
    return any(path[: len(place)] == place[: len(path)] for place in places)


def make_private(lake: Lake, work: PendingMerge, columns: Sequence[Field], bronze: Sequence[Field]) -> None:
    """Give a silver table that exists the property, if it does not have it: lake.yaml or the columns have changed.

    Args:
        lake: has the table.
        work: what is pending.
        columns: of the silver table, without those that Tidegate adds to each.
        bronze: the columns of bronze that it is merged from.
    """
    wanted = private_statistics(work.table.spec, columns, bronze)
    if not wanted.items() <= work.silver.properties.items():
        set_properties(lake.delta.session, work.location, wanted)
