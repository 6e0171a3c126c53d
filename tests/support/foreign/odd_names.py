"""Names of columns and folders that are legal in their source."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa

from tests.support.foreign.by_arrow import good_parquet, made, of
from tests.support.foreign.case import (
    EITHER,
    SAME,
    Case,
    Expect,
    File,
    Made,
    Workshop,
    both_modes,
    refused,
    same_or_refused,
)
from tests.support.foreign.same import Cell

#: Some layer between Parquet and Delta refused each of these names.
ODD_NAMES = (
    "Order ID", "price (€)", "a.b", "@type", "path/to", "😀", "user-id", "semi;colon", "comma,name", "{brace}",
    "equals=", "tab\tname", "new\nline", "back`tick", 'quo"te', "it's", "100%", " led", "trailing ", "select", "1st",
    "Straße", "a\\b", "[x]", "#", "$ref", "__index_level_0__", "e\u0301", "x:y",
)  # fmt: skip
#: Columns that Tidegate adds to loaded tables.
OURS = ("_batch", "_ingested_at", "_source_path", "_source_etag", "_source_event_time")

_LONG = "n" * 300


def _names(shop: Workshop) -> Made:
    return made(pa.table({"id": shop.ids(1), **{name: [place] for place, name in enumerate(ODD_NAMES)}}))


def _inside(shop: Workshop) -> Made:
    inner = pa.array([dict.fromkeys(ODD_NAMES, 1)])
    listed = pa.array([[{"Order ID": {"a.b": 1}}]])
    return made(pa.table({"id": shop.ids(1), "odd inside": inner, "odd listed": listed}))


def _ours(name: str) -> File:
    return File(f"ours{name}.parquet", of({name: ["x"]}), same_or_refused(name), loaded=refused(name))


def _by_case(shop: Workshop) -> Made:
    return made(pa.table({"id": shop.ids(1), "Name": [1], "name": [2]}))


def _by_case_inside(shop: Workshop) -> Made:
    return made(pa.table({"id": shop.ids(1), "person": [{"Name": 1, "name": 2}]}))


def _day_too(day: int) -> Callable[[Workshop], Made]:
    def make(shop: Workshop) -> Made:
        both = made(pa.table({"id": shop.ids(1), "day": [day]}))
        return Made(both.body, [{**row, "day": Cell(str(day))} for row in both.rows])

    return make


def _in_folder(values: dict[str, str], expect: Expect = EITHER) -> Callable[[Workshop], Made]:
    def make(shop: Workshop) -> Made:
        item = made(pa.table({"id": shop.ids(1)}))
        return Made(item.body, [{**row, **values} for row in item.rows])

    return make


def _good_in(folder: str) -> Callable[[int], tuple[str, bytes]]:
    return lambda id: (f"{folder}/good.parquet", good_parquet(id)[1])


CASES = (
    *both_modes(
        Case(
            "odd",
            (
                File("names.parquet", _names, EITHER),
                File("inside.parquet", _inside, EITHER),
                File("long.parquet", of({_LONG: [1]}), EITHER),
                # Spark ignores the case of a column's name. delta-rs reads nulls unless the file has the table's
                # spelling.
                File("spelled.parquet", of({"Spelled": [1]}), EITHER, respelled=True),
                File("spelled otherwise.parquet", of({"SPELLED": [2]}), EITHER, respelled=True),
            ),
            good_parquet,
            by_others=True,
        )
    ),
    *both_modes(Case("odd_ours", tuple(_ours(name) for name in OURS), good_parquet)),
    *both_modes(
        Case(
            "folders",
            (
                File("my day=a b/x.parquet", _in_folder({"my day": "a b"}), SAME),
                File("my day=ü%2F=/x.parquet", _in_folder({"my day": "ü/="}), SAME),
            ),
            _good_in("my day=1"),
            by_others=True,
        )
    ),
    *both_modes(
        Case(
            "both",
            (
                File("day=1/same.parquet", _day_too(1), same_or_refused("day", "path")),
                File("day=2/other.parquet", _day_too(3), refused("day", "path")),
            ),
            _good_in("day=3"),
        )
    ),
)

REFUSED = (
    File("case.parquet", _by_case, refused("name", "case")),
    File("case inside.parquet", _by_case_inside, refused("name", "case")),
)
