"""Counts the requests of this process to AWS, with their seconds, and reads those of a Spark server from its log."""

from __future__ import annotations

import json
import re
import threading
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from tidegate.platform.core.costs.usage import Usage
from tidegate.platform.lake.aws.clients import Aws
from tidegate.platform.lake.aws.direct_calls import REQUESTED

#: Operations of S3 that are billed as reads. DELETEs are free. All others are writes.
_S3_READS = ("GetObject", "HeadObject", "HeadBucket", "GetObjectTagging", "GetBucketTagging")
_FREE = ("DeleteObject", "DeleteObjects", "DeleteBucket", "AbortMultipartUpload")
_DYNAMODB_READS = ("GetItem", "Query", "DescribeTable", "ListTables")
_BILLED = {"s3": "S3", "sqs": "SQS", "dynamodb": "DynamoDB"}
_BEGUN = "tidegate_prove_begun"

#: A request in the log of AWS's client in the server.
_LINE = re.compile(r"httpMethod=(\w+), .*?encodedPath=(\S*), headers=\[(.*?)\], queryParameters=\[(.*?)\]")
_PATTERN = "Sending Request: "


@dataclass
class Meter:
    """Requests by service and operation, and their seconds.

    Attributes:
        counts: number of requests, those that were repeated among them, by `service.Operation`.
        seconds: of the requests that were answered, by `service.Operation`.
    """

    counts: Counter[str] = field(default_factory=Counter)
    seconds: dict[str, list[float]] = field(default_factory=dict)
    _noting: threading.Lock = field(default_factory=threading.Lock)

    def attach(self, client: Any) -> None:
        """Count the requests of a client of boto3 from here on."""
        service = client.meta.service_model.service_name
        client.meta.events.register(f"request-created.{service}", self._note_begin)
        client.meta.events.register(f"response-received.{service}", self._note_end)
        client.meta.events.register(f"{REQUESTED}.{service}", self._note_direct)

    def add(self, other: Mapping[str, int]) -> None:
        """Add the counts of another process."""
        with self._noting:
            self.counts.update(other)

    def _note_begin(self, request: Any, operation_name: str, event_name: str, **_: Any) -> None:
        request.context[_BEGUN] = (self._count(event_name, operation_name), time.monotonic())

    def _note_end(self, context: Mapping[str, Any], **_: Any) -> None:
        if begun := context.get(_BEGUN):
            self._add_seconds(begun[0], time.monotonic() - begun[1])

    def _note_direct(self, operation_name: str, seconds: float, event_name: str, **_: Any) -> None:
        self._add_seconds(self._count(event_name, operation_name), seconds)

    def _count(self, event_name: str, operation_name: str) -> str:
        name = f"{event_name.split('.')[1]}.{operation_name}"
        with self._noting:
            self.counts[name] += 1
        return name

    def _add_seconds(self, name: str, seconds: float) -> None:
        with self._noting:
            self.seconds.setdefault(name, []).append(seconds)


@dataclass(frozen=True)
class MeteredAws(Aws):
    """Clients whose requests are counted.

    Attributes:
        meter: takes the counts.
    """

    meter: Meter = field(default_factory=Meter, repr=False, compare=False)

    @classmethod
    def from_aws(cls, aws: Aws, meter: Meter) -> MeteredAws:
        """Return the same clients, with a meter."""
        return cls(**{each.name: getattr(aws, each.name) for each in fields(Aws)}, meter=meter)

    def client(self, service: str) -> Any:
        """Return a client whose requests are counted."""
        made = super().client(service)
        self.meter.attach(made)
        return made


def billed_requests(counts: Mapping[str, int]) -> Usage:
    """Return requests as they are billed.

    Args:
        counts: by `service.Operation`. An operation of DynamoDB that is not known counts as a write, which costs more.
    """
    found = {"s3_writes": 0, "s3_reads": 0, "sqs_requests": 0, "dynamodb_writes": 0, "dynamodb_reads": 0}
    for name, count in counts.items():
        service, _, operation = name.partition(".")
        if service == "s3" and operation not in _FREE:
            found["s3_reads" if operation in _S3_READS else "s3_writes"] += count
        elif service == "sqs":
            found["sqs_requests"] += count
        elif service == "dynamodb":
            found["dynamodb_reads" if operation in _DYNAMODB_READS else "dynamodb_writes"] += count
    return Usage(**found)


def counts_by_service(counts: Mapping[str, int]) -> dict[str, dict[str, int]]:
    """Return the counts by service and operation, most first."""
    found: dict[str, dict[str, int]] = {}
    for name, count in sorted(counts.items(), key=lambda each: -each[1]):
        service, _, operation = name.partition(".")
        found.setdefault(_BILLED.get(service, service), {})[operation] = count
    return found


def server_requests(log: Path) -> Counter[str] | None:
    """Return the requests of a Spark server by its log, by `service.Operation`; None if the log has none.

    The log has no names of DynamoDB's operations.
    """
    if not log.exists():
        return None
    with log.open(encoding="utf-8", errors="replace") as lines:
        found = count_logged(lines)
    return found or None


def count_logged(lines: Iterable[str]) -> Counter[str]:
    """Count the requests in the lines of a Spark server's log."""
    found: Counter[str] = Counter()
    for line in lines:
        if _PATTERN in line and (request := _LINE.search(line)):
            found[_operation(*request.groups())] += 1
    return found


def _operation(method: str, path: str, headers: str, query: str) -> str:
    if "X-Amz-Target" in headers:
        return "dynamodb.Request"
    names = {name.partition("=")[0].strip() for name in query.split(",")}
    if method == "GET" and ("list-type" in names or "prefix" in names):
        return "s3.ListObjectsV2"
    if method == "PUT" and "x-amz-copy-source" in headers.lower():
        return "s3.CopyObject"
    if method == "POST":
        return "s3.DeleteObjects" if "delete" in names else "s3.Upload"
    return f"s3.{ {'GET': 'GetObject', 'HEAD': 'HeadObject', 'PUT': 'PutObject', 'DELETE': 'DeleteObject'}[method] }"


def write_counts(meter: Meter, path: Path) -> None:
    """Write the counts of this process to a file."""
    replace_text(path, json.dumps(dict(meter.counts)))


def replace_text(path: Path, text: str) -> None:
    """Write a file that another process may be reading: it reads either the old text or the new one."""
    new = path.with_name(f"{path.name}.new")
    new.write_text(text)
    new.replace(path)


def percentile(values: Iterable[float], share: float) -> float | None:
    """Return the value below which a share of some values is; None if there are no values."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else None
