"""An answer about one object is about that object: each loop over objects or messages × each answer of AWS.

One of many objects or messages gets an answer that AWS documents. It settles, and all others go their way. `LOOPS` has
every place in the code that calls AWS for many things at a time: a new one fails the last test until it is here.
"""

from __future__ import annotations

import ast
import asyncio
import io
import json
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tidegate.platform.bronze.after_load import Loaded, remove_or_tag
from tidegate.platform.bronze.prepare.parquet_candidates import parquet_footers
from tidegate.platform.bronze.prepared_batch import PreparedBatch
from tidegate.platform.core.bronze.hint import Hint
from tidegate.platform.core.bronze.object_state import S3Forbidden, S3Found, S3Gone, S3Unavailable
from tidegate.platform.core.bronze.plan import Candidate, Plan, PlannedHint
from tidegate.platform.core.config.after_load import MoveOrTag
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.config.routes import RouteSpec
from tidegate.platform.core.events.row_queue import RowOrigin
from tidegate.platform.core.forwarding.outbox_message import Outgoing
from tidegate.platform.core.keys.table_key import TableKey
from tidegate.platform.core.webhook.refusal import Refusal
from tidegate.platform.intake.event_typing import EventTyping
from tidegate.platform.intake.message_routing import parse_messages
from tidegate.platform.lake.aws.answers import is_forbidden, is_of_one_message, is_transient, refuses_one_message
from tidegate.platform.lake.aws.batch_calls import each_queue
from tidegate.platform.lake.aws.bucket import Bucket
from tidegate.platform.lake.aws.message import Message
from tidegate.platform.lake.aws.s3 import ObjectStore
from tidegate.platform.lake.aws.sqs import Queue
from tidegate.platform.lake.forwarding.delivery import Delivery, deliver
from tidegate.platform.lake.forwarding.destination import QueueDestination, ShardedTopics, TopicDestination
from tidegate.platform.lake.forwarding.object_action import ObjectAction, tag_objects
from tidegate.platform.lake.forwarding.unwrap_arrays import unwrap_arrays
from tidegate.platform.operations.redrive import RedriveRequest, redrive_messages
from tidegate.platform.webhook.queue_writer import QueueWriter

ROOT = Path(__file__).resolve().parents[5]
MANY = 24
BAD = "in/bad.json"
KEYS = [*(f"in/{number}.json" for number in range(MANY - 1)), BAD]

