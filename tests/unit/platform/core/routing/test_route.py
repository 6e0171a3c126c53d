"""Which table a key goes to, and the sentence that states the reason."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.keys.object_key import is_hidden, outermost_prefixes, place_of
from tidegate.platform.core.keys.table_key import TableKey
from tidegate.platform.core.routing.route import NoRoute, Routed, route


def lake(discovery: bool | dict[str, str] = True, more: Sequence[dict[str, Any]] = ()) -> LakeConfig:
    return LakeConfig.model_validate(
        {
            "lake": {"root": "s3://lake/root"},
            "queues": [{"name": "events"}],
            "buckets": ["landing", "other"],
            "discovery": discovery,
            "window": 7,
            "tables": [
                {"name": "flights", "prefix": "s3://landing/flights/"},
                {"name": "logs", "prefix": "s3://landing/app/logs/", "format": "json"},
                {"name": "other__taken", "prefix": "s3://landing/elsewhere/"},
                *more,
            ],
        }
    )


LAKE = lake()


@pytest.mark.parametrize(
    ("key", "name", "format", "mode"),
    [
        ("flights/year=2013/x.parquet", "flights", "parquet", "register"),
        ("flights/x.csv", "flights", "csv", "load"),
        ("flights/deep/er/x.json.gz", "flights", "json", "load"),
        ("app/logs/2024/x.log", "logs", "json", "load"),  # a configured format needs no ending
        ("app/logs/_k=1/x.parquet", "logs", "json", "load"),
    ],
)
def test_a_configured_prefix_wins(key: str, name: str, format: str, mode: str) -> None:
    for config in (LAKE, lake(discovery=False)):
        found = route("landing", key, config, set())
        assert isinstance(found, Routed)
        assert (found.spec.name, found.spec.format, found.spec.mode) == (name, format, mode)
        assert found.table == found.spec.table_key
        assert found.why == f"it is below {found.spec.prefix}, the prefix of table {name!r} in lake.yaml"


def test_moved_files_make_no_table() -> None:
    folder = "s3://landing/web/done/"
    config = lake(
        more=[{"name": "web", "prefix": "s3://landing/web/in/", "mode": "load", "after_load": {"move": folder}}]
    )
    found = route("landing", "web/done/day/x.csv", config, set())
    assert found == NoRoute("own_file", f"it is below {folder}, where after_load puts files that were loaded")
    for key in ("web/in/x.csv", "web/other/x.csv"):
        assert isinstance(route("landing", key, config, set()), Routed)


@pytest.mark.parametrize(
    ("key", "prefix", "format", "mode"),
    [
        ("erp/orders/x.parquet", "erp/orders/", "parquet", "load"),
        ("erp/orders/day=1/part/x.csv", "erp/orders/", "csv", "load"),
        ("a//b[1].jsonl", "a//", "json", "load"),
        ("ü +%/x.NDJSON.gz", "ü +%/", "json", "load"),
        ("flightsx/y.csv.gz", "flightsx/", "csv", "load"),
    ],
)
def test_discovery(key: str, prefix: str, format: str, mode: str) -> None:
    found = route("landing", key, LAKE, set())
    assert isinstance(found, Routed)
    assert found.table == TableKey("landing", prefix)
    spec = found.spec
    assert (spec.name, spec.prefix, spec.window) == (found.table.sql_name, found.table.uri, 7)
    assert (spec.format, spec.mode) == (format, mode)
    assert "is a table by discovery" in found.why
    assert route("landing", key, LAKE, {found.table}) == found


def test_discovery_registers_parquet_if_lake_yaml_says_so() -> None:
    """The log of a registered table is its producer's to write, so nobody gets such a table by putting a file."""
    for key, mode in (("a/x.parquet", "register"), ("b/x.csv", "load")):
        found = route("landing", key, lake({"parquet": "register"}), set())
        assert isinstance(found, Routed)
        assert found.spec.mode == mode


#: Bucket, key, and why it is not a source.
OWN_FILES = [
    ("lake", "root/inbox/landing.x/1.json", "is below the lake root s3://lake/root"),
    ("landing", "erp/orders/", "folder marker"),
    ("landing", "flights/", "folder marker"),
    ("landing", "erp/orders_$folder$", "folder marker"),
    ("landing", "flights/_delta_log/00000000000000000000.json", '"_" or "."'),
    ("landing", "flights/_tidegate/part-0.parquet", '"_" or "."'),
    ("landing", "flights/_temporary/0/x.parquet", '"_" or "."'),
    ("landing", "erp/_change_data/x.parquet", '"_" or "."'),
    ("landing", "erp/.hidden/x.parquet", '"_" or "."'),
    ("landing", "_x.csv", '"_" or "."'),
]
NO_TABLES = [
    ("lake", "rooted/x.csv", "the bucket 'lake' is not in `buckets` of lake.yaml; add it"),
    ("stranger", "a/x.csv", "the bucket 'stranger' is not in `buckets` of lake.yaml; add it"),
    ("landing", "erp/orders/x.txt", "no format is known for the ending '.txt'"),
    ("landing", "erp/orders/x.csv.bz2", "no format is known for the ending '.csv.bz2'"),
    ("landing", "erp/orders/x.csv.GZ", "no format is known for the ending '.csv.GZ'"),
    ("landing", "erp/orders/x.parquet.gz", "no format is known for the ending '.parquet.gz'"),
    ("landing", "erp/orders/csv", "no format is known for the name 'csv'"),
    ("landing", "flights/x.txt", "give table 'flights' a `format` in lake.yaml and materialize its partition"),
    (
        "landing",
        "x.csv",
        "if the bucket is one table, add it with the prefix s3://landing/ to lake.yaml",
    ),
    ("landing", "year=1/x.csv", "it is in no folder but those of dates and k=v, and"),
    ("landing", "2024/05/01/13/x.json", "it is in no folder but those of dates and k=v, and"),
    ("landing", "ü" * 100 + "/x.csv", "more than 512 characters"),
    ("other", "taken/x.csv", "lake.yaml gives that name to s3://landing/elsewhere/"),
]


