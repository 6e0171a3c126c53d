"""What is kept for ever is created, and never put over an object: the printed policies refuse that."""

from __future__ import annotations

from datetime import UTC, datetime

from tests.support.lakes.objects import Objects
from tidegate.platform.cloud.roles.shared_statements import CREATED
from tidegate.platform.cloud.statement import Statement
from tidegate.platform.core.bronze.batch import Batch
from tidegate.platform.core.forgetting.request import ForgetRequest
from tidegate.platform.lake.lake_root.store import LakeStore

NOW = datetime(2026, 1, 1, tzinfo=UTC)


class Watched(Objects):
    """S3 that notes which keys are created and which are put without a condition."""

    endpoint = "http://localhost"

    def __init__(self) -> None:
        super().__init__()
        self.put_over: list[str] = []
        self.created: list[str] = []

    def put(self, bucket: str, key: str, body: str | bytes) -> None:
        self.put_over.append(key)
        super().put(bucket, key, body)

    def put_if_absent(self, bucket: str, key: str, body: str) -> bool:
        self.created.append(key)
        return super().put_if_absent(bucket, key, body)

    def bucket_exists(self, bucket: str) -> bool:
        return True


def test_what_is_kept_for_ever_is_never_put_over_an_object() -> None:
    objects = Watched()
    store = LakeStore(objects, "s3://lake/root")  # type: ignore[arg-type]
    assert store.identity.lake
    store.operations.put("sql", "eva")
    store.forgotten.put(ForgetRequest("01", "eva", NOW, NOW, "person", "check", ("digest",)))
    batches = store.batches("landing.orders")
    batches.decide(Batch("lake", "landing.orders", "g", 1, "s3a://b/t", -1, ()).seal())
    batches.retire(1, "eva")

    for place in (f"root/{place}" for place in CREATED):
        kept = Statement("Kept", ("s3:PutObject",), (place,), "")
        assert [key for key in objects.put_over if kept.covers("s3:PutObject", key)] == []
        assert [key for key in objects.created if kept.covers("s3:PutObject", key)], f"nobody creates {place}"