#: What AWS documents (S3: "Error responses"; "Common errors" of all services), and what an answer is about.
SERVICE, DENIED, OBJECT, GONE, CHANGED = "service", "denied", "object", "gone", "changed"
ANSWERS = {
    (301, "PermanentRedirect"): SERVICE,
    (307, "TemporaryRedirect"): SERVICE,
    (400, "AuthorizationHeaderMalformed"): SERVICE,
    (400, "BadDigest"): OBJECT,
    (400, "BadRequest"): OBJECT,
    (400, "EntityTooLarge"): OBJECT,
    (400, "EntityTooSmall"): OBJECT,
    (400, "ExpiredToken"): SERVICE,
    (400, "IllegalLocationConstraintException"): SERVICE,
    (400, "InvalidArgument"): OBJECT,
    (400, "InvalidDigest"): OBJECT,
    (400, "InvalidRequest"): OBJECT,
    (400, "InvalidStorageClass"): OBJECT,
    (400, "InvalidTag"): OBJECT,
    (400, "InvalidToken"): SERVICE,
    (400, "InvalidURI"): OBJECT,
    (400, "KeyTooLongError"): OBJECT,
    (400, "KMS.DisabledException"): DENIED,
    (400, "KMS.NotFoundException"): DENIED,
    (400, "MalformedXML"): OBJECT,
    (400, "MetadataTooLarge"): OBJECT,
    (400, "MissingSecurityHeader"): SERVICE,
    (400, "RequestHeaderSectionTooLarge"): OBJECT,
    (400, "RequestTimeout"): SERVICE,
    (400, "Throttling"): SERVICE,
    (400, "ThrottlingException"): SERVICE,
    (400, "TokenRefreshRequired"): SERVICE,
    (400, "UserKeyMustBeSpecified"): OBJECT,
    (403, "AccessDenied"): DENIED,
    (403, "AccountProblem"): SERVICE,
    (403, "AllAccessDisabled"): DENIED,
    (403, "InvalidAccessKeyId"): SERVICE,
    (403, "InvalidObjectState"): DENIED,
    (403, "InvalidPayer"): SERVICE,
    (403, "InvalidSecurity"): SERVICE,
    (403, "NotSignedUp"): SERVICE,
    (403, "RequestTimeTooSkewed"): SERVICE,
    (403, "SignatureDoesNotMatch"): SERVICE,
    (404, "NoSuchKey"): GONE,
    (404, "NoSuchVersion"): GONE,
    (405, "MethodNotAllowed"): GONE,
    (409, "ConditionalRequestConflict"): SERVICE,
    (409, "InvalidBucketState"): OBJECT,
    (409, "OperationAborted"): SERVICE,
    (411, "MissingContentLength"): OBJECT,
    (412, "PreconditionFailed"): CHANGED,
    (414, "RequestURITooLong"): OBJECT,
    (416, "InvalidRange"): OBJECT,
    (418, "WhatNobodyKnows"): OBJECT,
    (429, "WhatNobodyKnows"): SERVICE,
    (500, "InternalError"): SERVICE,
    (501, "NotImplemented"): SERVICE,
    (503, "ServiceUnavailable"): SERVICE,
    (503, "SlowDown"): SERVICE,
    (599, "WhatNobodyKnows"): SERVICE,
}
#: What SQS and SNS document for a call, of which one entry is the cause or none.
OF_QUEUES = {
    (400, "InvalidMessageContents"): OBJECT,
    (400, "AWS.SimpleQueueService.InvalidMessageContents"): OBJECT,
    (400, "InvalidParameter"): OBJECT,
    (400, "InvalidParameterValue"): OBJECT,
    (400, "InvalidAttributeValue"): OBJECT,
    (400, "AWS.SimpleQueueService.BatchRequestTooLong"): OBJECT,
    (413, "WhatNobodyKnows"): OBJECT,
    (400, "AWS.SimpleQueueService.NonExistentQueue"): SERVICE,
    (400, "QueueDoesNotExist"): SERVICE,
    (404, "NotFound"): SERVICE,
    (400, "KmsDisabled"): SERVICE,
    (400, "KmsThrottled"): SERVICE,
    (400, "KMSAccessDenied"): SERVICE,
    (400, "InvalidSecurity"): SERVICE,
    (400, "RequestThrottled"): SERVICE,
    (400, "UnsupportedOperation"): SERVICE,
    (403, "AccessDenied"): SERVICE,
    (403, "AuthorizationError"): SERVICE,
    (403, "InvalidClientTokenId"): SERVICE,
    (429, "TooManyRequestsException"): SERVICE,
    (500, "InternalError"): SERVICE,
    (503, "ServiceUnavailable"): SERVICE,
}


def answer(status: int, code: str, operation: str = "GetObject") -> ClientError:
    content: Any = {"Error": {"Code": code, "Message": "no"}, "ResponseMetadata": {"HTTPStatusCode": status}}
    return ClientError(content, operation)


