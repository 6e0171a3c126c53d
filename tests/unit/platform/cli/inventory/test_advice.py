"""What `tidegate inventory advice` says where the price lists lack a price."""

from __future__ import annotations

import io

from rich.console import Console

from tidegate.platform.cli.answers.inventory import AdviceAnswer
from tidegate.platform.cli.inventory.advice import print_advice


def printed(*without_price: str) -> str:
    console = Console(file=io.StringIO(), width=300)
    answer = AdviceAnswer(
        currency="USD",
        prices_from="2026-11-01",
        months=12,
        transitions=(),
        more=0,
        net_saving=0.0,
        without_price=without_price,
    )
    print_advice(console, answer)
    return console.file.getvalue()  # type: ignore[attr-defined,no-any-return]


def test_that_nothing_saves_is_claimed_only_if_no_price_was_missing() -> None:
    assert printed() == "no transition saves more than it costs within 12 months\n"
    assert printed("GLACIER_IR") == ("WARNING: the price lists lack a price of GLACIER_IR: there is no advice for it\n")
    assert "list of AmazonS3GlacierDeepArchive" in printed("DEEP_ARCHIVE", "GLACIER")
    assert "no transition" not in printed("DEEP_ARCHIVE")
