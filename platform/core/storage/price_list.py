"""AWS's price list of S3: its CSV files for one region, and the usage types in them.

The usage types are those of AWS's page "Understanding your AWS billing and usage reports for Amazon S3".
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from tidegate.platform.core.errors import BadSetting
from tidegate.platform.core.storage.prices import FREQUENT, INFREQUENT, INSTANT, TIERING, StoragePrices

#: In all regions but one a usage type has a prefix, such as `EUC1-`. Storage that is not of objects has a word more in
#: its types, such as `USW2-Tables-TimedStorage-ByteHrs`.
_REGION = re.compile(r"(?:[A-Z]{2,4}\d*-)?(?P<type>.+)", re.ASCII)
_STORAGE = {
    "TimedStorage-ByteHrs": "STANDARD",
    "TimedStorage-SIA-ByteHrs": "STANDARD_IA",
    "TimedStorage-ZIA-ByteHrs": "ONEZONE_IA",
    "TimedStorage-GIR-ByteHrs": "GLACIER_IR",
    "TimedStorage-GlacierByteHrs": "GLACIER",
    # In the list of the service AmazonS3GlacierDeepArchive. That of AmazonS3 has only its staging storage.
    "TimedStorage-GDA-ByteHrs": "DEEP_ARCHIVE",
    "TimedStorage-RRS-ByteHrs": "REDUCED_REDUNDANCY",
    "TimedStorage-XZ-ByteHrs": "EXPRESS_ONEZONE",
    "TimedStorage-INT-FA-ByteHrs": FREQUENT,
    "TimedStorage-INT-IA-ByteHrs": INFREQUENT,
    "TimedStorage-INT-AIA-ByteHrs": INSTANT,
    "TimedStorage-INT-AA-ByteHrs": f"{TIERING} ARCHIVE",
    "TimedStorage-INT-DAA-ByteHrs": f"{TIERING} DEEP_ARCHIVE",
}
#: Operations of the usage types `Requests-Tier3` and `Requests-Tier4`.
_TRANSITIONS = {
    "S3-SIATransition": "STANDARD_IA",
    "S3-ZIATransition": "ONEZONE_IA",
    "S3-GIRTransition": "GLACIER_IR",
    "S3-INTTransition": TIERING,
    "S3-GlacierTransition": "GLACIER",
    "S3-GDATransition": "DEEP_ARCHIVE",
}
#: The classes whose transitions have the usage type without an operation, where a list has one.
_TIER_4 = ("STANDARD_IA", "ONEZONE_IA", TIERING)
_WRITES = {
    "Requests-Tier1": "STANDARD",
    "Requests-SIA-Tier1": "STANDARD_IA",
    "Requests-ZIA-Tier1": "ONEZONE_IA",
    "Requests-GIR-Tier1": "GLACIER_IR",
    "Requests-INT-Tier1": TIERING,
}
_READS = {name.replace("Tier1", "Tier2"): kind for name, kind in _WRITES.items()}
_RETRIEVALS = {"Retrieval-SIA": "STANDARD_IA", "Retrieval-ZIA": "ONEZONE_IA", "Retrieval-GIR": "GLACIER_IR"}
_MONITORING = "Monitoring-Automation-INT"
#: The service of S3, and with what the names of its others begin.
_SERVICE = "AmazonS3"
_NEEDED = ("usageType", "StartingRange", "PricePerUnit", "Unit", "Currency", "EffectiveDate", "TermType")
_URL = "https://pricing.us-east-1.amazonaws.com/offers/v1.0/aws/AmazonS3/current/<region>/index.csv"


@dataclass
class _Found:
    """Prices by what they are of, by the gigabytes from which on they are valid, and by operation."""

    prices: dict[tuple[str, str], dict[float, dict[str, set[float]]]] = field(default_factory=dict)
    currencies: set[str] = field(default_factory=set)
    dates: set[str] = field(default_factory=set)
    regions: set[str] = field(default_factory=set)

    def add(self, what: tuple[str, str], row: Mapping[str, str]) -> None:
        operations = self.prices.setdefault(what, {}).setdefault(float(row["StartingRange"] or 0), {})
        operations.setdefault(row.get("operation", ""), set()).add(float(row["PricePerUnit"]))
        self.currencies.add(row["Currency"])
        self.dates.add(row["EffectiveDate"])

    def find_tiers(self, kind: str, name: str) -> tuple[tuple[float, float], ...] | None:
        """Return the prices. None if there is none, or if the list does not say which of two is valid."""
        tiers = []
        for start, operations in sorted(self.prices.get((kind, name), {}).items()):
            # Operations that have a price of their own in a usage type are exceptions from it.
            found = operations.get("") or set().union(*operations.values())
            if len(found) != 1:
                return None
            tiers.append((start, next(iter(found))))
        return tuple(tiers) or None

    def flat(self, kind: str, names: Iterable[str]) -> dict[str, float]:
        """Return the first price of each name that has one."""
        return {name: tiers[0][1] for name in names if (tiers := self.find_tiers(kind, name))}


def read_price_lists(files: Mapping[str, Iterable[str]]) -> StoragePrices:
    """Read CSV files of AWS's price lists of one region: lines about the file, a header, and prices.

    Args:
        files: lines by the name of the file, for error messages.

    Raises:
        BadSetting: one is not such a file. The message names it and says what to do.
    """
    found = _Found()
    for where, lines in files.items():
        try:
            _read(lines, where, found)
        except (UnicodeDecodeError, csv.Error) as error:
            raise BadSetting(
                f"{where} is not a CSV file in UTF-8 ({error}): if it is packed, unpack it with gunzip; if a program "
                f"has saved it in UTF-16, download {_URL} again"
            ) from None
    where = " and ".join(files)
    tiers = {name: tiers for name in _STORAGE.values() if (tiers := found.find_tiers("storage", name))}
    if "STANDARD" not in tiers:
        raise BadSetting(f"{where} has no prices of the class STANDARD: is it the list of AmazonS3? Download {_URL}")
    if len(found.currencies) != 1:
        raise BadSetting(f"{where} has prices in {' and '.join(sorted(found.currencies))}: give lists of one currency")
    if len(found.regions) > 1:
        some = " and ".join(sorted(found.regions)[:3])
        raise BadSetting(f"{where} has prices of several regions ({some}): give lists of one region")
    return StoragePrices(
        currency=found.currencies.pop(),
        effective=max(found.dates),
        tiers=tiers,
        transitions=found.flat("transition", _TRANSITIONS.values()),
        retrievals=found.flat("retrieval", _RETRIEVALS.values()),
        writes=found.flat("write", _WRITES.values()),
        reads=found.flat("read", _READS.values()),
        monitoring=found.flat("monitoring", [_MONITORING]).get(_MONITORING),
    )


def _read(lines: Iterable[str], where: str, found: _Found) -> None:
    rows = csv.reader(lines)
    header = next((row for row in rows if "SKU" in row), None)
    missing = [name for name in _NEEDED if name not in (header or ())]
    if header is None or missing:
        raise BadSetting(
            f"{where} is not a price list of AWS: it has no column {missing[0] if header else 'SKU'}. Download {_URL}"
        )
    for number, values in enumerate(rows, rows.line_num + 1):
        row = dict(zip(header, values, strict=False))
        if row.get("TermType") != "OnDemand":
            continue
        try:
            for what in _price_keys(row):
                found.add(what, row)
                found.regions.add(row.get("Region Code", ""))
        except (KeyError, ValueError) as error:
            raise BadSetting(f"{where}: line {number} has no price that can be read: {error}") from None


def _price_keys(row: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return what a price is of: its kind, and a class."""
    if not row.get("serviceCode", _SERVICE).startswith(_SERVICE):
        return []  # Other services have usage types of the same names.
    matched = _REGION.fullmatch(row["usageType"])
    usage, operation, unit = matched["type"] if matched else "", row.get("operation", ""), row["Unit"]
    if unit == "GB-Mo" and usage in _STORAGE and "Overhead" not in operation:
        return [("storage", _STORAGE[usage])]
    if usage in ("Requests-Tier3", "Requests-Tier4"):
        if operation in _TRANSITIONS:
            return [("transition", _TRANSITIONS[operation])]
        return [("transition", name) for name in _TIER_4] if usage.endswith("4") and not operation else []
    if usage == _MONITORING:
        return [("monitoring", usage)]
    for kind, names in (("write", _WRITES), ("read", _READS), ("retrieval", _RETRIEVALS)):
        if usage in names:
            return [(kind, names[usage])]
    return []