class S3:
    """A client of S3 that has one answer for the object `BAD`, and takes all others."""

    def __init__(self, error: ClientError) -> None:
        self.error = error
        self.did: list[tuple[str, str]] = []
        self.asked: list[str] = []

    def _call(self, operation: str, given: Any) -> dict[str, Any]:
        self.asked.append(given["Key"])
        if given["Key"].endswith(BAD):
            raise self.error
        self.did.append((operation, given["Key"]))
        body = b"[]"
        about = {"ETag": '"e"', "ContentLength": len(body), "LastModified": datetime(2026, 1, 2, tzinfo=UTC)}
        stream = io.BytesIO(body)
        return {**about, "TagSet": [{"Key": "kind", "Value": "orders"}], "Body": stream}

    def __getattr__(self, operation: str) -> Callable[..., Any]:
        return lambda **given: self._call(operation, given)

    def count(self, operation: str) -> int:
        return len({key for done, key in self.did if done == operation})


def each(answers: dict[tuple[int, str], str]) -> Any:
    return pytest.mark.parametrize(
        ("error", "about"),
        [pytest.param(answer(*key), about, id=f"{key[0]} {key[1]}") for key, about in answers.items()],
    )


def record(key: str, name: str = "ObjectCreated:Put") -> dict[str, Any]:
    about = {"bucket": {"name": "landing"}, "object": {"key": key}}
    return {"eventSource": "aws:s3", "eventName": name, "s3": about}


def body(key: str, name: str = "ObjectCreated:Put") -> str:
    return json.dumps({"Records": [record(key, name)]})


# Objects of S3


@each(ANSWERS)
def test_one_of_many_probes(error: ClientError, about: str) -> None:
    """HEAD of the look. What is not a 403 and is about the object is final: S3 has no object of such a key."""
    found = ObjectStore(S3(error)).head_many("landing", KEYS)  # type: ignore[arg-type]
    assert sum(isinstance(probe, S3Found) for probe in found.values()) == MANY - 1
    status = error.response["ResponseMetadata"]["HTTPStatusCode"]
    kind = S3Gone if status == 404 else S3Unavailable if about == SERVICE else S3Forbidden
    assert isinstance(found[BAD], kind)
    if isinstance(found[BAD], S3Forbidden):
        assert found[BAD].of_the_object == (about != DENIED)  # type: ignore[union-attr]


@each(ANSWERS)
def test_one_of_many_files_to_prepare(error: ClientError, about: str) -> None:
    candidates = [Candidate(key, S3Found("e", 9, 0), PlannedHint(Hint(key), "m")) for key in KEYS]
    prepared = PreparedBatch(Plan(candidates))
    parquet_footers(Bucket(ObjectStore(S3(error)), "landing"), candidates, prepared)  # type: ignore[arg-type]
    reasons = {row.key: row.reason or "" for row in prepared.rows}
    assert all("Parquet" in reasons[key] for key in KEYS[:-1])
    assert (BAD in reasons) == (about in (DENIED, OBJECT))
    assert len(prepared.deferred) == (about not in (DENIED, OBJECT))
    if about in (DENIED, OBJECT):
        assert reasons[BAD].startswith("access denied" if about == DENIED else "S3 refuses it")
    assert not prepared.all_denied


def typing_lake(client: S3) -> Any:
    config = LakeConfig.model_validate(
        {
            "lake": {"root": "s3://lake/root"},
            "queues": [{"name": "events"}],
            "buckets": ["landing"],
            "event_types": [{"tag": "kind"}],
            "routes": [{"name": "all", "topic": "arn:aws:sns:eu-central-1:123456789012:events"}],
        }
    )
    store = SimpleNamespace(objects=ObjectStore(client))  # type: ignore[arg-type]
    return SimpleNamespace(config=config, id="lake", store=store)


def types(client: S3, *bodies: str) -> tuple[dict[str, str | None], set[str]]:
    typing = EventTyping(typing_lake(client))
    messages = [Message(f"m{place}", text, "r") for place, text in enumerate(bodies)]
    found = typing.find_types(typing.open_messages(parse_messages(messages)))
    return dict(found.by_event), set(found.refused)


