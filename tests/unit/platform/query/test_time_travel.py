"""Time travel to silver's views is a rewrite of their references. Everything else in a query is unchanged."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.platform.core.config.silver_columns import own_columns
from tidegate.platform.query.time_travel import reach_silver


def own(name: str, relation: str) -> tuple[str, ...]:
    return own_columns(None)


def past(version: str, name: str = "x") -> str:
    own = "_deleted, _changed_batch, _changed_at"
    return f"(SELECT * EXCEPT ({own}) FROM silver.`{name}_with_tombstones`{version} WHERE NOT _deleted)"


V3 = past(" version as of 3")


@pytest.mark.parametrize(
    "query",
    [
        "select  *  from silver.x",
        "SELECT * FROM bronze.x VERSION AS OF 3 -- as it is",
        "select * from silver.x_with_tombstones version as of 3",
        "select * from other.silver.x version as of 3",
        "select 'silver.x version as of 3' from t",
        "select 1 -- silver.x version as of 3",
        "select 1 /* from silver.x version as of 3 */",
        "select * from `silver.x` version as of 3",
        "with silver as (select 1) select * from silver version as of 3",
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
        ("select * from silver.x version as of 3", f"select * from {V3} AS x"),
        ("SELECT a FROM SILVER.`X` FOR VERSION AS OF 3", f"SELECT a FROM {past(' FOR VERSION AS OF 3')} AS `X`"),
        ("select y.a from silver.x version as of '3' y", f"select y.a from {past(' version as of ' + repr('3'))} y"),
        ("select * from spark_catalog.silver.x version as of 3", f"select * from {V3} AS x"),
        # A comment ends where it ended.
        (
            "select 'é' from silver /* 1 */ . x -- 2\n version as of 3 -- 3\n as y(a, b)",
            f"select 'é' from {past(' -- 2' + chr(10) + ' version as of 3')} -- 3\n as y(a, b)",
        ),
        ("select * from silver.x version as of 3 -- last", f"select * from {V3} AS x -- last"),
        # Columns may name the schema of the view, but not that of what replaces it.
        (
            "select silver.x.a, x.b, silver.x.*, spark_catalog.silver.x.s.f.g, silver.z.a, 'silver.x.a'\n"
            "from silver.x version as of 3 join silver.z on silver.x.a:k.l = silver.z.a",
            "select x.a, x.b, x.*, x.s.f.g, silver.z.a, 'silver.x.a'\n"
            f"from {V3} AS x join silver.z on x.a:k.l = silver.z.a",
        ),
        (
            "select silver.x.a, y.a from silver.x, silver.x version as of 3 as y",
            f"select silver.x.a, y.a from silver.x, {V3} as y",
        ),
        # The expression of a time ends where it ends, and is not evaluated or printed.
        *(
            (
                f"select a from silver.x timestamp as of {time}{more}",
                f"select a from {past(f' timestamp as of {time}')}{after}",
            )
            for time in (
                "'2024-05-01'",
                "current_timestamp",
                "current_timestamp( )",
                "now() - interval 1 hour",
                "current_timestamp() - INTERVAL '1' day",
                "date_sub(current_date(), 1)",
                "to_timestamp('01/05/2024', 'dd/MM/yyyy')",
                "timestamp '2024-05-01 00:00:00'",
                "cast('2024' as timestamp) /* in */ + interval 2 days",
            )
            for more, after in (
                ("", " AS x"),
                (" y", " y"),
                (" where note = 'silver.x version as of 1'", " AS x where note = 'silver.x version as of 1'"),
                (" union all select 1", " AS x union all select 1"),
                (" tablesample (10 percent) repeatable (3) y", " tablesample (10 percent) repeatable (3) y"),
                (" tablesample ((5) rows) limit 1", " tablesample ((5) rows) AS x limit 1"),
            )
        ),
        (
            "select * from bronze.b version as of 1 join silver.x version as of 3 using (id)",
            f"select * from bronze.b version as of 1 join {V3} AS x using (id)",
        ),
        (
            "with x as (select id from silver.x version as of 3) select id from x where id in "
            "(select id from silver.z version as of 4 where silver.z.id > 1)",
            f"with x as (select id from {V3} AS x) select id from x where id in "
            f"(select id from {past(' version as of 4', 'z')} AS z where z.id > 1)",
        ),
        (
            "select data:a.b, parse_json('{}'), to_date(s, 'yyyy-MM-dd'), 1.50, x'ff' from silver.x version as of 3 "
            "lateral view explode(l) e as f",
            "select data:a.b, parse_json('{}'), to_date(s, 'yyyy-MM-dd'), 1.50, x'ff' from "
            f"{V3} AS x lateral view explode(l) e as f",
        ),
    ],
)
def test_a_view_s_past_is_read_from_the_table_behind_it(query: str, expected: str) -> None:
    assert reach_silver(query, own) == expected
    assert reach_silver(expected, own) == expected, "its own output is unchanged"


#: Texts between two references, all of which are a part of a query.
_BETWEEN = (
    " join ",
    " cross join ",
    " left  outer join ",
    ", ",
    " where v = 'silver.x version as of 3' union all select data:a.b from ",
    " -- silver.x version as of 3\n join ",
    " /* silver.x version as of 3 */ ,\n\t",
    " where `silver.x version as of 3` = 1e3 union select 'it\\'s ''so' from ",
    " where a in (select max(b) from bronze.x version as of 2) except select x'00', 0.10 from ",
)
_ENDS = ("", " ", "\n-- end", ' where x.a = "silver.x version as of 3"', " order by 1 desc nulls last limit 3")
_VERSIONS = (
    " version as of 3",
    "\nFOR  VERSION /* of */ AS OF '3'",
    " TIMESTAMP AS OF '2024-05-01 00:00'",
    " for timestamp as of now() - interval '1' day",
)
_NAMES = (("silver.x", "x"), ("SILVER . `X`", "`X`"), ("`silver`.x", "x"), ("spark_catalog.silver.x", "x"))
_ALIASES = ("", " y", " AS y", "\n`a b`", " as y (a, b)")
_references = st.tuples(*map(st.sampled_from, (_NAMES, _VERSIONS, _ALIASES)))


@given(st.lists(st.tuples(_references, st.sampled_from(_BETWEEN)), min_size=1, max_size=4), st.sampled_from(_ENDS))
def test_nothing_but_the_references_changes(
    parts: list[tuple[tuple[tuple[str, str], str, str], str]], end: str
) -> None:
    query = expected = "select distinct\t* from "
    for place, (((name, called), version, alias), between) in enumerate(parts):
        more = between if place + 1 < len(parts) else end
        query += f"{name}{version}{alias}{more}"
        expected += f"{past(version)}{alias or f' AS {called}'}{more}"
    assert reach_silver(query, own) == expected
