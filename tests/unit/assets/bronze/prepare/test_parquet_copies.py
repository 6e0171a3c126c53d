"""A file whose copy would have a key that S3 refuses is quarantined, and no copy is made."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tidegate.assets.bronze.prepare import parquet_copies
from tidegate.assets.bronze.prepare.parquet_copies import copied
from tidegate.assets.bronze.prepare.prepared import PreparedBatch
from tidegate.platform.core.bronze.hint import Hint
from tidegate.platform.core.bronze.object_state import S3Found
from tidegate.platform.core.bronze.plan import Candidate, Plan, TakenHint
from tidegate.platform.core.keys.own_paths import copy_key
from tidegate.platform.core.keys.s3_address import S3Address
from tidegate.resources.aws.s3 import ObjectRefused
from tidegate.resources.parquet.copies import ParquetCopy


def candidate(key: str) -> Candidate:
    return Candidate(key, S3Found("e" * 32, 9, 0), TakenHint(Hint(key), "m"))


def test_a_copy_with_too_long_a_key_is_the_file_s_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    long, refused, good = candidate("t/" + "k" * 1000), candidate("t/refused"), candidate("t/good")
    asked: list[str] = []

    def copy(_: Any, source: Any, target: S3Address, __: Any) -> ParquetCopy:
        asked.append(source.address.key)
        if source.address.key == refused.key:
            raise ObjectRefused(f"{target} cannot be written: 400")
        return ParquetCopy(1, 1, footer)

    monkeypatch.setattr(parquet_copies, "copy_parquet", copy)
    footer: Any = SimpleNamespace(copied="nanoseconds", renames={})
    source = SimpleNamespace(version=lambda key, etag: SimpleNamespace(address=S3Address("b", key)))
    table: Any = SimpleNamespace(source=SimpleNamespace(version=source.version, objects=None))
    prepared = PreparedBatch(Plan([long, refused, good]))
    ready = copied(
        table,
        [(one, footer) for one in (long, refused, good)],
        lambda one: S3Address("b", copy_key(one.key, one.found.etag, "t/")),
        prepared,
    )
    assert [one.key for one, *_ in ready] == [good.key]
    assert asked == [refused.key, good.key]
    assert [(row.key, row.status) for row in prepared.rows] == [(long.key, "quarantined"), (refused.key, "quarantined")]
    assert "would have a key of 1,060 bytes, and S3 takes 1,024" in (prepared.rows[0].reason or "")
    assert prepared.deferred == []