@each(ANSWERS)
def test_one_of_many_messages_whose_type_is_a_tag(error: ClientError, about: str) -> None:
    by_event, refused = types(S3(error), *map(body, KEYS))
    assert list(by_event.values()) == ["orders"] * (MANY - 1) + [None]
    assert refused == (set() if about == GONE else {f"m{MANY - 1}"})


def test_an_event_of_a_removal_needs_no_tags() -> None:
    """In a versioned bucket each delete is a delete marker, which has none: S3 answers 405."""
    client = S3(answer(405, "MethodNotAllowed"))
    assert types(client, body(BAD, "ObjectRemoved:DeleteMarkerCreated")) == ({"m0#0": None}, set())
    assert client.asked == []


def test_an_answer_about_one_of_a_thousand_leaves_999() -> None:
    keys = [*(f"in/{number}" for number in range(999)), BAD]
    by_event, refused = types(S3(answer(503, "SlowDown")), *map(body, keys))
    assert (list(by_event.values()).count("orders"), refused) == (999, {"m999"})


def act(client: S3, route: RouteSpec, make: Any) -> Delivery:
    action = ObjectAction("r", make(route, ObjectStore(client)))  # type: ignore[arg-type]
    messages = [Outgoing(key, "orders", "g", 1, body(key)) for key in KEYS]
    return deliver(action, messages, until=math.inf)


def settled(delivery: Delivery) -> tuple[int, list[str], list[str]]:
    """Return the number of messages that were sent, the ids of those that wait, and of those in quarantine."""
    return (
        delivery.sent,
        [message.id for message in delivery.left],
        [message.id for message, _ in delivery.undeliverable],
    )


def fate(about: str) -> tuple[int, list[str], list[str]]:
    sent, waits, never = MANY - 1, about in (SERVICE, DENIED), about == OBJECT
    return sent + (not waits and not never), [BAD] * waits, [BAD] * never


@each(ANSWERS)
def test_one_of_many_objects_that_a_route_tags(error: ClientError, about: str) -> None:
    client = S3(error)
    delivery = act(client, RouteSpec.model_validate({"name": "r", "tag": {"team": "a"}}), tag_objects)
    assert settled(delivery) == fate(SERVICE if about == CHANGED else about)
    assert client.count("put_object_tagging") == MANY - 1


@each({key: about for key, about in ANSWERS.items() if about not in (GONE, CHANGED)})
def test_one_of_many_objects_that_a_route_writes(error: ClientError, about: str) -> None:
    """The refusal is of the object that would be written, whose key is longer than that of its source."""
    client = S3(error)
    given = client.get_object

    def read(**about: Any) -> Any:
        return given(**{**about, "Key": "in/another.json"} if about["Key"] == BAD else about)

    def put(**about: Any) -> Any:
        return client._call("put_object", {"Key": about["Key"].removesuffix(".jsonl")})

    client.get_object, client.put_object = read, put  # type: ignore[attr-defined]
    route = RouteSpec.model_validate({"name": "r", "unwrap": "s3://out/lines/"})
    assert settled(act(client, route, unwrap_arrays)) == fate(about)
    assert client.count("put_object") == MANY - 1


@pytest.mark.parametrize(
    "part", ["team,eu", "a;b", 'q"', "tab\t", "🐟", "x" * 257], ids=["comma", "sign", "quote", "tab", "fish", "long"]
)
def test_a_tag_that_s3_refuses_is_not_asked_for(part: str) -> None:
    client = S3(answer(500, "InternalError"))
    route = RouteSpec.model_validate({"name": "r", "key": "in/{team}/*", "tag": {"team": "{team}"}})
    action = ObjectAction("r", tag_objects(route, ObjectStore(client)))  # type: ignore[arg-type]
    messages = [Outgoing(team, None, "g", 1, body(f"in/{team}/1")) for team in ("größe 1+-=._:@", part)]
    delivery = deliver(action, messages, until=math.inf)
    assert settled(delivery) == (1, [], [part])
    assert "S3 takes" in delivery.undeliverable[0][1]


