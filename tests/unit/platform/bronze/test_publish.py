"""The copies of an output's batch can be repeated, and a late one brings nothing back."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tidegate.platform.bronze.publish import clear_staged, publish
from tidegate.platform.core.bronze.batch import OutputObject
from tidegate.platform.core.bronze.object_state import S3Found, S3Gone
from tidegate.platform.core.keys.s3_address import S3Address
from tidegate.platform.lake.aws.s3 import ObjectGone, StoreError
from tidegate.platform.lake.lake_root.batches import GenerationRetired


class _Bucket:
    """S3 with staged objects and an output. Records the copies."""

    def __init__(self, batch: Any) -> None:
        self.sizes = {item.staged: item.size for item in batch.objects}
        self.copied: list[str] = []

    def head(self, bucket: str, key: str) -> Any:
        return S3Found("etag", self.sizes[key], 0) if key in self.sizes else S3Gone()

    def publish(self, source: S3Address, target: S3Address) -> None:
        if source.key not in self.sizes:
            raise ObjectGone(f"{source} is not there")
        self.copied.append(target.key)
        self.sizes[target.key] = self.sizes[source.key]

    def list_under(self, bucket: str, prefix: str) -> list[Any]:
        return [SimpleNamespace(key=key) for key in self.sizes if key.startswith(prefix)]

    def delete(self, bucket: str, keys: list[str]) -> None:
        for key in keys:
            self.sizes.pop(key, None)


_FOLDER = "root/outputs/t/g/"
_BATCH: Any = SimpleNamespace(
    n=3,
    table="t",
    location="s3a://lake/root/outputs/t",
    generation="g",
    objects=tuple(OutputObject(f"{_FOLDER}3-A/{i}", "out", f"o/{i}", 10 + i, 1) for i in range(4)),
)


def _uri(*parts: str) -> str:
    return "/".join(["s3a://lake/root", *parts])


def _table(bucket: _Bucket, *, recorded: int = 2, retired: bool = False) -> Any:
    def require_current(n: int) -> int:
        if retired:
            raise GenerationRetired("a reset ended it")
        return n

    return SimpleNamespace(
        table_key="landing.t",
        lake=SimpleNamespace(store=SimpleNamespace(objects=bucket, bucket="lake", uri=_uri)),
        ledger=SimpleNamespace(clock=lambda: SimpleNamespace(n=recorded)),
        batches=SimpleNamespace(require_current=require_current),
    )


def test_each_object_is_copied_and_a_run_that_found_the_batch_copies_the_rest() -> None:
    bucket = _Bucket(_BATCH)
    publish(_table(bucket), _BATCH, found=False)
    assert sorted(bucket.copied) == ["o/0", "o/1", "o/2", "o/3"]
    bucket.delete("out", ["o/1"])
    bucket.sizes["o/2"] = 1  # An object that is not the batch's is not a copy of it.
    bucket.copied.clear()
    publish(_table(bucket), _BATCH, found=True)
    assert sorted(bucket.copied) == ["o/1", "o/2"]


def test_a_copy_without_its_staged_object_is_done() -> None:
    bucket = _Bucket(_BATCH)
    publish(_table(bucket), _BATCH, found=False)
    clear_staged(_table(bucket).lake.store, _BATCH)
    assert sorted(bucket.sizes) == ["o/0", "o/1", "o/2", "o/3"]
    publish(_table(bucket), _BATCH, found=False)
    assert len(bucket.copied) == 4


@pytest.mark.parametrize("found", [True, False])
def test_what_a_reader_has_removed_does_not_come_back(found: bool) -> None:
    bucket = _Bucket(_BATCH)
    clear_staged(_table(bucket).lake.store, _BATCH)
    publish(_table(bucket, recorded=3), _BATCH, found=found)
    assert bucket.sizes == {}


@pytest.mark.parametrize("objects", [_BATCH.objects, ()])
def test_what_runs_staged_that_died_ends_with_their_batch_and_nothing_of_a_later_one(objects: Any) -> None:
    """Also if the batch has no objects, because the files of the dead run are gone or were quarantined since."""
    bucket = _Bucket(_BATCH)
    others = [f"{_FOLDER}4-NEXT/0", f"{_FOLDER}30-LATER/0", f"{_FOLDER}note.txt", "root/outputs/t/h/1-A/0"]
    for key in (f"{_FOLDER}2-DEAD/0", f"{_FOLDER}3-LOST/0", *others):
        bucket.sizes[key] = 1
    clear_staged(_table(bucket).lake.store, SimpleNamespace(**{**vars(_BATCH), "objects": objects}))  # type: ignore[arg-type]
    assert sorted(bucket.sizes) == sorted(others)


def test_of_a_table_that_is_not_an_output_nothing_is_deleted() -> None:
    bucket = _Bucket(_BATCH)
    clear_staged(_table(bucket).lake.store, SimpleNamespace(**{**vars(_BATCH), "location": _uri("bronze", "t")}))  # type: ignore[arg-type]
    assert len(bucket.sizes) == len(_BATCH.objects)


def test_an_ended_generation_copies_nothing_and_a_lost_object_is_an_error() -> None:
    bucket = _Bucket(_BATCH)
    clear_staged(_table(bucket).lake.store, _BATCH)
    with pytest.raises(GenerationRetired):
        publish(_table(bucket, retired=True), _BATCH, found=True)
    with pytest.raises(StoreError, match=r"s3://out/o/0 of batch 3 of landing\.t is not there.*Restore one of them"):
        publish(_table(bucket), _BATCH, found=True)
