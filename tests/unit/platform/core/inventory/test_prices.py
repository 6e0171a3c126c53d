"""AWS's price list of S3, and what a report makes of sums."""

from __future__ import annotations

import pytest

from tidegate.platform.core.inventory.cost import StoredSum, cost_lines
from tidegate.platform.core.inventory.prices import GIGABYTE, StoragePrices

#: The form of AWS's file. The prices are made.
LIST = """"FormatVersion","v1.0"
"Disclaimer","made for a test"
"Publication Date","2026-11-01T00:00:00Z"
"Version","20261101000000"
"OfferCode","AmazonS3"
"SKU","TermType","EffectiveDate","StartingRange","EndingRange","Unit","PricePerUnit","Currency","usageType"
"A","OnDemand","2026-10-01","0","51200","GB-Mo","0.0200000000","USD","EUC1-TimedStorage-ByteHrs"
"A","OnDemand","2026-10-01","51200","Inf","GB-Mo","0.0100000000","USD","EUC1-TimedStorage-ByteHrs"
"B","OnDemand","2026-11-01","0","Inf","GB-Mo","0.0050000000","USD","EUC1-TimedStorage-SIA-ByteHrs"
"C","OnDemand","2026-11-01","0","Inf","GB-Mo","0.0010000000","USD","EUC1-TimedStorage-GDA-ByteHrs"
"D","OnDemand","2026-11-01","0","Inf","Requests","9","USD","EUC1-TimedStorage-ByteHrs"
"E","OnDemand","2026-11-01","0","Inf","GB-Mo","9","USD","EUC1-TimedStorage-SIA-SmObjects"
"""


def prices(text: str = LIST) -> StoragePrices:
    return StoragePrices.from_price_list(text.splitlines(), "index.csv")


def test_the_list_gives_the_tiers_of_each_class() -> None:
    found = prices()
    assert (found.currency, found.effective) == ("USD", "2026-11-01")
    assert found.tiers == {
        "STANDARD": ((0.0, 0.02), (51200.0, 0.01)),
        "STANDARD_IA": ((0.0, 0.005),),
        "DEEP_ARCHIVE": ((0.0, 0.001),),
    }
    assert found.monthly("STANDARD", 100 * GIGABYTE) == pytest.approx(2.0)
    assert found.monthly("STANDARD", 51300 * GIGABYTE) == pytest.approx(51200 * 0.02 + 100 * 0.01)
    assert found.monthly("EXPRESS_ONEZONE", GIGABYTE) is None


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a,b\n1,2\n", "index.csv is no price list of AWS: it has no column usageType"),
        (LIST.replace('"usageType"', '"x"'), "it has no column usageType"),
        (LIST.replace("TimedStorage-ByteHrs", "x"), "has no prices of the class STANDARD"),
    ],
)
def test_another_file_is_refused(text: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        prices(text)


def test_a_group_pays_its_share_of_the_tiers_and_what_has_no_price_is_named() -> None:
    big, small = 51_100 * GIGABYTE, 200 * GIGABYTE
    sums = [
        StoredSum(("a",), "STANDARD", 10, big, big, 0),
        StoredSum(("b",), "STANDARD", 1, small, small, 0),
        StoredSum(("b",), "DEEP_ARCHIVE", 2, GIGABYTE, 2 * GIGABYTE, 0),
        StoredSum(("b",), "unknown", 1, 5, 5, 0),
    ]
    first, second = cost_lines(sums, prices())
    standard = 51_200 * 0.02 + 100 * 0.01
    assert (first.group, first.objects, first.size, first.unpriced) == (("a",), 10, big, 0)
    assert first.cost == pytest.approx(standard * 51_100 / 51_300)
    assert (second.group, second.objects, second.unpriced) == (("b",), 4, 5)
    assert second.cost == pytest.approx(standard * 200 / 51_300 + 2 * 0.001)
    assert cost_lines([], prices()) == []
