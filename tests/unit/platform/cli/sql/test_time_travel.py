"""Time travel to silver's views is a rewrite of the query. Other queries are unchanged."""

from __future__ import annotations

import pytest

from tidegate.platform.cli.sql.time_travel import reach_silver
from tidegate.platform.core.silver.columns import own_columns


def own(name: str) -> tuple[str, ...]:
    return own_columns(None)


PAST = "(SELECT * EXCEPT (_deleted, _changed_batch, _changed_at) FROM silver.`x_with_tombstones` {} WHERE NOT _deleted)"
MAY, AN_HOUR_AGO = "TIMESTAMP AS OF '2024-05-01'", "TIMESTAMP AS OF CURRENT_TIMESTAMP() - INTERVAL '1' HOUR"
V3 = PAST.format("VERSION AS OF 3")


@pytest.mark.parametrize(
    "query",
    [
        "select  *  from silver.x",
        "SELECT * FROM bronze.x VERSION AS OF 3 -- as it is",
        "select * from silver.x_with_tombstones version as of 3",
        "select 'silver.x version as of 3' from t",
        "select 1 -- silver.x version as of 3",
        "select 1 /* from silver.x version as of 3 */",
        "select * from `silver.x` version as of 3",
        "SHOW TABLES IN silver",
        "DESCRIBE HISTORY silver.x_with_tombstones",
        "this is no SQL as of all",
    ],
)
def test_other_queries_are_left_as_they_are(query: str) -> None:
    assert reach_silver(query, own) == query


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("select * from silver.x version as of 3", f"SELECT * FROM {V3} AS x"),
        ("SELECT a FROM SILVER.`X` FOR VERSION AS OF 3", f"SELECT a FROM {V3} AS x"),
        ("select y.a from silver.x version as of 3 y", f"SELECT y.a FROM {V3} AS y"),
        ("select silver.x.a, x.b from silver.x version as of 3", f"SELECT x.a, x.b FROM {V3} AS x"),
        (
            "select * from silver.x timestamp as of '2024-05-01' where note = 'silver.x version as of 1'",
            f"SELECT * FROM {PAST.format(MAY)} AS x WHERE note = 'silver.x version as of 1'",
        ),
        (
            "select * from silver.x timestamp as of current_timestamp() - interval 1 hour y",
            f"SELECT * FROM {PAST.format(AN_HOUR_AGO)} AS y",
        ),
        (
            "select * from bronze.b version as of 1 join silver.x version as of 3 using (id)",
            f"SELECT * FROM bronze.b VERSION AS OF 1 JOIN {V3} AS x USING (id)",
        ),
        (
            "with old as (select id from silver.x version as of 3) select id from silver.x except select id from old",
            f"WITH old AS (SELECT id FROM {V3} AS x) SELECT id FROM silver.x EXCEPT SELECT id FROM old",
        ),
    ],
)
def test_a_view_s_past_is_read_from_the_table_behind_it(query: str, expected: str) -> None:
    assert reach_silver(query, own) == expected
    assert reach_silver(expected, own) == expected  # its own output is unchanged
