"""The meaning of S3's refusals for one object: changed, forbidden for good, or no answer now."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from tests.support.servers.fault_proxy import FaultProxy
from tidegate.platform.core.bronze.object_state import Probe, S3Forbidden, S3Found, S3Gone, S3Unavailable
from tidegate.platform.core.keys.s3_address import S3Address, S3Object
from tidegate.platform.lake.aws.s3 import (
    ObjectArchived,
    ObjectChanged,
    ObjectForbidden,
    ObjectRefused,
    ObjectStore,
    StoreError,
)
from tidegate.platform.lake.capacity import TooLarge
from tidegate.platform.local.aws import REGION
from tidegate.platform.local.provision import Clients


@pytest.fixture
def objects(proxy: FaultProxy) -> Iterator[ObjectStore]:
    s3 = Clients.connect(proxy.endpoint, REGION, key="test", secret="test").s3
    for bucket in ("source", "lake"):
        s3.create_bucket(Bucket=bucket)
    s3.put_object(Bucket="source", Key="x", Body=b"content")
    yield ObjectStore(s3)
    proxy.clear()


COPY = S3Address("lake", "copy")


def seen(objects: ObjectStore) -> S3Object:
    return S3Object(S3Address("source", "x"), next(objects.list_under("source", "x")).etag)


def refusal(code: str) -> bytes:
    return f"<Error><Code>{code}</Code><Message>no</Message></Error>".encode()


def test_an_object_is_copied_if_it_is_the_one_that_was_seen(objects: ObjectStore) -> None:
    objects.copy(seen(objects), COPY)
    assert objects.get("lake", "copy") == b"content"
    assert objects.get("lake", "copy", 7) == b"content"
    with pytest.raises(TooLarge):
        objects.get("lake", "copy", 6)
    assert objects.get("lake", "no such object", 6) is None
    with pytest.raises(ObjectChanged, match="s3://source/x changed"):
        objects.copy(S3Object(S3Address("source", "x"), "0" * 32), COPY)
    with pytest.raises(ObjectChanged, match="s3://source/gone changed"):
        objects.copy(S3Object(S3Address("source", "gone"), "0" * 32), COPY)


@pytest.mark.parametrize(
    ("status", "code", "error"),
    [
        (400, "InvalidRequest", ObjectRefused),  # above 5 GB
        (403, "AccessDenied", ObjectForbidden),
        (403, "InvalidObjectState", ObjectArchived),  # archived
        (403, "ExpiredToken", StoreError),
        (501, "NotImplemented", StoreError),
    ],
)
def test_what_a_refusal_says_of_the_object(
    status: int, code: str, error: type[StoreError], objects: ObjectStore, proxy: FaultProxy
) -> None:
    version = seen(objects)
    proxy.status("PUT", "/lake/copy$", status, None, body=refusal(code))
    with pytest.raises(StoreError, match=f"s3://source/x: .*{code}") as copied:
        objects.copy(version, COPY)
    assert copied.type is error
    if status != 400:
        proxy.status("GET", "/source/x$", status, None, body=refusal(code))
        with pytest.raises(StoreError, match=f"s3://source/x: .*{code}") as read:
            objects.tail(version, 4)
        assert read.type is error


@pytest.mark.parametrize(
    ("status", "code", "says"),
    [
        (None, "", S3Found),
        (404, "NoSuchKey", S3Gone),
        (403, "AccessDenied", S3Forbidden),
        (400, "InvalidRequest", S3Forbidden),  # encrypted with a key of its producer (SSE-C)
        (400, "ExpiredToken", S3Unavailable),
        (400, "AuthorizationHeaderMalformed", S3Unavailable),
        (400, "KMS.DisabledException", S3Forbidden),
        (301, "PermanentRedirect", S3Unavailable),
        (503, "SlowDown", S3Unavailable),
    ],
)
def test_what_a_probe_says(
    status: int | None, code: str, says: type[Probe], objects: ObjectStore, proxy: FaultProxy
) -> None:
    """An object that may not be read is not gone: a registered table would lose its rows.

    An object that S3 refuses for ever is not requested in every window, if the reason is in the object itself.
    """
    if status:
        proxy.status("HEAD|GET", "/source/x$", status, None, body=refusal(code))
    assert isinstance(objects.head("source", "x"), says)  # type: ignore[arg-type]
    probe, tail = objects.head_with_tail("source", "x", 4)
    assert isinstance(probe, says)  # type: ignore[arg-type]
    assert tail == (b"" if status else b"tent")


def test_one_request_says_what_head_says_and_brings_the_tail(objects: ObjectStore, proxy: FaultProxy) -> None:
    seen = objects.head("source", "x")
    count = proxy.count(".*", "/source/x")
    assert isinstance(seen, S3Found)
    seen = replace(seen, checksum=None)  # S3 has no checksum for a part of an object
    assert objects.head_with_tail("source", "x", 4) == (seen, b"tent")
    assert objects.head_with_tail("source", "x", 100) == (seen, b"content")
    assert count.count == 2
    objects.put("source", "empty", b"")
    probe, tail = objects.head_with_tail("source", "empty", 4)
    present = objects.head("source", "empty")
    assert isinstance(present, S3Found)
    assert (probe, tail) in [(present, b""), (replace(present, checksum=None), b"")]
    assert objects.head_with_tail("source", "gone", 4) == (S3Gone(), b"")
