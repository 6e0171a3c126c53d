"""The newest complete S3 Inventory, over HTTP, and what is wrong with one that cannot be used."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import pytest

from tests.support.lakes.inventory import Delivery, Line, deliver
from tests.support.servers.fault_proxy import FaultProxy
from tidegate.platform.core.inventory.manifest import InventoryError
from tidegate.platform.lake.aws.s3 import ObjectStore, StoreError
from tidegate.platform.lake.inventory.deliveries import newest_inventory
from tidegate.platform.local.aws import REGION
from tidegate.platform.local.provision import Clients

BUCKET, PREFIX = "inventories", "all/landing/daily/"
FOLDER = f"s3://{BUCKET}/{PREFIX}"
DAY = 86_400
REFUSED = b"<Error><Code>AccessDenied</Code><Message>no</Message></Error>"
LINES = [Line(f"orders/{number}", number, "e") for number in range(10)]


@dataclass
class Destination:
    """The destination bucket of inventories."""

    s3: Any
    objects: ObjectStore

    def deliver(self, day: int = 1, format: Literal["CSV", "ORC", "Parquet"] = "CSV") -> Delivery:
        found = deliver(LINES, prefix=PREFIX, source="landing", created=day * DAY, format=format)
        found.put(self.s3, BUCKET)
        return found

    def newest(self, log: Any = lambda _: None) -> Any:
        return newest_inventory(self.objects, FOLDER, "landing", log)

    def fails(self, says: str, *names: str) -> None:
        with pytest.raises(InventoryError, match=says) as error:
            self.newest()
        for name in names:
            assert name in str(error.value)
        assert "\n" not in str(error.value)


@pytest.fixture
def at(proxy: FaultProxy) -> Iterator[Destination]:
    s3: Any = Clients.connect(proxy.endpoint, REGION, key="test", secret="test").s3
    s3.create_bucket(Bucket=BUCKET)
    yield Destination(s3, ObjectStore(s3))
    proxy.clear()
    for item in s3.list_objects_v2(Bucket=BUCKET).get("Contents", []):
        s3.delete_object(Bucket=BUCKET, Key=item["Key"])


@pytest.mark.parametrize("format", ["CSV", "Parquet"])
def test_the_newest_delivery_that_is_complete_is_read(at: Destination, format: Literal["CSV", "Parquet"]) -> None:
    old = at.deliver(1, format)
    newer = at.deliver(2, format)
    at.s3.delete_object(Bucket=BUCKET, Key=newer.checksum)
    log: list[str] = []
    found = at.newest(log.append)
    assert (found.uri, found.created) == (f"s3://{BUCKET}/{old.manifest}", DAY)
    assert tuple(file.key for file in found.files) == old.data
    assert log == [f"the inventory s3://{BUCKET}/{newer.manifest} is not complete yet: looking at the one before"]
    at.s3.put_object(Bucket=BUCKET, Key=newer.checksum, Body=newer.objects[newer.checksum])
    assert at.newest().uri == f"s3://{BUCKET}/{newer.manifest}"


def test_a_file_whose_etag_is_not_an_md5_is_read_to_prove_it(at: Destination, proxy: FaultProxy) -> None:
    """As with encryption by KMS, or a multipart upload."""
    found = at.deliver()
    key = found.data[0]
    upload = at.s3.create_multipart_upload(Bucket=BUCKET, Key=key)["UploadId"]
    part = {"Bucket": BUCKET, "Key": key, "UploadId": upload, "PartNumber": 1}
    etag = at.s3.upload_part(**part, Body=found.objects[key])["ETag"]
    parts = {"Parts": [{"ETag": etag, "PartNumber": 1}]}
    at.s3.complete_multipart_upload(Bucket=BUCKET, Key=key, UploadId=upload, MultipartUpload=parts)
    read = [proxy.status("GET", f"/{BUCKET}/{key}$", 403, times=None, body=REFUSED) for key in found.data]
    at.fails("may not be read: allow s3:GetObject on it, and kms:Decrypt", key)
    assert [rule.count > 0 for rule in read] == [True, False], "the etag of the other one proves it"
    proxy.clear()
    assert at.newest().uri.endswith(found.manifest)


def test_an_inventory_that_cannot_be_used_says_which_object_and_what_to_do(at: Destination) -> None:
    at.fails("no complete inventory is below .*, only: nothing", FOLDER, "<source bucket>/<configuration>/")
    found = at.deliver()
    with pytest.raises(InventoryError, match="is an inventory of the bucket landing, and the table's files are in sea"):
        newest_inventory(at.objects, FOLDER, "sea")
    with pytest.raises(InventoryError, match="only: daily"):
        newest_inventory(at.objects, f"s3://{BUCKET}/all/landing/", "landing")
    with pytest.raises(InventoryError, match="there is no bucket inventory, which `inventory` names"):
        newest_inventory(at.objects, "s3://inventory/x/", "landing")
    key, body = found.data[0], found.objects[found.data[0]]
    for wrong in (body + b"x", b"x" * len(body)):
        at.s3.put_object(Bucket=BUCKET, Key=key, Body=wrong)
        at.fails("its size or MD5 differs", key, found.manifest)
    at.s3.delete_object(Bucket=BUCKET, Key=key)
    at.fails("is gone, which .* names: a lifecycle rule", key, found.manifest)
    at.s3.put_object(Bucket=BUCKET, Key=found.checksum, Body=b"0" * 32)
    at.fails("its MD5 differs from the one in manifest.checksum", found.manifest, "Delete s3://")


@pytest.mark.parametrize(
    ("method", "path", "says"),
    [
        ("GET", rf"/{BUCKET}/?(\?|$)", f"s3://{BUCKET} may not be listed: allow s3:ListBucket on it"),
        ("GET", "manifest.json$", "manifest.json may not be read: allow s3:GetObject on it"),
        ("HEAD", "csv.gz$", "csv.gz may not be read: allow s3:GetObject on it"),
    ],
)
def test_a_refusal_says_which_permission_is_missing_and_no_answer_is_not_a_refusal(
    at: Destination, proxy: FaultProxy, method: str, path: str, says: str
) -> None:
    at.deliver()
    proxy.status(method, path, 403, times=None, body=REFUSED)
    at.fails(says.replace("?", r"\?"))
    proxy.clear()
    proxy.status(method, path, 501, times=None)
    with pytest.raises(StoreError):
        at.newest()
