"""The files of a proof: what they contain, and that the oracle reads them as a user would."""

from __future__ import annotations

from collections import Counter

import pytest

from tidegate.platform.prove.oracle import Oracle, read_content, table_of
from tidegate.platform.prove.plan import PERSON, WAVES, Operation, make_plan

SIZES = (60, 97, 1000)


@pytest.mark.parametrize("files", SIZES)
def test_a_plan_has_its_number_of_files_and_all_that_goes_wrong(files: int) -> None:
    plan = make_plan(files)
    assert sum(each.op == "put" for each in plan) == files
    assert Counter(each.op for each in plan if each.op != "put") == {"notice": 10, "message": 2, "delete": 2}
    kinds = {each.kind for each in plan}
    assert {"overwritten", "the same bytes again", "a write-once key, overwritten"} <= kinds
    assert sum(kind.startswith("bad: ") for kind in kinds) == 6
    assert sum(kind.startswith("out of order") for kind in kinds) == 2


@pytest.mark.parametrize("files", SIZES)
def test_a_key_changes_once_in_a_wave_and_what_is_changed_exists(files: int) -> None:
    there: set[str] = set()
    for wave in WAVES:
        keys = [each.key for each in make_plan(files) if each.wave == wave and each.op in ("put", "delete")]
        assert len(keys) == len(set(keys))
        for each in make_plan(files):
            if each.wave == wave and each.kind == "overwritten":
                assert each.key in there
        there |= set(keys)


def test_a_plan_is_drawn_from_its_seed() -> None:
    assert make_plan(60) == make_plan(60)
    assert make_plan(60, 2) != make_plan(60)


def test_too_few_files_are_refused() -> None:
    with pytest.raises(ValueError, match="59 files are too few: give 60 or more"):
        make_plan(59)


def replay(operations: list[Operation]) -> Oracle:
    oracle = Oracle()
    for each in operations:
        if each.op == "put":
            oracle.put(each.key, each.body)
        elif each.op == "delete":
            oracle.delete(each.key)
    return oracle


def test_the_oracle_finds_the_bad_files_and_rows_of_a_plan() -> None:
    expected = replay(make_plan(60)).expect()
    assert expected.quarantined == {
        "customers/empty.json",
        "customers/page.json",
        "orders/000000.parquet",
        "orders/cut.parquet",
        "products/texts.csv",
    }
    assert expected.bad_rows == {"customers/broken-rows.json": 2, "products/ragged.csv": 2}
    assert {key for key, state in expected.states.items() if state == "removed"} == {
        "customers/000001.json",
        "orders/000001.parquet",
    }


LINE = '{{"id": {}, "name": "n", "mail": "{}", "updated_at": "2026-01-01T00:00:0{}Z", "deleted": {}}}\n'


def line(id: int, mail: str, second: int, deleted: str = "false") -> bytes:
    return LINE.format(id, mail, second, deleted).encode()


def test_silver_has_the_newest_row_of_a_key_in_whatever_order_rows_come() -> None:
    oracle = Oracle()
    oracle.put("customers/a.json", line(1, "new", 2) + line(2, "gone", 2, "true"))
    oracle.put("customers/b.json", line(1, "old", 1) + line(2, "older", 1))
    assert [row[2] for row in oracle.expect().tables["silver.customers"]] == ["new"]
    assert oracle.expect().tables["bronze.customers"].total() == 4


def test_an_overwritten_file_adds_its_rows_and_the_same_bytes_add_none() -> None:
    oracle = Oracle()
    for body in (line(1, "a", 1), line(1, "a", 1), line(1, "b", 2)):
        oracle.put("customers/a.json", body)
    oracle.delete("customers/a.json")
    assert oracle.expect().tables["bronze.customers"].total() == 2
    assert oracle.expect().states == {"customers/a.json": "removed"}


def test_a_write_once_file_that_is_overwritten_or_removed_has_no_rows() -> None:
    first, second, third = [each.body for each in make_plan(60) if each.key.startswith("orders/0")][:3]
    oracle = Oracle()
    oracle.put("orders/a.parquet", first)
    oracle.put("orders/b.parquet", second)
    oracle.put("orders/a.parquet", third)
    assert oracle.expect().states == {"orders/a.parquet": "quarantined", "orders/b.parquet": "committed"}
    assert oracle.expect().tables["bronze.orders"].total() == 10
    oracle.delete("orders/b.parquet")
    assert not oracle.expect().tables["bronze.orders"]
    assert not oracle.expect().tables["silver.orders"]


def test_a_forgotten_person_has_no_row_before_and_after() -> None:
    oracle = Oracle()
    oracle.put("customers/a.json", line(PERSON, "a", 1) + line(1, "b", 1))
    oracle.forget(PERSON)
    oracle.put("customers/b.json", line(PERSON, "c", 2))
    tables = oracle.expect().tables
    assert {row[0] for row in tables["bronze.customers"]} == {row[0] for row in tables["silver.customers"]} == {1}
    assert oracle.expect().states["customers/b.json"] == "committed"


def test_a_change_feed_gives_the_rows_that_its_database_has() -> None:
    oracle = Oracle()
    oracle.put(
        "accounts/b.json", b'{"op": "d", "before": {"id": 2, "balance": 5}, "after": null, "source": {"lsn": 3}}\n'
    )
    oracle.put(
        "accounts/a.json",
        b'{"op": "c", "before": null, "after": {"id": 1, "balance": 4}, "source": {"lsn": 1}}\n'
        b'{"op": "c", "before": null, "after": {"id": 2, "balance": 5}, "source": {"lsn": 2}}\n',
    )
    assert oracle.expect().tables["silver.accounts"] == Counter({(1, 4): 1})


@pytest.mark.parametrize(
    ("key", "table"),
    [
        ("customers/a.json", "customers"),
        ("customers/a.csv", None),
        ("customers/_tmp.json", None),
        ("readme.txt", None),
        ("orders/a.parquet", "orders"),
    ],
)
def test_a_key_has_the_table_of_its_folder_and_ending(key: str, table: str | None) -> None:
    assert table_of(key) == table


def test_a_file_of_which_nothing_fits_cannot_be_read() -> None:
    assert read_content("customers", b"").unreadable
    assert read_content("customers", b'{"id": 1}\n').unreadable
    assert read_content("orders", b"PAR1").unreadable
    mixed = read_content("products", b"sku,price,stock\na,1.5,2\nb,x,2\nc,1\n")
    assert (mixed.rows, mixed.bad_rows, mixed.unreadable) == ((("a", 1.5, 2),), 2, False)