@pytest.mark.parametrize(
    ("outcome", "bucket", "key", "why"),
    [*(("own_file", *file) for file in OWN_FILES), *(("no_table", *file) for file in NO_TABLES)],
)
def test_an_object_of_no_table_is_counted_with_the_reason(outcome: str, bucket: str, key: str, why: str) -> None:
    found = route(bucket, key, LAKE, set())
    assert isinstance(found, NoRoute)
    assert found.outcome == outcome
    assert why in found.why


def test_discovery_off() -> None:
    found = route("landing", "erp/x.csv", lake(discovery=False), {TableKey("landing", "erp/")})
    assert isinstance(found, NoRoute)
    assert (found.outcome, "`discovery` is off" in found.why) == ("no_table", True)


@pytest.mark.parametrize("known", [set(), {"erp/orders/"}, {"erp/"}, {"erp/orders/new/"}], ids=str)
def test_what_came_first_takes_no_folder_from_another(known: set[str]) -> None:
    """One object `team/x.parquet` once kept everything below `team/` from becoming a table."""
    tables = {TableKey("landing", prefix) for prefix in known}
    for key in ("erp/x.csv", "erp/orders/x.csv", "erp/orders/new/x.csv", "app/x.csv"):
        found = route("landing", key, LAKE, tables)
        assert isinstance(found, Routed)
        assert found.table == TableKey("landing", key.removesuffix("x.csv"))


def test_what_was_passed_over_goes_to_the_table_that_is_configured_for_it() -> None:
    """A run that lists the prefix calls the same function, so it takes the files that the events passed over."""
    known = {TableKey("landing", "sales/emea/")}
    assert isinstance(route("landing", "sales/b.dat", LAKE, known), NoRoute)
    config = lake(more=[{"name": "sales", "prefix": "s3://landing/sales/", "format": "csv"}])
    for key in ("sales/b.dat", "sales/emea/a.csv"):
        found = route("landing", key, config, known)
        assert isinstance(found, Routed)
        assert found.table == TableKey("landing", "sales/")


def test_a_name_that_lake_yaml_gives_away_keeps_new_folders_out_and_no_table_that_exists() -> None:
    assert isinstance(route("other", "taken/x.csv", LAKE, set()), NoRoute)
    assert isinstance(route("other", "taken/x.csv", LAKE, {TableKey("other", "taken/")}), Routed)


def test_a_folder_per_hour_is_one_table() -> None:
    known: set[TableKey] = set()
    for key in ("logs/2024/05/01/13/x.json", "logs/2024-05-01/x.json", "logs/x.json", "logs/2025/dc=1/x.json"):
        found = route("landing", key, LAKE, known)
        assert isinstance(found, Routed)
        known.add(found.table)
    assert known == {TableKey("landing", "logs/")}


def test_folders_that_only_begin_alike_do_not_overlap() -> None:
    assert isinstance(route("landing", "erp/orders2/x.csv", LAKE, {TableKey("landing", "erp/orders/")}), Routed)


NAMES = st.sampled_from(["a", "b", "c=1", "_d", ".e", "", "flights", "app", "logs", "ü +", "2024", "05"])
OBJECTS = st.tuples(
    st.sampled_from(["landing", "other", "lake"]),
    st.builds(
        lambda folders, name: "/".join([*folders, name]),
        st.lists(NAMES, max_size=4),
        st.sampled_from(["x.csv", "x.parquet", "x.txt", "_x.json", ""]),
    ).filter(bool),
)


