"""What S3 reports of an object's bytes in addition to its etag, in answers of the API."""

from __future__ import annotations

import io
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from botocore.stub import Stubber

from tidegate.platform.core.bronze.object_state import S3Forbidden, S3Found
from tidegate.platform.lake.aws.clients import Aws
from tidegate.platform.lake.aws.s3 import ObjectStore

PLAIN = {"ETag": '"e1"', "ContentLength": 7, "LastModified": datetime(2026, 1, 2, tzinfo=UTC)}
OBJECT = {"Bucket": "landing", "Key": "a.csv"}
ASKED = {**OBJECT, "ChecksumMode": "ENABLED"}


@pytest.fixture
def s3() -> Iterator[tuple[ObjectStore, Stubber]]:
    client = Aws(region_name="us-east-1", aws_access_key_id="-", aws_secret_access_key="-").client("s3")
    with Stubber(client) as stub:
        yield ObjectStore(client), stub
        stub.assert_no_pending_responses()


@pytest.mark.parametrize(
    ("answer", "checksum"),
    [
        ({}, None),
        ({"ChecksumCRC64NVME": "nuCUKjhVRg8=", "ChecksumType": "FULL_OBJECT"}, "CRC64NVME:nuCUKjhVRg8="),
        ({"ChecksumCRC32": "nuCUKg==-3", "ChecksumType": "COMPOSITE"}, "CRC32:nuCUKg==-3"),
        ({"ChecksumCRC32": "nuCUKg==", "ChecksumSHA256": "c2hh", "ChecksumType": "FULL_OBJECT"}, "SHA256:c2hh"),
        ({"ChecksumSHA1": "c2hh"}, "SHA1:c2hh"),
    ],
    ids=["none", "of all", "of parts", "the best of several", "of an older store"],
)
def test_a_head_brings_the_checksum_in_the_same_request(
    answer: dict[str, str], checksum: str | None, s3: tuple[ObjectStore, Stubber]
) -> None:
    store, stub = s3
    stub.add_response("head_object", {**PLAIN, **answer}, ASKED)
    assert store.head("landing", "a.csv") == S3Found("e1", 7, 1767312000000, checksum=checksum)


@pytest.mark.parametrize(("encryption", "digested"), [("AES256", True), ("aws:kms", False), ("aws:kms:dsse", False)])
def test_an_etag_is_not_a_digest_where_kms_encrypts(
    encryption: str, digested: bool, s3: tuple[ObjectStore, Stubber]
) -> None:
    store, stub = s3
    stub.add_response("head_object", {**PLAIN, "ServerSideEncryption": encryption}, ASKED)
    found = store.head("landing", "a.csv")
    assert isinstance(found, S3Found)
    assert found.digested == digested


def test_the_etag_of_an_upload_in_parts_is_not_a_digest(s3: tuple[ObjectStore, Stubber]) -> None:
    """Bytes that are uploaded in other parts have another etag. Only a checksum shows whether bytes are equal."""
    store, stub = s3
    stub.add_response("head_object", {**PLAIN, "ETag": '"e1-3"'}, ASKED)
    found = store.head("landing", "a.csv")
    assert isinstance(found, S3Found)
    assert not found.digested


@pytest.mark.parametrize("known", [True, False], ids=["it may be seen", "it may not"])
def test_without_the_key_of_kms_the_object_is_seen_without_its_checksum(
    known: bool, s3: tuple[ObjectStore, Stubber]
) -> None:
    store, stub = s3
    stub.add_client_error("head_object", http_status_code=403, expected_params=ASKED)
    if known:
        stub.add_response("head_object", PLAIN, OBJECT)
    else:
        stub.add_client_error("head_object", http_status_code=403, expected_params=OBJECT)
    assert isinstance(store.head("landing", "a.csv"), S3Found if known else S3Forbidden)


@pytest.mark.parametrize(
    ("answer", "checksum"),
    [
        ({"ChecksumCRC32": "nuCUKg==", "ChecksumType": "COMPOSITE"}, None),
        ({"ChecksumCRC32": "nuCUKg==", "ChecksumType": "FULL_OBJECT"}, "CRC32:nuCUKg=="),
    ],
    ids=["of the one part that was asked for", "of an object that was asked for wholly"],
)
def test_a_read_of_the_end_takes_no_part_s_checksum_for_the_object_s(
    answer: dict[str, Any], checksum: str | None, s3: tuple[ObjectStore, Stubber]
) -> None:
    store, stub = s3
    body = {"Body": io.BytesIO(b"content"), "ContentRange": "bytes 0-6/7"}
    stub.add_response("get_object", {**PLAIN, **answer, **body}, {**OBJECT, "Range": "bytes=-9"})
    found, tail = store.head_with_tail("landing", "a.csv", 9)
    assert isinstance(found, S3Found)
    assert (found.size, found.checksum, tail) == (7, checksum, b"content")