@each(ANSWERS)
def test_one_of_many_files_that_after_load_tags(error: ClientError, about: str) -> None:
    objects = ObjectStore(S3(error))  # type: ignore[arg-type]
    table = SimpleNamespace(
        key=TableKey("landing", "in/"),
        source=Bucket(objects, "landing"),
        spec=SimpleNamespace(after_load=MoveOrTag.model_validate({"tag": {"done": "yes"}})),
        birth=SimpleNamespace(registered=False),
        batches=SimpleNamespace(require_current=lambda n: n),
    )
    found = remove_or_tag(table, {key: Loaded("e", 2) for key in KEYS}, 1)  # type: ignore[arg-type]
    status = error.response["ResponseMetadata"]["HTTPStatusCode"]
    assert (found.done, set(found.failed)) == (MANY - 1, set() if status == 404 else {BAD})


@pytest.mark.parametrize("operation", ["head_object", "copy_object", "delete_object"])
@each(ANSWERS)
def test_one_of_many_files_that_after_load_moves_or_deletes(error: ClientError, about: str, operation: str) -> None:
    """S3 may refuse the name that a file would have, its copy, or its delete."""
    client = S3(error)
    answers = client._call

    def call(name: str, given: Any) -> dict[str, Any]:
        if name == "head_object" and not (name == operation and given["Key"].endswith(BAD)):
            raise answer(404, "NoSuchKey", "HeadObject")
        key = given["Key"] if name == operation else "in/another.json"
        return answers(name, {**given, "Key": key}) if given["Key"].endswith(BAD) else answers(name, given)

    client._call = call  # type: ignore[method-assign]
    table = SimpleNamespace(
        key=TableKey("landing", "in/"),
        source=Bucket(ObjectStore(client), "landing"),  # type: ignore[arg-type]
        spec=SimpleNamespace(
            after_load="delete" if operation == "delete_object" else MoveOrTag.model_validate({"move": "s3://old/in/"})
        ),
        birth=SimpleNamespace(registered=False),
        batches=SimpleNamespace(require_current=lambda n: n),
        lake=SimpleNamespace(store=SimpleNamespace(identity=SimpleNamespace(prove_conditional_delete=lambda: None))),
    )
    found = remove_or_tag(table, {key: Loaded("e", 2) for key in KEYS}, 1)  # type: ignore[arg-type]
    assert found.done + len(found.taken) >= MANY - 1
    assert set(found.failed) <= {BAD}
    if about in (SERVICE, DENIED, OBJECT):
        assert set(found.failed) == {BAD}, "it is tried again, and named"


# Messages of SQS and SNS


class Queues:
    """A client of SQS and SNS. A call, or its entry, with the text `bad` gets the answer."""

    def __init__(self, error: ClientError, *, by_entry: bool = False) -> None:
        self.error, self.by_entry = error, by_entry
        self.took: list[str] = []

    def _batch(self, entries: Any) -> dict[str, Any]:
        texts = {entry["Id"]: next(text for text in entry.values() if str(text).startswith("t:")) for entry in entries}
        failed = [id for id, text in texts.items() if text == "t:bad"]
        if failed and not self.by_entry:
            raise self.error
        self.took += [text for id, text in texts.items() if id not in failed]
        code = self.error.response["Error"]["Code"]
        return {
            "Successful": [{"Id": id, "MessageId": id} for id in texts if id not in failed],
            "Failed": [{"Id": id, "Code": code, "SenderFault": True} for id in failed],
        }

    def send_message(self, **given: Any) -> dict[str, Any]:
        if given["MessageBody"] == "t:bad":
            raise self.error
        self.took.append(given["MessageBody"])
        return {"MessageId": "m"}

    def __getattr__(self, _: str) -> Callable[..., Any]:
        return lambda **given: self._batch(given.get("Entries") or given["PublishBatchRequestEntries"])


