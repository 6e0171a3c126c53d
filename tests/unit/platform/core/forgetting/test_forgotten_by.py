"""A table in which persons were forgotten keeps its subject."""

from __future__ import annotations

import pytest

from tidegate.platform.core.forgetting.forgotten_by import forgotten_by, forgotten_records, lost_subject

RECORD = forgotten_by("person", ["who", "after.who"])


@pytest.mark.parametrize(
    ("kind", "subject", "lost"),
    [
        ("person", ["After.Who", "WHO"], None),
        ("person", ["who", "after.who", "mail"], None),
        ("person", ["who"], "by after.who (kind 'person')"),
        ("client", ["who", "after.who"], "by after.who, who (kind 'person')"),
        (None, [], "by after.who, who (kind 'person')"),
    ],
)
def test_what_identified_forgotten_persons_still_does(kind: str | None, subject: list[str], lost: str | None) -> None:
    why = lost_subject({"delta.x": "1", **RECORD}, "orders", kind, subject)
    assert (why is None) if lost is None else (why is not None and f"forgotten in orders {lost}" in why)
    assert lost_subject({"delta.x": "1"}, "orders", kind, subject) is None


def test_only_the_records_are_kept_by_a_reset() -> None:
    assert forgotten_records({"tidegate.forgotten": "run", **RECORD}) == RECORD
