"""S3's inventory configurations and bucket policies in memory, behind a real client: the emulator has none."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs, urlsplit

import boto3
from botocore.awsrequest import AWSResponse
from botocore.config import Config


class BucketSettings:
    """Answers a client's requests. botocore itself checks, writes and reads their bodies.

    Attributes:
        stored: bodies of what was put, by bucket and kind: `policy`, or `inventory` with the name.
        regions: of buckets, as S3 names them in answers to requests with a parameter.
        refused: buckets about which S3 answers 403.
        written: what was put, in order.
    """

    def __init__(self, *buckets: str) -> None:
        self.buckets = buckets
        self.stored: dict[tuple[str, str], bytes] = {}
        self.regions: dict[str, str] = {}
        self.refused: set[str] = set()
        self.written: list[tuple[str, str]] = []
        self.client: Any = boto3.client(
            "s3",
            region_name="eu-central-1",
            aws_access_key_id="x",
            aws_secret_access_key="x",
            endpoint_url="http://s3.invalid",
            config=Config(s3={"addressing_style": "path"}, retries={"max_attempts": 0}),
        )
        self.client.meta.events.register("before-send.s3", self._answer)

    def _answer(self, request: Any, **_: Any) -> AWSResponse:
        url = urlsplit(request.url)
        query, bucket = parse_qs(url.query, keep_blank_values=True), url.path.strip("/")
        status, body = self._result(request.method, bucket, query, request.body)
        answer: Any = AWSResponse(request.url, status, {"content-length": str(len(body))}, None)
        answer._content = body
        return answer

    def _result(self, method: str, bucket: str, query: dict[str, list[str]], body: Any) -> tuple[int, bytes]:
        if not bucket:
            regions = self.regions if "max-buckets" in query else {}
            names = "".join(
                f"<Bucket><Name>{name}</Name>{_region(regions.get(name))}</Bucket>" for name in self.buckets
            )
            return 200, f"<ListAllMyBucketsResult><Buckets>{names}</Buckets></ListAllMyBucketsResult>".encode()
        kind = "policy" if "policy" in query else f"inventory {query['id'][0]}"
        if bucket in self.refused:
            return 403, _error("AccessDenied")
        if method == "PUT":
            self.stored[bucket, kind] = bytes(body)
            self.written.append((bucket, kind))
            return 204, b""
        found = self.stored.get((bucket, kind))
        missing = "NoSuchBucketPolicy" if kind == "policy" else "NoSuchConfiguration"
        return (404, _error(missing)) if found is None else (200, found)


def _region(name: str | None) -> str:
    return f"<BucketRegion>{name}</BucketRegion>" if name else ""


def _error(code: str) -> bytes:
    return f"<Error><Code>{code}</Code><Message>no</Message></Error>".encode()