TEXTS = [*(f"t:{number}" for number in range(MANY - 1)), "t:bad"]
URL = "https://sqs.example/1/rows"


def destinations(client: Any) -> Iterator[Any]:
    topic = TopicDestination(client, "arn:aws:sns:eu-central-1:123456789012:t", "lake", grouped=False)
    yield topic
    yield QueueDestination(client, Queue(client, URL), "lake", grouped=False)
    route = RouteSpec.model_validate({"name": "r", "topic": topic.name, "shards": 2})
    yield ShardedTopics(route, dict.fromkeys(route.topics, topic))


@pytest.mark.parametrize("by_entry", [False, True], ids=["call", "entry"])
@pytest.mark.parametrize("which", [0, 1, 2], ids=["topic", "queue", "shards"])
@each(OF_QUEUES)
def test_one_of_many_messages_to_a_destination(error: ClientError, about: str, which: int, by_entry: bool) -> None:
    client = Queues(error, by_entry=by_entry)
    messages = [Outgoing(text, "orders", "g", 1, text) for text in TEXTS]
    delivery = deliver(list(destinations(client))[which], messages, until=math.inf)
    if about == OBJECT:
        assert settled(delivery) == (MANY - 1, [], ["t:bad"])
    else:  # the destination's trouble is nobody's fault
        assert delivery.undeliverable == []
        assert "t:bad" in [message.id for message in delivery.left]
        assert len(delivery.left) == (1 if by_entry else len(delivery.left))
    assert len(client.took) == len(set(client.took)) == delivery.sent


@each(OF_QUEUES)
def test_one_of_many_queues(error: ClientError, about: str) -> None:
    """Whatever a queue answers, the others have their turn, and the caller gets its error at the end."""

    def call(text: str) -> str:
        if text == "t:bad":
            raise error
        return text

    log: list[str] = []
    results, trouble = each_queue(call, ["t:bad", *TEXTS, "t:last"], str, log.append)
    assert (results, trouble) == ([*TEXTS[:-1], "t:last"], error)
    assert [line.startswith("queue t:bad: ") for line in log] == [True, True]
    assert each_queue(call, TEXTS[:-1], str, log.append) == (TEXTS[:-1], None)


@each({key: about for key, about in OF_QUEUES.items() if about == OBJECT})
def test_one_of_many_messages_to_send_again_delete_or_deliver(error: ClientError, about: str) -> None:
    """What is refused stays where it is: the dead letter, the received message, the sender of the webhook."""
    messages = [Message(text, text, text) for text in TEXTS]
    again = Queues(error)
    assert set(Queue(again, URL).send_again(messages)) == set(TEXTS[:-1])  # type: ignore[arg-type]
    for call in ("delete", "hide"):
        client = Queues(error)
        queue: Any = Queue(client, URL)  # type: ignore[arg-type]
        assert (queue.delete(messages) if call == "delete" else queue.hide(messages, 0)) == 1
        assert sorted(client.took) == sorted(TEXTS[:-1])

    async def delivered() -> list[Any]:
        writer = QueueWriter(Queue(Queues(error), URL).send_rows, lambda _: None)  # type: ignore[arg-type]
        try:
            puts = (writer.put(text, RowOrigin(text, 1)) for text in TEXTS)
            return await asyncio.gather(*puts, return_exceptions=True)
        finally:
            writer.close()

    answers = asyncio.run(delivered())
    assert answers[:-1] == [None] * (MANY - 1)
    assert isinstance(answers[-1], Refusal)

    released: list[str] = []
    kept = [SimpleNamespace(key=text, event_id=text, body=text, origin=None, queue="", attributes={}) for text in TEXTS]
    lake: Any = SimpleNamespace(
        queues=[Queue(Queues(error), URL)],  # type: ignore[arg-type]
        config=SimpleNamespace(table_of_rows=lambda _: None),
        store=SimpleNamespace(
            operations=SimpleNamespace(put=lambda *_, **__: "s3://lake/operations/1.json"),
            quarantine=SimpleNamespace(message=lambda item: item, release=lambda item: released.append(item.key)),
        ),
    )
    redrive_messages(lake, kept, RedriveRequest("x"))  # type: ignore[arg-type]
    assert released == TEXTS[:-1]


