"""Which batches may have lost a file whose rows silver keeps."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tidegate.platform.silver.audit.audited_keys import lost_files


@pytest.mark.parametrize("adopts", [True, False])
def test_a_batch_that_adopted_a_table_may_have_lost_any_file(adopts: bool) -> None:
    batch = SimpleNamespace(adopt=object() if adopts else None, rows=())
    table = SimpleNamespace(
        birth=SimpleNamespace(registered=True),
        batches=SimpleNamespace(read=lambda n: batch),
        ledger=SimpleNamespace(history=lambda version, *keys: []),
    )
    work: Any = SimpleNamespace(
        spec=SimpleNamespace(on_removed="ignore"), table=table, ledger=SimpleNamespace(version=1)
    )
    assert lost_files(work)(1) is adopts
