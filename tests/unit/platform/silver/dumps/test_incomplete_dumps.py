"""A table of dumps whose ledger has nothing in quarantine costs no query."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tidegate.platform.silver.changes import Changes
from tidegate.platform.silver.dumps.incomplete_dumps import with_incomplete_dumps

WORK: Any = SimpleNamespace(mark=1, table=SimpleNamespace(ledger=SimpleNamespace(location="s3a://lake/ledger")))
RULES: Any = SimpleNamespace(are_dumps=True)
CHANGES = Changes("view", 2, None, 1, {})


class Delta:
    """Knows the statistics of a ledger. A query of a merge raises KeyError."""

    def __init__(self, *, may: bool) -> None:
        self._may = {"s3a://lake/ledger": may}

    def may_have_quarantined(self, ledgers: list[str]) -> list[bool]:
        return [self._may[ledger] for ledger in ledgers]

    @property
    def session(self) -> Any:
        raise KeyError("a query")


def _known(*, may: bool) -> Changes:
    lake: Any = SimpleNamespace(delta=Delta(may=may))
    with with_incomplete_dumps(lake.delta, WORK, RULES, CHANGES) as changes:
        return changes


def test_the_ledger_is_queried_only_if_it_may_have_something_in_quarantine() -> None:
    assert _known(may=False) is CHANGES
    with pytest.raises(KeyError, match="a query"):
        _known(may=True)