@each({**OF_QUEUES, **ANSWERS})
def test_what_is_transient_is_the_list(error: ClientError, about: str) -> None:
    status, code = error.response["ResponseMetadata"]["HTTPStatusCode"], error.response["Error"]["Code"]
    if (status, code) in ANSWERS:
        about = ANSWERS[status, code]
        assert is_transient(error) == (about == SERVICE)
        assert is_forbidden(error) == (about == DENIED)
    else:
        assert is_of_one_message(error) == (about == OBJECT)
        assert refuses_one_message(code) == (about == OBJECT)


# The list of the loops


@dataclass(frozen=True)
class Loop:
    """Why one answer stops no other: the name of a test of this module, or a sentence."""

    why: str


OWN = Loop("objects that Tidegate wrote, under names that no producer chooses")
TABLES = Loop("a failure of one is caught, and named with its table, bucket or queue")
PROBES = Loop("test_one_of_many_probes")
FILES = Loop("test_one_of_many_files_to_prepare")
ROUTES = Loop("test_one_of_many_messages_to_a_destination")
SENT = Loop("test_one_of_many_messages_to_send_again_delete_or_deliver")
QUEUES = Loop("test_one_of_many_queues")
TYPES = Loop("test_one_of_many_messages_whose_type_is_a_tag")
SPARK = Loop("no call of AWS, or a read of what the table's own commit names: the run fails and is repeated")
LOOPS: dict[str, Loop] = {
    "platform/maintenance/deletion.py": OWN,
    "platform/silver/export.py": OWN,
    "assets/operations/jobs.py": QUEUES,
    "assets/sources/dead_letter_checks.py": QUEUES,
    "platform/lake/aws/cloudwatch.py": Loop("the lake's own metrics, and no thing of a producer"),
    "platform/lake/aws/multipart_uploads.py": TABLES,
    "platform/lake/lake_root/batches.py": OWN,
    "platform/lake/lake_root/logs.py": OWN,
    "platform/bronze/after_load.py": Loop("test_one_of_many_files_that_after_load_tags"),
    "platform/bronze/completion/datasets.py": PROBES,
    "platform/bronze/look.py": PROBES,
    "platform/bronze/prepare/inventories/prepare.py": FILES,
    "platform/bronze/prepare/inventories/stage.py": PROBES,
    "platform/bronze/prepare/load/candidates.py": FILES,
    "platform/bronze/prepare/load/load.py": PROBES,
    "platform/bronze/prepare/load/repeated_messages.py": SPARK,
    "platform/bronze/prepare/parquet_candidates.py": FILES,
    "platform/bronze/prepare/register.py": PROBES,
    "platform/bronze/publish.py": OWN,
    "platform/inventory/costs/measure.py": TABLES,
    "platform/inventory/costs/recorded_tables.py": TABLES,
    "platform/forgetting/kept_objects.py": OWN,
    "assets/health/measure.py": TABLES,
    "platform/maintenance/vacuum.py": OWN,
    "platform/operations/dead_letters.py": TYPES,
    "platform/bronze/reconcile/listing.py": PROBES,
    "platform/silver/audit/audited_keys.py": SPARK,
    "platform/silver/changes.py": OWN,
    "platform/inventory/audits.py": TABLES,
    "platform/inventory/incomplete_uploads.py": TABLES,
    "platform/inventory/growth.py": OWN,
    "platform/cli/check/forget.py": OWN,
    "platform/cli/check/lake.py": OWN,
    "platform/cli/inventory/enable.py": TABLES,
    "platform/cli/inventory/manifest.py": OWN,
    "platform/lake/aws/bucket.py": PROBES,
    "platform/lake/aws/proofs.py": OWN,
    "platform/lake/aws/s3.py": PROBES,
    "platform/lake/aws/batch_calls.py": SENT,
    "platform/lake/aws/sqs.py": SENT,
    "platform/lake/forwarding/delivery.py": ROUTES,
    "platform/lake/forwarding/destination.py": ROUTES,
    "platform/lake/inventory/deliveries.py": Loop("the files of one delivery, which is complete or is not"),
    "platform/lake/lake.py": TABLES,
    "platform/lake/lake_root/after_notes.py": OWN,
    "platform/lake/lake_root/forget_requests.py": OWN,
    "platform/lake/lake_root/gathered_hints.py": OWN,
    "platform/lake/lake_root/held_events.py": OWN,
    "platform/lake/lake_root/inbox.py": OWN,
    "platform/lake/lake_root/outbox.py": OWN,
    "platform/lake/lake_root/quarantine.py": OWN,
    "platform/lake/lake_root/waiting_notes.py": OWN,
    "platform/lake/parquet/footers.py": SPARK,
    "platform/lake/sql_names.py": TABLES,
    "platform/lake/threads.py": Loop("the loop itself"),
    "platform/routes/forwarder.py": TABLES,
    "platform/routes/lane.py": ROUTES,
    "platform/intake/dealer.py": OWN,
    "platform/intake/event_typing.py": TYPES,
    "platform/intake/held_events.py": OWN,
    "platform/intake/message_routing.py": PROBES,
    "platform/intake/row_objects.py": OWN,
    "platform/intake/store_and_delete.py": OWN,
    "platform/intake/tick.py": TABLES,
    **dict.fromkeys(
        (f"platform/prove/{name}.py" for name in ("producers", "races", "resources")),
        Loop("objects, queues and tables that the proof itself made"),
    ),
}


