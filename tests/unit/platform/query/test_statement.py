"""Statements that may change something are in the log of operations, without the values in them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.platform.query.statement import changes_something, without_values


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT * FROM bronze.orders",
        "SELECT 'reflect', reflected FROM bronze.orders",
        " ( select 1 ) union (select 2)",
        "-- all\n/* of\nthem */ SHOW TABLES IN lake",
        "WITH a AS (SELECT 1) SELECT * FROM a",
        "FROM bronze.orders SELECT id",
        "describe history silver.orders",
        "EXPLAIN DELETE FROM silver.orders",
        "/* a /* b */ c */-- d\\\ne\r(SELECT 1);\n-- f",
    ],
)
def test_reads(statement: str) -> None:
    assert not changes_something(statement)


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM silver.orders WHERE id = 1",
        "delete from silver.orders",
        "/* SELECT */ UPDATE silver.orders SET a = 1",
        "-- SELECT\nVACUUM bronze.orders",
        "RESTORE TABLE bronze.orders TO VERSION AS OF 1",
        "WITH a AS (SELECT 1) INSERT INTO silver.orders SELECT * FROM a",
        "FROM a INSERT INTO silver.orders SELECT *",
        "CALL tidegate.system.add_files(table => 'x')",
        "SET spark.sql.ansi.enabled = false",
        "",
        "/* /* */ SELECT */ DELETE FROM bronze.orders",
        "-- a\\\n SELECT 1\nDELETE FROM bronze.orders",
        "-- a\rDELETE FROM bronze.orders WHERE id IN (\nSELECT 1)",
        "/*+ a */ SELECT 1",
        "SELECT java_method('java.io.File', 'createTempFile', 'a', 'b')",
        "SELECT `Reflect`/* a */('java.lang.System', 'gc')",
        "VALUES (system.builtin.try_reflect('java.lang.System', 'gc'))",
        "SELECT IDENTIFIER('ref' || 'lect')('java.lang.System', 'gc')",
        "/* SELECT 1",
        "SELECT 1; DELETE FROM bronze.orders",
        "WITH a AS (SELECT /*+ x('*/') */ 1) INSERT INTO silver.orders SELECT 'a'",
    ],
)
def test_changes(statement: str) -> None:
    assert changes_something(statement)


def test_values_of_persons_are_left_out() -> None:
    assert without_values("DELETE FROM silver.t2 WHERE mail = 'ann''s@x.org' OR id = 42 OR n = \"o\\\"k\"") == (
        "DELETE FROM silver.t2 WHERE mail = ?? OR id = ? OR n = ?"
    )
    assert without_values("SELECT 'never ends") == "SELECT ?"


#: Where a statement may have a person's value, with what comes before and behind.
_CARRIERS = (
    "'{}'", '"{}"', "'it''s {}'", "'it\\'s {}'", "r'\\{}\\'", 'R"{}\\"', "$${}$$", "$a${}$$'$a$", "-- {}\n", "/* {} */",
    "-- a\\\n{}\n", "-- {}\r",
    "/* /* it's */ {} */", "/*+ {} */",
)  # fmt: skip


@given(parts=st.lists(st.tuples(st.sampled_from(["a = ", "`it's` = ", '`"` IN ', "\n"]), st.sampled_from(_CARRIERS))))
def test_no_place_of_a_value_shows_it_and_all_names_stay(parts: list[tuple[str, str]]) -> None:
    statement = "DELETE FROM t WHERE " + " AND ".join(name + carrier.format("eva@x.org") for name, carrier in parts)
    shown = without_values(statement)
    assert "eva" not in shown
    assert [shown.count(name) for name in ("`it's`", '`"`', " AND ")] == [
        sum(name in before for before, _ in parts) for name in ("`it's`", '`"`')
    ] + [max(0, len(parts) - 1)]


@pytest.mark.parametrize("begun", ["'", '"', "r'", "$$", "$tag$", "/*", "/* /* */", "--"])
def test_what_never_ends_is_left_out_to_the_end(begun: str) -> None:
    assert without_values(f"SELECT a, {begun}eva $ eva") == "SELECT a, ?"


@pytest.mark.parametrize(
    ("statement", "kept"),
    [
        ("SET spark.x.secret=eva", "SET spark.x.secret=?"),
        ("set spark.x.secret = eva", "set spark.x.secret =?"),
        ("-- why\n/* of /* eva */ */ SET spark.x.secret = it's eva", "?\n? SET spark.x.secret =?"),
        ("SET spark.x.secret eva", "SET spark.x.secret ?"),
        ("SET `spark.x.secret`=`eva`", "SET `spark.x.secret`=?"),
        ("SET spark.x.secret = a;eva\nand eva", "SET spark.x.secret =?"),
        ("SET VARIABLE who = eva", "SET VARIABLE who =?"),
        ("SET TIME ZONE eva", "SET TIME ?"),
        ("SET spark.x.secret", "SET spark.x.secret"),
        ("SET", "SET"),
        ("RESET eva", "RESET?"),
        ("ADD JAR https://eva:eva@x.org/eva.jar", "ADD?"),
        ("REFRESH s3a://b/eva", "REFRESH?"),
        ("GRANT eva TO eva", "GRANT?"),
        ("CREATE TABLE t OPTIONS (pass eva, `u` = eva(1), 'eva' eva)", "CREATE TABLE t OPTIONS (pass ?, `u` = ?, ? ?)"),
        ("ALTER TABLE t SET TBLPROPERTIES (x.y=eva.eva, 'b'='eva')", "ALTER TABLE t SET TBLPROPERTIES (x.y=?, ?=?)"),
        ("UPDATE t SET a = b, c = TRUE, d = DATE'2026-01-01'", "UPDATE t SET a = b, c = ?, d = DATE?"),
        ("(WITH a AS (SELECT 1) INSERT INTO t TABLE a)", "(WITH a AS (SELECT ?) INSERT INTO t TABLE a)"),
    ],
)  # fmt: skip
def test_a_value_that_is_a_bare_word_is_left_out(statement: str, kept: str) -> None:
    assert without_values(statement) == kept


@given(
    begun=st.sampled_from(["", " ", "\n", "/* a */", "-- a\n"]),
    word=st.sampled_from(["SET", "Set", "RESET", "ADD JAR", "ADD FILE", "LIST JAR", "REFRESH", "DFS", "GRANT"]),
    key=st.sampled_from([" ", " spark.x.secret=", " `a b` = ", " spark.x.secret ", " VAR a =", " TIME ZONE "]),
    around=st.tuples(
        st.sampled_from(["", "'", '"', "`", "(", ";", "a ", "/*", "$$", "r'"]), st.sampled_from(["", "'", "\n", ";a"])
    ),
)  # fmt: skip
def test_no_statement_of_bare_words_shows_one(begun: str, word: str, key: str, around: tuple[str, str]) -> None:
    rest = key + "=".join(around) if key == " " else key + "eva".join(around)
    shown = without_values(begun + word + rest)
    assert "eva" not in shown
    assert shown.lstrip("? \n").startswith(word.split()[0])
