"""A proxy in front of the local AWS, which checks no permissions: it answers AccessDenied if a role's policy lacks one.

Statements allow, and those with `Deny` forbid what others allow. `*` and `?` are the only wildcards. The access key of
the signature identifies the role.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from tests.support.servers.aws_calls import CALLS, Need
from tests.support.servers.fault_proxy import Answer, FaultProxy, Request
from tidegate.platform.cloud.statement import Statements, permits
from tidegate.platform.local.aws import ACCOUNT, REGION, LocalAws

_SIGNED_BY = re.compile(r"Credential=([^/]+)/")
_DELETED = re.compile(rb"<Key>(.*?)</Key>", re.DOTALL)
#: The operations of S3 on an object, and on a bucket, by method and query.
_OF_OBJECTS = {
    ("HEAD", ""): "HeadObject",
    ("GET", ""): "GetObject",
    ("PUT", ""): "PutObject",
    ("DELETE", ""): "DeleteObject",
    ("GET", "tagging"): "GetObjectTagging",
    ("PUT", "tagging"): "PutObjectTagging",
    ("POST", "uploads"): "CreateMultipartUpload",
    ("PUT", "uploadId"): "UploadPart",
    ("POST", "uploadId"): "CompleteMultipartUpload",
    ("DELETE", "uploadId"): "AbortMultipartUpload",
}
_OF_BUCKETS = {
    ("HEAD", ""): "HeadBucket",
    ("GET", "list-type"): "ListObjectsV2",
    ("GET", "notification"): "GetBucketNotificationConfiguration",
    ("GET", "policy"): "GetBucketPolicy",
    ("PUT", ""): "CreateBucket",
    ("DELETE", ""): "DeleteBucket",
    ("PUT", "tagging"): "PutBucketTagging",
    ("GET", "tagging"): "GetBucketTagging",
    ("PUT", "notification"): "PutBucketNotificationConfiguration",
    ("GET", "versions"): "ListObjectVersions",
    ("GET", "uploads"): "ListMultipartUploads",
    ("POST", "delete"): "DeleteObjects",
}
#: What has tags when it is made needs a permission for them.
_TAGGING = {"CreateQueue": Need("sqs:TagQueue", "queue"), "CreateTable": Need("dynamodb:TagResource", "table")}
_COPIES = {"PutObject": "CopyObject", "UploadPart": "UploadPartCopy"}
#: Those after which there is an object.
_CREATES = ("s3:PutObject", "s3:CopyObject", "s3:CompleteMultipartUpload")


@dataclass(frozen=True)
class Asked:
    """A permission that a call needed.

    Attributes:
        role: the calling role.
        operation: for example `s3:HeadObject`.
        context: the request's values of condition keys.
    """

    role: str
    operation: str
    action: str
    resource: str
    context: Mapping[str, str] = field(default_factory=dict, hash=False, compare=False)

    def allowed(self, statements: Statements) -> bool:
        """Return whether a statement allows it, and none forbids it."""
        return permits(statements, self.action, self.resource, self.context)


class PolicedAws(FaultProxy):
    """The proxy.

    Args:
        upstream: the local AWS.
        roles: the statements of each role, by the access key that it signs with.

    Attributes:
        asked: every permission that a call needed, without duplicates.
        refused: the missing permissions.
        unknown: requests with unknown permissions; they are refused.
    """

    def __init__(self, upstream: str, roles: Mapping[str, Statements]) -> None:
        super().__init__(upstream)
        self._roles = roles
        self.asked: dict[Asked, None] = {}
        self.refused: dict[Asked, None] = {}
        self.unknown: dict[str, None] = {}
        self._tagged: set[str] = set()
        self._queue_tags: dict[str, dict[str, str]] = {}
        self._noting = threading.Lock()

    def answer(self, request: Request, forward: Callable[[], Answer]) -> Answer:
        """Check the permissions of the call before it is forwarded."""
        signed = _SIGNED_BY.search(request.headers.get("Authorization", ""))
        role = signed[1] if signed else ""
        try:
            asked = self._needs(role, request)
        except KeyError as unknown:
            with self._noting:
                self.unknown[f"{role}: {request.method} {request.path} {unknown}"] = None
            return _denied(request)
        if not all([self._is_allowed(action) for action in asked]):
            return _denied(request)
        answer = forward()
        bucket, key = _place(request.path)
        if answer.status == 404 and key and "X-Amz-Target" not in request.headers:
            # S3 reports a missing key only to a role that may list the bucket.
            listing, owner = f"{asked[0].operation} of no object", {"aws:ResourceAccount": ACCOUNT}
            missing = Asked(role, listing, "s3:ListBucket", f"arn:aws:s3:::{bucket}", owner)
            if not self._is_allowed(missing):
                return _denied(request)
        return answer

    def tagged(self, bucket: str, key: str) -> None:
        """Record that this object has tags, so that a copy of it needs the permissions for tags."""
        self._tagged.add(f"{bucket}/{key}")

    def queue_tagged(self, queue: str, **tags: str) -> None:
        """Record the tags of a queue, which conditions may ask for."""
        self._queue_tags[queue] = {f"aws:ResourceTag/{name}": value for name, value in tags.items()}

    def _is_allowed(self, asked: Asked) -> bool:
        allowed = asked.allowed(self._roles.get(asked.role, ()))
        with self._noting:
            self.asked[asked] = None
            if not allowed:
                self.refused[asked] = None
        return allowed

    def _needs(self, role: str, request: Request) -> list[Asked]:
        if target := request.headers.get("X-Amz-Target"):
            return _of_json(role, target, json.loads(request.body), self._queue_tags)
        if b"Action=GetCallerIdentity" in request.body:
            return []  # everybody may ask who they are
        if b"TopicArn=" in request.body:
            return _of_sns(role, parse_qs(request.body.decode()))
        operation, query = _operation(request)
        bucket, key = _place(request.path)
        if not bucket:
            return [Asked(role, operation, need.action, "*") for need in CALLS[operation]]
        source = unquote(request.headers.get("x-amz-copy-source", "")).lstrip("/").partition("?")[0]
        holds = {
            "": True,
            "versioned": "versionId" in query or b"<VersionId>" in request.body,
            "conditional": "If-Match" in request.headers,
            "tagged": bool(request.headers.get("x-amz-tagging")) or source in self._tagged,
        }
        keys = (
            [unquote(name.decode()) for name in _DELETED.findall(request.body)] if not key and request.body else [key]
        )
        context = {"aws:ResourceAccount": ACCOUNT, "s3:ObjectCreationOperation": str(operation in _CREATES).lower()}
        if "If-None-Match" in request.headers:
            context["s3:if-none-match"] = request.headers["If-None-Match"]
        on = {"bucket": [bucket], "object": [f"{bucket}/{key}" for key in keys], "source": [source]}
        return [
            Asked(role, operation, need.action, f"arn:aws:s3:::{resource}", context)
            for need in CALLS[operation]
            if holds[need.only]
            for resource in on[need.on]
        ]


class RoleAws:
    """The local AWS as a role sees it: through the proxy.

    Args:
        aws: the local AWS.
        proxy: in front of it.
        role: the access key that it signs with.
    """

    def __init__(self, aws: LocalAws, proxy: PolicedAws, role: str) -> None:
        self.endpoint = proxy.endpoint
        self.environ = {**aws.environ, "AWS_ENDPOINT_URL": proxy.endpoint, "AWS_ACCESS_KEY_ID": role}

    def queue_url(self, name: str) -> str:
        """Return the URL of a queue."""
        return f"{self.endpoint}/{ACCOUNT}/{name}"


def _operation(request: Request) -> tuple[str, dict[str, list[str]]]:
    query = parse_qs(urlsplit(request.path).query, keep_blank_values=True)
    if not _place(request.path)[0]:
        return "s3:ListBuckets", query
    known = _OF_OBJECTS if _place(request.path)[1] else _OF_BUCKETS
    said = next((word for method, word in known if method == request.method and word and word in query), "")
    name = known[request.method, said]
    if "x-amz-copy-source" in request.headers:
        name = _COPIES[name]
    return f"s3:{name}", query


def _place(path: str) -> tuple[str, str]:
    bucket, _, key = unquote(urlsplit(path).path).lstrip("/").partition("/")
    return bucket, key


def _of_sns(role: str, form: Mapping[str, list[str]]) -> list[Asked]:
    operation = f"sns:{form['Action'][0]}"
    return [Asked(role, operation, need.action, form["TopicArn"][0]) for need in CALLS[operation]]


def _of_json(
    role: str, target: str, body: Mapping[str, Any], queue_tags: Mapping[str, Mapping[str, str]]
) -> list[Asked]:
    service, _, name = target.rpartition(".")
    context: Mapping[str, str] = {}
    if name in ("ListQueues", "ListTables"):
        place, kind = "*", "sqs" if name == "ListQueues" else "dynamodb"
    elif service == "AmazonSQS":
        queue = body.get("QueueName") or body["QueueUrl"].rstrip("/").rpartition("/")[2]
        place, kind = f"arn:aws:sqs:{REGION}:{ACCOUNT}:{queue}", "sqs"
        context = queue_tags.get(queue, {})
    elif service.startswith("DynamoDB"):
        table = body["TableName"] if "TableName" in body else body["ResourceArn"].rpartition("/")[2]
        place, kind = f"arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/{table}", "dynamodb"
        item = body.get("Key") or body.get("Item") or {"tablePath": body.get("ExpressionAttributeValues", {}).get(":p")}
        context = {"dynamodb:LeadingKeys": item["tablePath"]["S"]} if item["tablePath"] else {}
    elif service.startswith("ResourceGroupsTagging"):
        place, kind = "*", "tag"
    else:
        place, kind = "*", "cloudwatch"
        context = {"cloudwatch:namespace": body.get("Namespace", "")}
    if service == "AWSGlue":
        return [
            Asked(role, f"glue:{name}", need.action, place) for need in CALLS[f"glue:{name}"] for place in _glue(body)
        ]
    needs: tuple[Need, ...] = CALLS[f"{kind}:{name}"]
    if tagging := _TAGGING.get(name) if body.get("Tags") or body.get("tags") else None:
        needs = (*needs, tagging)
    return [Asked(role, f"{kind}:{name}", need.action, place, context) for need in needs]


def _glue(body: Mapping[str, Any]) -> list[str]:
    """Return what a call of Glue names: the catalog, a database and, if it is about tables, one or all of them."""
    start = f"arn:aws:glue:{REGION}:{ACCOUNT}"
    if created := body.get("DatabaseInput"):
        return [f"{start}:catalog", f"{start}:database/{created['Name']}"]
    name = body.get("Name") or (body.get("TableInput") or {}).get("Name") or "*"
    database = body["DatabaseName"]
    return [f"{start}:catalog", f"{start}:database/{database}", f"{start}:table/{database}/{name}"]


def _denied(request: Request) -> Answer:
    if target := request.headers.get("X-Amz-Target"):
        spoken = "com.amazonaws.sqs" if target.startswith("AmazonSQS") else "com.amazon.coral.service"
        body = {"__type": f"{spoken}#AccessDeniedException", "message": "not allowed", "Message": "not allowed"}
        kind = request.headers.get("Content-Type", "application/x-amz-json-1.0")
        return Answer(400, "Bad Request", [("Content-Type", kind)], json.dumps(body).encode())
    xml = b"<?xml version='1.0'?><Error><Code>AccessDenied</Code><Message>not allowed</Message></Error>"
    return Answer(403, "Forbidden", [("Content-Type", "application/xml")], xml)