def _asks_aws(node: ast.AST) -> bool:
    """Return whether a node is a call of S3 or of a queue, by a handle or by a client of boto3."""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
        return False
    owner = getattr(node.func.value, "attr", getattr(node.func.value, "id", "")).strip("_")
    of_handle = {"list_under", "folders", "name", "url"}.isdisjoint({node.func.attr}) and any(
        node.func.attr in vars(handle) for handle in (ObjectStore, Bucket, Queue)
    )
    return owner in {"client", "s3", "sqs"} or (owner in {"objects", "source", "queue"} and of_handle)


def loops() -> set[str]:
    """Return the modules that call AWS for many things: in parallel, in a batch, or one after another."""
    named = {"parallel", "parallel_outcomes", "ConcurrentCalls", "head_many", "each_queue"}
    one_by_one = (ast.For, ast.While, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
    found = set()
    for folder in ("assets", "resources", "sensors", "platform"):
        for path in (ROOT / folder).rglob("*.py"):
            if {"cloud", "core", "demo", "local", "testing"} & set(path.relative_to(ROOT).parts):
                continue
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, one_by_one) and any(map(_asks_aws, ast.walk(node))):
                    found.add(str(path.relative_to(ROOT)))
                if not isinstance(node, ast.Call):
                    continue
                name = getattr(node.func, "attr", getattr(node.func, "id", ""))
                owner = getattr(getattr(node.func, "value", None), "id", getattr(node.func, "value", None))
                of_aws = name.endswith("_batch") and "lient" in ast.unparse(node.func)
                if name in named or of_aws or (name == "map" and owner == "pool"):
                    found.add(str(path.relative_to(ROOT)))
    return found


def test_every_loop_is_in_the_list() -> None:
    assert loops() == LOOPS.keys()
    names = {name for name in globals() if name.startswith("test_")}
    assert {loop.why for loop in LOOPS.values() if loop.why.startswith("test_")} <= names
