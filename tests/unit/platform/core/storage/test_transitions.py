"""The transitions of lifecycle rules are those that AWS documents, each of them allowed or refused."""

from __future__ import annotations

from itertools import product

from tidegate.platform.core.storage.transitions import TARGETS, TRANSITIONS

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


def pairs(text: str) -> set[tuple[str, str]]:
    """Returns from and to of each transition that a list names. A class does not lead to itself."""
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