@given(st.lists(OBJECTS, max_size=30), st.booleans(), st.randoms(use_true_random=False))
def test_an_object_has_one_table_whatever_came_before(
    objects: list[tuple[str, str]], discovery: bool, chance: random.Random
) -> None:
    """So two tables never have one object, though the prefix of one may be inside that of another."""
    config = lake(discovery)

    def routed(given: list[tuple[str, str]]) -> dict[tuple[str, str], TableKey]:
        known: set[TableKey] = set()
        tables = {}
        for bucket, key in given:
            found = route(bucket, key, config, known)
            assert found.why
            if isinstance(found, Routed):
                assert found.table.bucket == bucket
                assert key.startswith(found.table.prefix)
                assert not is_hidden(key)
                assert (found.spec.format, found.spec.mode) != (None, None)
                known.add(found.table)
                tables[bucket, key] = found.table
        return tables

    first = routed(objects)
    assert routed(chance.sample(objects, len(objects))) == first
    for (bucket, key), table in first.items():
        listed = [other for other in {*first.values(), *config.keys()} if key.startswith(other.prefix)]
        takers = [other for other in listed if getattr(route(bucket, key, config, {other}), "table", None) == other]
        assert {other for other in takers if other.bucket == bucket} == {table}, "a listing takes what events take"


@given(
    st.sets(st.text("ab/", min_size=1, max_size=4).map(lambda folder: f"{folder.strip('/') or 'c'}/"), max_size=12),
    st.lists(st.text("ab/c", max_size=7), max_size=12),
)
def test_the_search_in_prefixes_gives_what_trying_each_gives(folders: set[str], texts: list[str]) -> None:
    prefixes = outermost_prefixes(folders)
    assert prefixes == sorted(
        folder for folder in folders if not any(folder != other and folder.startswith(other) for other in folders)
    )
    for text in texts:
        place = place_of(text, prefixes)
        assert (None if place is None else prefixes[place]) == next(
            (folder for folder in sorted(folders) if text.startswith(folder)), None
        )


class Counted(str):
    """A text that counts the comparisons in which it takes part."""

    compared = 0

    def _count(self) -> None:
        Counted.compared += 1

    def __lt__(self, other: str) -> bool:
        self._count()
        return str.__lt__(self, other)

    def __gt__(self, other: str) -> bool:
        self._count()
        return str.__gt__(self, other)

    def __le__(self, other: str) -> bool:
        self._count()
        return str.__le__(self, other)

    def __ge__(self, other: str) -> bool:
        self._count()
        return str.__ge__(self, other)


class Known(set[TableKey]):
    """Tables that can be asked for one, and not be gone through."""

    def __iter__(self) -> Any:
        raise AssertionError("an event costs as much as there are tables")


@pytest.mark.parametrize("tables", [10, 300])
def test_an_event_costs_the_same_however_many_tables_there_are(tables: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With and without a table, among hundreds of configured and discovered ones."""
    config = lake(
        more=[
            {
                "name": f"t{n}",
                "prefix": f"s3://landing/t{n}/in/",
                "mode": "load",
                "after_load": {"move": f"s3://landing/done/t{n}/"},
                "inventory": f"s3://landing/inventories/{n}/",
            }
            for n in range(tables)
        ]
    )
    known = Known(TableKey("landing", f"k{n}/") for n in range(tables))
    keys = ["t7/in/x.csv", "t7/x.csv", "k7/x.csv", "k7/new/x.csv", "done/t7/x.csv", "inventories/7/x.csv", "x.csv"]
    routed = [type(route("landing", key, config, known)) for key in keys]
    assert routed == [Routed, Routed, Routed, Routed, NoRoute, NoRoute, NoRoute]

    def forbidden(*_: object) -> None:
        raise AssertionError("an event costs as much as there are tables")

    monkeypatch.setattr(LakeConfig, "keys", forbidden)
    object.__setattr__(config, "tables", Known())
    prefixes, specs = config.tables_by_prefix["landing"]
    config.__dict__["tables_by_prefix"] = {"landing": (list(map(Counted, prefixes)), specs)}
    for name in ("after_load_folders", "inventory_folders"):
        config.__dict__[name] = list(map(Counted, getattr(config, name)))
    for key in keys:
        Counted.compared = 0
        route("landing", key, config, known)
        assert Counted.compared <= 3 * (tables.bit_length() + 2), key


SIGNALS = [
    {"name": "runs", "prefix": "s3://landing/runs/", "format": "parquet", "completion": "_SUCCESS"},
    {"name": "inv", "prefix": "s3://landing/inv/", "format": "csv", "completion": "manifest.checksum"},
    {"name": "named", "prefix": "s3://landing/named/", "format": "csv", "completion": "manifest.json"},
]


@pytest.mark.parametrize(
    ("key", "table"),
    [
        ("runs/day=1/_SUCCESS", "runs"),
        ("runs/_temporary/_SUCCESS", None),
        ("runs/_SUCCESS/", None),
        ("runs/_committed_1", None),
        ("flights/_SUCCESS", None),
        ("inv/2026/manifest.checksum", "inv"),
        ("inv/2026/manifest.json", None),
        ("inv/data/x.csv.gz", "inv"),
        ("named/manifest.json", "named"),
        ("named/manifest.checksum", None),
    ],
)
def test_a_completion_signal_belongs_to_its_table_and_what_accompanies_it_does_not(key: str, table: str | None) -> None:
    found = route("landing", key, lake(more=SIGNALS), set())
    if table:
        assert isinstance(found, Routed)
        assert found.spec.name == table
    else:
        assert isinstance(found, NoRoute)
        assert found.outcome == "own_file"
