"""Advice on storage classes: it never costs more than doing nothing, and it knows what makes small objects dear."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from itertools import product
from typing import TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.platform.core.storage.advice import TARGETS, TRANSITIONS, Advice, advice_for, without_price
from tidegate.platform.core.storage.cost import StoredSum
from tidegate.platform.core.storage.prices import FREQUENT, GIGABYTE, INFREQUENT, INSTANT, StoragePrices

T = TypeVar("T")
LARGE, SMALL, OLD, YOUNG = "under 1 MiB", "under 128 KiB", "under a year", "under 30 days"
FROM = {YOUNG: 0, "under 90 days": 30, OLD: 90, "a year and more": 365}
#: Prices like those of us-east-1. The tests need only their relations.
PRICES = StoragePrices(
    "USD",
    "2026-11-01",
    {
        "STANDARD": ((0.0, 0.023), (51200.0, 0.022), (512000.0, 0.021)),
        "STANDARD_IA": ((0.0, 0.0125),),
        "ONEZONE_IA": ((0.0, 0.01),),
        "GLACIER_IR": ((0.0, 0.004),),
        "GLACIER": ((0.0, 0.0036),),
        "DEEP_ARCHIVE": ((0.0, 0.00099),),
        FREQUENT: ((0.0, 0.023), (51200.0, 0.022), (512000.0, 0.021)),
        INFREQUENT: ((0.0, 0.0125),),
        INSTANT: ((0.0, 0.004),),
    },
    transitions={
        "STANDARD_IA": 0.00001,
        "ONEZONE_IA": 0.00001,
        "INTELLIGENT_TIERING": 0.00001,
        "GLACIER_IR": 0.00002,
        "GLACIER": 0.00003,
        "DEEP_ARCHIVE": 0.00005,
    },
    retrievals={"STANDARD_IA": 0.01, "GLACIER_IR": 0.03},
    reads={"STANDARD": 0.0000004, "STANDARD_IA": 0.000001, "GLACIER_IR": 0.00001},
    monitoring=0.0000025,
)

NAMES = {
    "S3 Standard": "STANDARD",
    "S3 Standard-IA": "STANDARD_IA",
    "S3 Intelligent-Tiering": "INTELLIGENT_TIERING",
    "S3 One Zone-IA": "ONEZONE_IA",
    "S3 Glacier Instant Retrieval": "GLACIER_IR",
    "S3 Glacier Flexible Retrieval": "GLACIER",
    "S3 Glacier Deep Archive": "DEEP_ARCHIVE",
}
#: What a rule can do and what it cannot, by the S3 User Guide: "Supported transitions" of "Transitioning objects using
#: Amazon S3 Lifecycle", read in November 2026. RRS is left out: nothing can be moved into it.
SUPPORTED = """
S3 Standard: any
S3 Standard-IA: S3 Intelligent-Tiering, S3 One Zone-IA, S3 Glacier Instant Retrieval, S3 Glacier Flexible Retrieval, S3 Glacier Deep Archive
S3 Intelligent-Tiering: S3 One Zone-IA, S3 Glacier Instant Retrieval, S3 Glacier Flexible Retrieval, S3 Glacier Deep Archive
S3 One Zone-IA: S3 Glacier Flexible Retrieval, S3 Glacier Deep Archive
S3 Glacier Instant Retrieval: S3 Glacier Flexible Retrieval, S3 Glacier Deep Archive
S3 Glacier Flexible Retrieval: S3 Glacier Deep Archive
any: S3 Glacier Deep Archive
"""  # noqa: E501
UNSUPPORTED = """
any: S3 Standard
S3 Intelligent-Tiering: S3 Standard-IA
S3 One Zone-IA: S3 Intelligent-Tiering, S3 Standard-IA, S3 Glacier Instant Retrieval
"""


def stored(
    objects: int,
    each: int,
    kind: str = "STANDARD",
    age: str = OLD,
    size: str = "",
    bucket: str = "b",
    version: str = "current",
    prefix: str = "p/",
    ends: str = "stays",
) -> StoredSum:
    group = (bucket, prefix, kind, age, size or (SMALL if each < 131_072 else LARGE), version, ends)
    return StoredSum(group, kind, objects, objects * each, 0, 0)


def only(sums: list[StoredSum], months: int = 12, targets: tuple[str, ...] = ("GLACIER_IR",)) -> Advice | None:
    found = advice_for(sums, PRICES, months, targets)
    assert len(found) <= 1
    return found[0] if found else None


def without(prices: Mapping[str, T], name: str) -> dict[str, T]:
    return {other: price for other, price in prices.items() if other != name}


def test_the_numbers_of_one_advice_are_those_of_a_calculation_by_hand() -> None:
    found = only([stored(1000, 1 << 20, size=LARGE)])
    assert found is not None
    gigabytes = 1000 / 1024
    assert found.once == pytest.approx(1000 * 0.00002)
    assert found.saving == pytest.approx(gigabytes * (0.021 - 0.004))
    assert found.net == pytest.approx(12 * found.saving - found.once)
    assert (found.break_even, found.stay, found.to, found.size) == (2, 3, "GLACIER_IR", "128 KiB and more")
    assert (found.days, found.storage_class, found.prefix) == (90, "STANDARD", "p/")
    assert found.readable == pytest.approx(found.saving / (gigabytes * 0.03 + 1000 * 0.0000096))


def test_sixty_million_small_objects_stay_where_they_are() -> None:
    """Moving 60 million objects of 4 KiB costs thousands, and each would be billed as 128 KiB."""
    sums = [stored(60_000_000, 4096)]
    assert advice_for(sums, PRICES, 36, TARGETS) == []
    assert only([stored(60_000_000 // 256, 1 << 20, size=LARGE)]) is not None


@pytest.mark.parametrize(
    ("sums", "months", "target"),
    [
        ([stored(9, 1 << 30, age=YOUNG)], 12, "STANDARD_IA"),  # lifecycle rules move no object before 30 days
        ([stored(9, 1 << 30)], 2, "GLACIER_IR"),  # 90 days are billed
        ([stored(9, 1 << 30)], 5, "DEEP_ARCHIVE"),  # 180 days are billed
        ([stored(9, 1 << 30, kind="GLACIER")], 12, "STANDARD_IA"),  # no rule moves an object up
        ([stored(9, 1 << 30, kind="ONEZONE_IA")], 12, "GLACIER_IR"),  # S3 refuses the rule
        ([stored(9, 1 << 30, version="noncurrent")], 1, "STANDARD_IA"),  # noncurrent since today, perhaps
        ([stored(9, 1 << 30, kind="unknown")], 12, "GLACIER_IR"),
        ([stored(9, 1 << 30, size="unknown")], 12, "GLACIER_IR"),
        ([stored(9, 1000)], 36, "INTELLIGENT_TIERING"),  # not monitored, and so FREQUENT for ever
    ],
)
def test_what_cannot_be_or_saves_nothing_is_not_advice(sums: list[StoredSum], months: int, target: str) -> None:
    assert only(sums, months, (target,)) is None


def test_leaving_a_class_early_is_paid_because_nobody_knows_since_when_objects_are_in_it() -> None:
    found = only([stored(100, 1 << 30, kind="STANDARD_IA")])
    assert found is not None
    assert found.once == pytest.approx(100 * 0.00002 + 100 * 0.0125)


def test_tiering_costs_the_frequent_tier_first_and_the_fee_always() -> None:
    found = only([stored(1000, 10 << 20, size=LARGE)], 12, ("INTELLIGENT_TIERING",))
    assert found is not None
    gigabytes, fee = 10_000 / 1024, 1000 * 0.0000025
    months = [0.023 * gigabytes + fee] + [0.0125 * gigabytes + fee] * 2 + [0.004 * gigabytes + fee] * 9
    assert found.net == pytest.approx(12 * 0.021 * gigabytes - sum(months) - 1000 * 0.00001)
    assert found.readable is None


def test_small_objects_are_billed_as_larger_ones_even_if_transitions_are_free() -> None:
    free = replace(PRICES, transitions=dict.fromkeys(TARGETS, 0.0))
    assert advice_for([stored(1000, 4096)], free, 36, TARGETS) == []
    (found,) = advice_for([stored(1000, 100_000)], free, 36, ("GLACIER_IR",))
    assert found.saving == pytest.approx(1000 * (100_000 * 0.021 - 131_072 * 0.004) / GIGABYTE)


def test_a_class_without_a_price_is_not_advice() -> None:
    bare = StoragePrices("USD", "x", {"STANDARD": ((0.0, 1.0),), "GLACIER_IR": ((0.0, 0.1),)})
    assert advice_for([stored(9, 1 << 30)], bare, 12) == []
    assert without_price([stored(9, 1 << 30)], bare) == ["GLACIER_IR", "INTELLIGENT_TIERING", "STANDARD_IA"]
    assert without_price([stored(9, 1 << 30, kind="GLACIER")], bare, ("DEEP_ARCHIVE",)) == ["DEEP_ARCHIVE", "GLACIER"]


def test_a_missing_price_is_named_exactly_where_it_could_keep_an_advice_from_being_given() -> None:
    """With one price less there is no advice, and the class without a price is named, and no other."""
    sums = [stored(1 << 14, 1 << 30, kind) for kind in ("STANDARD", "STANDARD_IA", "GLACIER", "OTHER", "unknown")]
    assert without_price(sums, PRICES, TARGETS) == []
    for target in TARGETS:
        for kind, stored_sum in zip(("STANDARD", "STANDARD_IA", "GLACIER"), sums, strict=False):
            if not only([stored_sum], 36, (target,)):
                continue
            needed = (FREQUENT, INFREQUENT, INSTANT) if target == "INTELLIGENT_TIERING" else (target,)
            lists = {name: replace(PRICES, tiers=without(PRICES.tiers, name)) for name in (kind, *needed)}
            lists["a transition"] = replace(PRICES, transitions=without(PRICES.transitions, target))
            for name, prices in lists.items():
                assert advice_for([stored_sum], prices, 36, (target,)) == []
                assert without_price([stored_sum], prices, (target,)) == [kind if name == kind else target]
    no_fee = replace(PRICES, monitoring=None)
    assert without_price(sums, no_fee, TARGETS) == ["INTELLIGENT_TIERING"]
    assert without_price([stored(9, 1 << 30, kind="GLACIER")], no_fee, TARGETS) == []


def test_noncurrent_versions_have_a_rule_of_their_own_that_may_begin_a_month_later() -> None:
    sums = [stored(100, 1 << 30), stored(100, 1 << 30, version="noncurrent")]
    noncurrent, current = sorted(advice_for(sums, PRICES, 12, ("STANDARD_IA",)), key=lambda advice: advice.net)
    assert (current.rule, noncurrent.rule) == ("Transition", "NoncurrentVersionTransition")
    assert (current.version, noncurrent.version) == ("current", "noncurrent")
    assert current.net - noncurrent.net == pytest.approx(current.saving) == pytest.approx(100 * (0.021 - 0.0125))
    assert (current.stay, noncurrent.stay) == (1, 2)
    assert (current.days, noncurrent.days) == (90, 30)


def test_short_lived_objects_are_not_moved_because_each_would_be_billed_for_months() -> None:
    """An application writes 333,333 objects a day and deletes each of them after 3 days, or after 40 or 120."""
    assert advice_for([stored(1_000_000, 1 << 20, age=YOUNG)], PRICES, 12) == []
    lives = {40: (30, 10, 0), 60: (30, 30, 0), 120: (30, 60, 30)}
    for days in lives.values():
        some = [stored(333_333 * number, 1 << 20, age=age) for number, age in zip(days, FROM, strict=False) if number]
        assert advice_for(some, PRICES, 12, TARGETS) == [], days
    staying = [stored(333_333 * number, 1 << 20, age=age) for number, age in zip((30, 60, 275, 400), FROM, strict=True)]
    (found,) = advice_for(staying, PRICES, 12)
    assert found.days == 30
    noncurrent = [replace(stored_sum, group=(*stored_sum.group[:5], "noncurrent", "stays")) for stored_sum in staying]
    assert advice_for(noncurrent[:1], PRICES, 12, TARGETS) == []
    assert len(advice_for(noncurrent, PRICES, 12)) == 1


@pytest.mark.parametrize(
    ("targets", "months", "younger"),
    [(("GLACIER",), 12, "STANDARD"), (("DEEP_ARCHIVE",), 12, "STANDARD"), (("GLACIER_IR",), 12, "STANDARD_IA")],
)
def test_a_rule_moves_older_objects_too_and_is_advised_for_all_of_them_or_none(
    targets: tuple[str, ...], months: int, younger: str
) -> None:
    large = stored(1000, 256 << 20, younger, OLD)
    assert advice_for([large], PRICES, months, targets) != []
    many = stored(20_000_000, 131_072, younger, "a year and more")
    assert advice_for([large, many], PRICES, months, targets) == []
    # What a rule deletes soon would be moved before that, and billed for the whole minimum duration.
    ending = stored(20_000_000, 131_072, younger, "a year and more", ends="ends")
    assert advice_for([large, ending], PRICES, months, targets) == []


def test_a_rule_of_a_prefix_moves_what_is_below_other_prefixes_of_it() -> None:
    deep, direct = stored(1000, 1 << 28, prefix="a/b/"), stored(10, 1 << 28, prefix="a/")
    (found,) = advice_for([deep, direct], PRICES, 12)
    assert (found.prefix, found.objects) == ("a/", 1010)
    costly = stored(20_000_000, 131_072, kind="STANDARD_IA", prefix="a/")
    found = advice_for([deep, costly], PRICES, 12, ("GLACIER_IR",))[0]
    assert found.prefix == "a/b/"
    unknown = stored(1, 1, kind="unknown", size=LARGE, prefix="")
    assert [advice.prefix for advice in advice_for([deep, unknown, stored(9, 1 << 28, prefix="")], PRICES, 12)] == [
        "a/b/"
    ]


def test_a_rule_for_standard_also_moves_what_tiering_has_and_is_worth_what_is_left_there() -> None:
    tiered = replace(stored(100, 1 << 30), storage_class="INTELLIGENT_TIERING INFREQUENT")
    tiered = replace(tiered, group=("b", "p/", "INTELLIGENT_TIERING", *tiered.group[3:]))
    (found,) = advice_for([stored(100, 1 << 30), tiered], PRICES, 12, ("GLACIER_IR",))
    (alone,) = advice_for([stored(100, 1 << 30)], PRICES, 12, ("GLACIER_IR",))
    assert (found.storage_class, found.objects) == ("INTELLIGENT_TIERING, STANDARD", 200)
    assert found.net == pytest.approx(alone.net - 100 * 0.00002), "unread, they cost the price of GLACIER_IR there"


_PRICE = st.floats(0.0001, 0.1)
_CLASSES = ("STANDARD", "STANDARD_IA", "ONEZONE_IA", "GLACIER_IR", "GLACIER", "DEEP_ARCHIVE")


@st.composite
def price_lists(draw: st.DrawFn) -> StoragePrices:
    tiers = {
        name: ((0.0, draw(_PRICE)), (draw(st.floats(0.001, 5)), draw(_PRICE)))
        for name in (*_CLASSES, FREQUENT, INFREQUENT, INSTANT)
    }
    # Small amounts, so that small objects are worth a transition in some examples.
    fee = st.sampled_from([0.0, 1e-12, 1e-9, 1e-5])
    transitions = {name: draw(fee) for name in TARGETS}
    return StoragePrices("USD", "x", tiers, transitions, monitoring=draw(fee))


_OBJECTS = st.lists(
    st.tuples(
        st.sampled_from(_CLASSES),
        st.sampled_from(list(FROM)),
        st.sampled_from([0, 1, 4096, 131_071, 131_072, 1 << 20, 1 << 28]),
        st.sampled_from([("a", ""), ("a", "p/"), ("a", "p/q/"), ("b", "p/")]),
        st.integers(1, 1000),
        st.sampled_from(["current", "noncurrent"]),
        st.sampled_from(["stays", "stays", "ends"]),
    ),
    max_size=12,
)
_MIN_MONTHS = {"STANDARD_IA": 1, "ONEZONE_IA": 1, "GLACIER_IR": 3, "GLACIER": 3, "DEEP_ARCHIVE": 6}


@given(price_lists(), _OBJECTS, st.integers(1, 24))
def test_an_account_that_follows_all_advice_never_pays_more(
    prices: StoragePrices, objects: list[tuple[str, str, int, tuple[str, str], int, str, str]], months: int
) -> None:
    """The bill of each month is computed for the whole account, with its tiers, by AWS's rules for one object.

    Each rule moves every object that S3's filter chooses. What another rule deletes is deleted just after that.
    """
    sums = [
        stored(count, each, kind, age, "", *where[:1], version, where[1], ends)
        for kind, age, each, where, count, version, ends in objects
    ]
    found = advice_for(sums, prices, months, TARGETS)

    def moved_to(kind: str, age: str, each: int, where: tuple[str, str], version: str) -> str:
        rules = {
            advice.to
            for advice in found
            if advice.bucket == where[0]
            and where[1].startswith(advice.prefix)
            and (advice.size == SMALL) == (each < 131_072)
            and advice.version == version
            and (version == "noncurrent" or FROM[age] >= advice.days)
            and advice.to in TRANSITIONS.get(kind, ())
        }
        assert len(rules) < 2, "two rules move the same object"
        return rules.pop() if rules else kind

    def price_of(name: str, each: int) -> float:
        """Return a month of an object at the highest prices."""
        dearest = {tier: max(price for _, price in tiers) for tier, tiers in prices.tiers.items()}
        if name == "INTELLIGENT_TIERING":
            return dearest[FREQUENT] * each / GIGABYTE + (prices.monitoring or 0.0) * (each >= 131_072)
        archived = name in ("GLACIER", "DEEP_ARCHIVE")
        billed = max(each, 131_072) if name in ("STANDARD_IA", "ONEZONE_IA", "GLACIER_IR") else each + 32_768 * archived
        return (dearest[name] * billed + dearest["STANDARD"] * 8_192 * archived) / GIGABYTE

    def bill(month: int, *, followed: bool) -> float:
        used: dict[str, float] = defaultdict(float)
        more = 0.0
        for kind, age, each, where, count, version, ends in objects:
            to = moved_to(kind, age, each, where, version) if followed else kind
            begins = 1 if version == "noncurrent" else 0
            if to != kind and month == min(begins, months - 1):
                more += count * (prices.transitions[to] + _MIN_MONTHS.get(kind, 0) * price_of(kind, each))
                if ends == "ends":
                    more += count * max(1, _MIN_MONTHS.get(to, 0)) * price_of(to, each)
            to = kind if month < begins else to
            if ends == "ends":
                continue
            if to == "INTELLIGENT_TIERING":
                monitored = each >= 131_072
                tier = FREQUENT if month == begins or not monitored else INFREQUENT if month < 3 + begins else INSTANT
                used[tier] += count * each
                more += count * (prices.monitoring or 0) * monitored
            elif to in ("GLACIER", "DEEP_ARCHIVE"):
                used[to] += count * (each + 32_768)
                used["STANDARD"] += count * 8_192
            else:
                used[to] += count * (each if to == "STANDARD" else max(each, 131_072))
        return more + sum(prices.monthly(name, size) or 0.0 for name, size in used.items())

    kept = moved = 0.0
    for month in range(months):
        kept += bill(month, followed=False)
        moved += bill(month, followed=True)
        if found and month + 1 >= max(advice.break_even for advice in found):
            assert moved <= kept * (1 + 1e-9) + 1e-12
    assert moved <= kept * (1 + 1e-9) + 1e-12


def pairs(text: str) -> set[tuple[str, str]]:
    """Return from and to of each transition that a list names. A class does not lead to itself."""
    found = set()
    for line in text.strip().splitlines():
        before, _, after = line.partition(": ")
        sources = NAMES.values() if before == "any" else [NAMES[before]]
        targets = NAMES.values() if after == "any" else [NAMES[name] for name in after.split(", ")]
        found |= {(source, target) for source, target in product(sources, targets) if source != target}
    return found


def test_the_whole_table_is_that_of_the_documentation() -> None:
    found = {(source, target) for source, targets in TRANSITIONS.items() for target in targets}
    assert found == pairs(SUPPORTED)
    assert not found & pairs(UNSUPPORTED)
    assert {target for _, target in found} == set(TARGETS)


def test_what_the_documentation_names_in_neither_list_is_not_allowed() -> None:
    """The lists leave out every way from an archive to what can be read at once: objects must be restored first."""
    silent = set(product(NAMES.values(), TARGETS)) - pairs(SUPPORTED) - pairs(UNSUPPORTED)
    assert {(source, target) for source, target in silent if source != target} == {
        *product(["GLACIER", "DEEP_ARCHIVE"], ["STANDARD_IA", "INTELLIGENT_TIERING", "ONEZONE_IA", "GLACIER_IR"]),
        *product(["GLACIER_IR"], ["STANDARD_IA", "INTELLIGENT_TIERING", "ONEZONE_IA"]),
        ("DEEP_ARCHIVE", "GLACIER"),
    }
