"""Parquet as Spark and delta-rs write it."""

from __future__ import annotations

from collections.abc import Callable

import deltalake
import pyarrow as pa
import pyarrow.parquet as pq

from tests.support.foreign.by_arrow import good_parquet
from tests.support.foreign.case import EITHER, SAME, Case, File, Made, Workshop, both_modes


def written(select: str, confs: dict[str, str] | None = None) -> Callable[[Workshop], Made]:
    """Return a maker of the file that Spark writes of a query. `{id}` in the query is the first id."""

    def make(shop: Workshop) -> Made:
        session, folder = shop.spark, shop.folder / "spark"
        for name, value in (confs or {}).items():
            session.conf.set(f"spark.sql.parquet.{name}", value)
        try:
            session.sql(select.format(id=shop.first)).coalesce(1).write.parquet(folder.as_uri())
        finally:
            for name in confs or {}:
                session.conf.unset(f"spark.sql.parquet.{name}")
        (part,) = folder.glob("*.parquet")
        return Made(part.read_bytes(), session.read.parquet(folder.as_uri()).toArrow().to_pylist())

    return make


def _delta_rs(shop: Workshop) -> Made:
    table = pa.table(
        {"id": shop.ids(2), "delta_rs": ["a", None], "seen": pa.array([1, None], pa.timestamp("us", "UTC"))}
    )
    deltalake.write_deltalake(shop.folder / "table", table)
    (part,) = (shop.folder / "table").glob("*.parquet")
    return Made(part.read_bytes(), pq.read_table(part).to_pylist())


_OLD_DATES = """SELECT {id}L AS id, date '1500-03-01' AS old_day, timestamp '1500-03-01 00:00:00' AS old_moment
    UNION ALL SELECT {id}L + 1, date '2026-01-02', timestamp '2026-01-02 03:04:05.000006'"""
_TYPES = """SELECT {id}L AS id, 1Y AS tiny, 2S AS small, 1.25BD AS exact, 1.5F AS single, X'00FF' AS raw,
    timestamp_ntz '2026-01-02 03:04:05.000006' AS naive, timestamp '2026-01-02 03:04:05.000006' AS zoned,
    map('a', array(1, null)) AS map, named_struct('x', 1, 'y', map(1, date '2026-01-02')) AS struct"""
_REBASED = {"datetimeRebaseModeInWrite": "LEGACY", "int96RebaseModeInWrite": "LEGACY"}

CASES = both_modes(
    Case(
        "spark",
        (
            File("types.parquet", written(_TYPES), SAME, types={"zoned": "timestamp", "naive": "timestamp_ntz"}),
            File(
                "int96.parquet",
                written(
                    "SELECT {id}L AS id, timestamp '2026-01-02 03:04:05.000006' AS int96",
                    {"outputTimestampType": "INT96"},
                ),
                SAME,
                probe="int96 = '2026-01-02 03:04:05.000006'",
            ),
            File("old.parquet", written(_OLD_DATES), SAME, probe="old_day = '1500-03-01'"),
            File(
                "legacy.parquet",
                written(_OLD_DATES.replace("old_", "legacy_"), _REBASED),
                EITHER,
                probe="legacy_day = '1500-03-01'",
            ),
            File(
                "legacy int96.parquet",
                written(_OLD_DATES.replace("old_", "ancient_"), {**_REBASED, "outputTimestampType": "INT96"}),
                EITHER,
                probe="ancient_day = '1500-03-01'",
            ),
            File("legacy format.parquet", written(_TYPES, {"writeLegacyFormat": "true"}), EITHER),
            File("delta-rs.parquet", _delta_rs, SAME),
        ),
        good_parquet,
    )
)
