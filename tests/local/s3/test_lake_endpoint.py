"""A lake proves its endpoint's conditional put before it relies on it, and again on another endpoint."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from tidegate.platform.lake.aws.s3 import ObjectStore, StoreError
from tidegate.platform.lake.lake_root.store import LakeStore
from tidegate.platform.local.aws import REGION, LocalAws
from tidegate.platform.local.provision import Clients


class Endpoint:
    """A local AWS, the name of a bucket on it, and the number of its conditional puts."""

    def __init__(self, aws: LocalAws, bucket: str) -> None:
        self.bucket = bucket
        self.s3 = Clients.connect(aws.endpoint, REGION, key="test", secret="test").s3
        self.conditional = 0
        self.obeys = True
        self.s3.meta.events.register("before-call.s3.PutObject", self._called)

    def _called(self, params: dict[str, Any], **_: Any) -> None:
        self.conditional += "If-None-Match" in params["headers"]
        if not self.obeys:
            params["headers"].pop("If-None-Match", None)

    def lake(self) -> LakeStore:
        return LakeStore(ObjectStore(self.s3), f"s3://{self.bucket}/root")


@pytest.fixture(scope="module")
def other_aws(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalAws]:
    with LocalAws(tmp_path_factory.mktemp("aws"), 0) as running:
        yield running


@pytest.fixture
def endpoints(local_aws: LocalAws, other_aws: LocalAws) -> list[Endpoint]:
    bucket = f"lake-{uuid.uuid4().hex[:8]}"
    return [Endpoint(aws, bucket) for aws in (local_aws, other_aws)]


def test_a_lake_is_proven_once_on_every_endpoint(endpoints: list[Endpoint]) -> None:
    here, there = endpoints
    for endpoint in endpoints:
        endpoint.s3.create_bucket(Bucket=endpoint.bucket)
    lake = here.lake().identity.lake
    proof = here.conditional
    assert proof >= 8
    assert here.lake().identity.lake == lake
    assert here.conditional == proof

    # Copied to another endpoint with all its content.
    for item in here.s3.list_objects_v2(Bucket=here.bucket)["Contents"]:
        body = here.s3.get_object(Bucket=here.bucket, Key=item["Key"])["Body"].read()
        there.s3.put_object(Bucket=here.bucket, Key=item["Key"], Body=body)
    assert there.lake().identity.lake == lake
    assert there.conditional >= 8
    keys = sorted(item["Key"] for item in there.s3.list_objects_v2(Bucket=here.bucket)["Contents"])
    assert [key.split("/")[1] for key in keys] == ["lake.json", "proven", "proven"]


def test_an_endpoint_that_ignores_the_condition_holds_no_lake(endpoints: list[Endpoint]) -> None:
    endpoint = endpoints[0]
    endpoint.s3.create_bucket(Bucket=endpoint.bucket)
    endpoint.obeys = False
    with pytest.raises(StoreError, match=r"8 of 8 racing conditional puts .* this S3 endpoint cannot hold a lake"):
        _ = endpoint.lake().identity.lake
    assert "Contents" not in endpoint.s3.list_objects_v2(Bucket=endpoint.bucket)


def test_a_lake_without_a_bucket_says_so(endpoints: list[Endpoint]) -> None:
    endpoint = endpoints[0]
    with pytest.raises(StoreError, match=rf"s3://{endpoint.bucket} does not exist: create it, or correct lake.root"):
        _ = endpoint.lake().identity.lake
