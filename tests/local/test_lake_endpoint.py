"""A lake proves its endpoint's conditional put before anything rests on it, and again on another endpoint."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tidegate.platform.local.aws import REGION, LocalAws
from tidegate.platform.local.provision import Clients
from tidegate.resources.lake_store import LakeStore
from tidegate.resources.object_store import ObjectStore, StoreError

pytestmark = pytest.mark.unit


class Endpoint:
    """A local AWS, and how many conditional puts came to it."""

    def __init__(self, aws: LocalAws) -> None:
        self.s3 = Clients.connect(aws.endpoint, REGION, key="test", secret="test").s3
        self.conditional = 0
        self.obeys = True
        self.s3.meta.events.register("before-call.s3.PutObject", self._called)

    def _called(self, params: dict[str, Any], **_: Any) -> None:
        self.conditional += "If-None-Match" in params["headers"]
        if not self.obeys:
            params["headers"].pop("If-None-Match", None)

    def lake(self) -> LakeStore:
        return LakeStore(ObjectStore(self.s3), "s3://lake/root")


@pytest.fixture
def endpoints(tmp_path: Path) -> Iterator[list[Endpoint]]:
    with ExitStack() as closing:
        yield [Endpoint(closing.enter_context(LocalAws(tmp_path / name, 0))) for name in ("one", "two")]


def test_a_lake_is_proven_once_on_every_endpoint(endpoints: list[Endpoint]) -> None:
    here, there = endpoints
    for endpoint in endpoints:
        endpoint.s3.create_bucket(Bucket="lake")
    lake = here.lake().lake
    proof = here.conditional
    assert proof >= 8
    assert here.lake().lake == lake
    assert here.conditional == proof

    # Copied to another endpoint, with everything that it holds.
    for item in here.s3.list_objects_v2(Bucket="lake")["Contents"]:
        body = here.s3.get_object(Bucket="lake", Key=item["Key"])["Body"].read()
        there.s3.put_object(Bucket="lake", Key=item["Key"], Body=body)
    assert there.lake().lake == lake
    assert there.conditional >= 8
    keys = sorted(item["Key"] for item in there.s3.list_objects_v2(Bucket="lake")["Contents"])
    assert [key.split("/")[1] for key in keys] == ["lake.json", "proven", "proven"]


def test_an_endpoint_that_ignores_the_condition_holds_no_lake(endpoints: list[Endpoint]) -> None:
    endpoint = endpoints[0]
    endpoint.s3.create_bucket(Bucket="lake")
    endpoint.obeys = False
    with pytest.raises(StoreError, match=r"8 of 8 racing conditional puts .* this S3 endpoint cannot hold a lake"):
        _ = endpoint.lake().lake
    assert "Contents" not in endpoint.s3.list_objects_v2(Bucket="lake")


def test_a_lake_without_a_bucket_says_so(endpoints: list[Endpoint]) -> None:
    with pytest.raises(StoreError, match=r"s3://lake does not exist: create it, or correct lake.root"):
        _ = endpoints[0].lake().lake
