"""AWS's price list of S3: which of its rows are prices of what."""

from __future__ import annotations

import re

import pytest

from tidegate.platform.core.storage.price_list import read_price_lists
from tidegate.platform.core.storage.prices import FREQUENT, GIGABYTE, StoragePrices

_HEADER = (
    '"SKU","TermType","EffectiveDate","StartingRange","EndingRange","Unit","PricePerUnit","Currency","usageType",'
    '"operation","Region Code"\n'
)
#: The form of AWS's file. The prices are made.
LIST = (
    """"FormatVersion","v1.0"
"Disclaimer","made for a test"
"Publication Date","2026-11-01T00:00:00Z"
"Version","20261101000000"
"OfferCode","AmazonS3"
"""
    + _HEADER
    + """"A","OnDemand","2026-10-01","0","51200","GB-Mo","0.0200000000","USD","EUC1-TimedStorage-ByteHrs","","eu"
"A","OnDemand","2026-10-01","51200","Inf","GB-Mo","0.0100000000","USD","EUC1-TimedStorage-ByteHrs","","eu"
"B","OnDemand","2026-11-01","0","Inf","GB-Mo","0.0050000000","USD","EUC1-TimedStorage-SIA-ByteHrs","","eu"
"F","OnDemand","2026-11-01","0","Inf","GB-Mo","0.0300000000","USD","EUC1-TimedStorage-INT-FA-ByteHrs","","eu"
"D","OnDemand","2026-11-01","0","Inf","Requests","9","USD","EUC1-TimedStorage-ByteHrs","","eu"
"E","OnDemand","2026-11-01","0","Inf","GB-Mo","9","USD","EUC1-TimedStorage-SIA-SmObjects","","eu"
"G","OnDemand","2026-11-01","0","Inf","GB-Mo","9","USD","EUC1-Tables-TimedStorage-ByteHrs","","eu"
"H","OnDemand","2026-11-01","0","Inf","GB-Mo","9","USD","EUC1-TimedStorage-ByteHrs","INTAAS3ObjectOverhead","eu"
"I","OnDemand","2026-11-01","0","Inf","GB-Mo","9","USD","EUC1-TimedStorage-GDA-Staging","","eu"
"R","Reserved","2026-11-01","0","Inf","GB-Mo","9","USD","EUC1-TimedStorage-ZIA-ByteHrs","","eu"
"J","OnDemand","2026-11-01","0","Inf","Requests","0.00001","USD","EUC1-Requests-Tier4","S3-SIATransition","eu"
"K","OnDemand","2026-11-01","0","Inf","Requests","0.00002","USD","EUC1-Requests-Tier4","S3-GIRTransition","eu"
"L","OnDemand","2026-11-01","0","Inf","Requests","0.00003","USD","EUC1-Requests-Tier3","S3-GlacierTransition","eu"
"M","OnDemand","2026-11-01","0","Inf","Requests","0.00005","USD","EUC1-Requests-Tier3","RestoreObject","eu"
"N","OnDemand","2026-11-01","0","Inf","Objects","0.0000025","USD","EUC1-Monitoring-Automation-INT","","eu"
"O","OnDemand","2026-11-01","0","Inf","GB","0.03","USD","EUC1-Retrieval-GIR","","eu"
"P","OnDemand","2026-11-01","0","Inf","Requests","0.000005","USD","EUC1-Requests-Tier1","","eu"
"Q","OnDemand","2026-11-01","0","Inf","Requests","0.00001","USD","EUC1-Requests-GIR-Tier2","","eu"
"""
)
DEEP = _HEADER + '"C","OnDemand","2026-11-02","0","Inf","GB-Mo","0.001","USD","EUC1-TimedStorage-GDA-ByteHrs","","eu"\n'


def prices(*texts: str) -> StoragePrices:
    return read_price_lists({f"{number}.csv": text.splitlines() for number, text in enumerate(texts)})


def test_the_list_gives_the_tiers_of_each_class_and_nothing_that_only_has_a_similar_name() -> None:
    found = prices(LIST)
    assert (found.currency, found.effective) == ("USD", "2026-11-01")
    assert found.tiers == {
        "STANDARD": ((0.0, 0.02), (51200.0, 0.01)),
        "STANDARD_IA": ((0.0, 0.005),),
        FREQUENT: ((0.0, 0.03),),
    }
    assert found.monthly("STANDARD", 100 * GIGABYTE) == pytest.approx(2.0)
    assert found.monthly("STANDARD", 51300 * GIGABYTE) == pytest.approx(51200 * 0.02 + 100 * 0.01)
    assert found.monthly("EXPRESS_ONEZONE", GIGABYTE) is None


def test_the_list_gives_what_transitions_retrievals_requests_and_monitoring_cost() -> None:
    found = prices(LIST)
    assert found.transitions == {"STANDARD_IA": 0.00001, "GLACIER_IR": 0.00002, "GLACIER": 0.00003}
    assert found.retrievals == {"GLACIER_IR": 0.03}
    assert (found.writes, found.reads) == ({"STANDARD": 0.000005}, {"GLACIER_IR": 0.00001})
    assert found.monitoring == 0.0000025


def test_transitions_without_an_operation_have_the_price_of_the_classes_with_milliseconds() -> None:
    found = prices(LIST.replace('"S3-SIATransition"', '""'))
    assert found.transitions["ONEZONE_IA"] == found.transitions["INTELLIGENT_TIERING"] == 0.00001
    assert found.transitions["GLACIER_IR"] == 0.00002


def test_deep_archive_is_in_a_list_of_its_own() -> None:
    found = prices(LIST, DEEP)
    assert found.tiers["DEEP_ARCHIVE"] == ((0.0, 0.001),)
    assert found.effective == "2026-11-02"


def test_a_class_with_two_prices_has_none() -> None:
    other = LIST.replace("EUC1-TimedStorage-SIA-SmObjects", "EUC1-TimedStorage-SIA-ByteHrs")
    assert "STANDARD_IA" not in prices(other).tiers


@pytest.mark.parametrize(
    ("texts", "says"),
    [
        (("a,b\n1,2\n",), "0.csv is not a price list of AWS: it has no column SKU. Download https://"),
        ((LIST.replace('"usageType"', '"x"'),), "0.csv is not a price list of AWS: it has no column usageType"),
        ((DEEP,), "0.csv has no prices of the class STANDARD: is it the list of AmazonS3? Download https://"),
        ((LIST, DEEP.replace("USD", "CNY")), "0.csv and 1.csv has prices in CNY and USD: give lists of one currency"),
        (
            (LIST, DEEP.replace('"eu"', '"us"')),
            "0.csv and 1.csv has prices of several regions (eu and us)",
        ),
        ((LIST.replace("0.0050000000", "x"),), "0.csv: line 9 has no price that can be read: could not convert"),
    ],
)
def test_another_file_is_refused(texts: tuple[str, ...], says: str) -> None:
    with pytest.raises(ValueError, match=re.escape(says)):
        prices(*texts)
