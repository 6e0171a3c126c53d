"""How many tables a day brings: nothing below one first folder takes room from another."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.keys.table_key import TableKey
from tidegate.platform.core.routing.discovery import NewTables, Room, first_folder, room_today

LAKE = LakeConfig.model_validate(
    {
        "lake": {"root": "s3://lake/root"},
        "queues": [{"name": "events"}],
        "buckets": ["landing", "other"],
        "discovery": {"per_day": 2},
        "tables": [{"name": "orders", "prefix": "s3://landing/shop/orders/"}],
    }
)
NOON = 1_000_000 * 86400 + 43200.0


def key(prefix: str, bucket: str = "landing") -> TableKey:
    return TableKey(bucket, prefix)


def admitted(room: Room, *tables: TableKey) -> list[bool]:
    found = []
    for table in tables:
        found.append(room.admits(table))
        if found[-1]:
            room.take(table)
    return found


def test_tables_are_counted_by_the_day_of_their_birth() -> None:
    births: dict[TableKey, float | None] = {
        key("team/yesterday/"): NOON - 43201,
        key("team/midnight/"): NOON - 43200,
        key("team/unborn/"): None,
        key("shop/orders/"): NOON,  # it is configured
    }
    today = room_today(births, LAKE, NOON)
    assert admitted(today, key("team/new/"), key("shop/a/"), key("shop/b/"), key("shop/c/")) == [
        False,
        True,
        True,
        False,
    ]
    tomorrow = room_today(births, LAKE, NOON + 86400)
    assert admitted(tomorrow, key("team/a/"), key("team/b/")) == [True, False], "what is not born yet still counts"
    off = room_today({}, LAKE.model_copy(update={"discovery": None}), NOON)
    assert not off.admits(key("a/"))


def test_a_job_with_a_folder_a_run_makes_as_many_tables_as_a_day_may_have() -> None:
    room = room_today({}, LAKE, NOON)
    assert sum(admitted(room, *(key(f"run-{n}/") for n in range(99)))) == 2
    assert sum(admitted(room, *(key(f"run-{n}/", "other") for n in range(99)))) == 2, "each bucket has its own"
    assert sum(admitted(room, *(key(f"run-1/{n}/") for n in range(99)))) == 1, "run-1/ itself was one"


TABLES = st.builds(
    lambda bucket, folders: key("".join(f"{folder}/" for folder in folders), bucket),
    st.sampled_from(["landing", "other"]),
    st.lists(st.sampled_from("abcde"), min_size=1, max_size=3),
)


@given(st.lists(TABLES, max_size=40), st.lists(TABLES, max_size=40), st.sampled_from("abcde"), st.integers(1, 5))
def test_what_happens_below_a_folder_changes_nothing_for_another(
    honest: list[TableKey], flood: list[TableKey], of_flood: str, limit: int
) -> None:
    """A producer with one folder, which has a table already, changes no decision about other folders."""
    mine = [table for table in flood if first_folder(table) == key(f"{of_flood}/")]
    others = [table for table in honest if first_folder(table) != key(f"{of_flood}/")]
    old = frozenset({key(f"{of_flood}/")})
    flooded = Room(limit, old)
    assert sum(admitted(flooded, *dict.fromkeys(mine))) <= limit
    assert admitted(flooded, *others) == admitted(Room(limit, old), *others)


@given(st.lists(TABLES, max_size=60), st.integers(1, 4), st.sets(TABLES, max_size=9))
def test_what_waits_has_the_same_bound(arriving: list[TableKey], limit: int, waiting: set[TableKey]) -> None:
    new = NewTables(Room(limit, frozenset()), lambda: waiting)
    fates = {table: new.copy().fate(table) for table in arriving}
    for table in arriving:
        fates[table] = new.take(table)
        assert new.fate(table) == fates[table], "an event of the same folder has the same fate"
    of = {fate: {table for table in fates if fates[table] == fate} for fate in ("new", "waits", "refused")}
    for some in (of["new"], of["waits"] | waiting):
        for bucket in ("landing", "other"):
            folders = {first_folder(table) for table in some - waiting if table.bucket == bucket}
            assert len(folders - {first_folder(table) for table in waiting}) <= limit
    if of["refused"]:
        assert of["new"], "nothing waits before the day's tables are used up"
