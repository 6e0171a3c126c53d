"""The page of what went wrong in other products has the cases of the tests."""

from __future__ import annotations

from tests.support.peers.page import page
from tests.support.tracked import ROOT


def test_the_page_of_peers_is_written_from_the_cases() -> None:
    written = (ROOT / "tests" / "spark" / "files" / "peers.md").read_text(encoding="utf-8")
    assert written == page(), "run: python -m tests.support.peers.page > tests/spark/files/peers.md"
