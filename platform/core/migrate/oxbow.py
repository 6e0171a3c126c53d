"""What a deployment of oxbow consists of: its functions, and the way of an event to each of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from tidegate.platform.core.migrate.terraform import Resource, is_unknown, name_of

Kind = Literal[
    "oxbow",
    "group-events",
    "sqs-ingest",
    "file-loader",
    "webhook",
    "auto-tag",
    "glue-create",
    "glue-sync",
    "cdf-to-csv",
    "parquet-concat",
    "delta-rs",
]
#: Functions by the variables that no other of them reads.
_SIGNS: tuple[tuple[Kind, frozenset[str]], ...] = (
    ("glue-create", frozenset({"GLUE_PATH_REGEX", "ATHENA_WORKGROUP"})),
    ("glue-sync", frozenset({"GLUE_PATH_REGEX"})),
    ("webhook", frozenset({"PRESHARED_WEBHOOK_SECRET"})),
    ("cdf-to-csv", frozenset({"CSV_OUTPUT_URL"})),
    ("parquet-concat", frozenset({"INPUT_BUCKET", "OUTPUT_BUCKET"})),
    ("file-loader", frozenset({"DELTA_TABLE_URI", "BUFFER_MORE_MBYTES_ALLOWED"})),
    ("sqs-ingest", frozenset({"DELTA_TABLE_URI", "BUFFER_MORE_QUEUE_URL"})),
    ("group-events", frozenset({"QUEUE_URL", "GROUP_DISTRIBUTION"})),
)
#: Functions by a word of their artifact or name. `webhook` alone is a word of many others.
_WORDS: tuple[tuple[Kind, str], ...] = (
    ("group-events", "group-events?"),
    ("sqs-ingest", "sqs-ingest"),
    ("file-loader", "file-loader"),
    ("auto-tag", "auto-tag(ging)?"),
    ("glue-create", "glue-create"),
    ("glue-sync", "glue-sync"),
    ("cdf-to-csv", "cdf-to-csv"),
    ("parquet-concat", "parquet-concat"),
    ("webhook", r"webhook-bootstrap\.zip|lambda/webhook/bootstrap\.zip|oxbow[-/]webhook"),
    ("oxbow", "oxbow"),
)
#: Variables by which delta-rs commits through DynamoDB.
LOCKS = ("AWS_S3_LOCKING_PROVIDER", "DYNAMO_LOCK_TABLE_NAME", "DELTA_DYNAMO_TABLE_NAME")


@dataclass(frozen=True)
class Function:
    """A function of Lambda.

    Attributes:
        kind: which of oxbow's it is, or `delta-rs`: a writer of somebody's own that commits through DynamoDB.
        name: its name.
        resource: where it is declared.
        variables: its environment. A value may be a secret.
    """

    kind: Kind
    name: str
    resource: Resource
    variables: Mapping[str, Any]


@dataclass(frozen=True)
class Queue:
    """A queue, and the name of its dead-letter queue; empty if it has none."""

    name: str
    dlq: str
    resource: Resource


@dataclass(frozen=True)
class Notice:
    """Where a bucket sends its events.

    Attributes:
        bucket: name of the bucket.
        prefix: with which keys begin.
        suffix: with which keys end.
        events: kinds of events.
        queue: name of the queue; empty if a function is called.
        function: name of the function; empty if a queue is sent to.
        via: `S3`, or the topic or rule between.
        resource: where it is declared.
    """

    bucket: str
    prefix: str
    suffix: str
    events: tuple[str, ...]
    queue: str
    function: str
    via: str
    resource: Resource


@dataclass(frozen=True)
class Deployment:
    """A deployment.

    Attributes:
        functions: those of oxbow, and other writers of delta-rs.
        queues: by name.
        notices: of every bucket.
        sources: names of the queues that a function reads, with their mappings, by the name of the function.
        resources: everything.
        unclear: a sentence for each function that may be one of oxbow's, and for what hides resources.
    """

    functions: Sequence[Function]
    queues: Mapping[str, Queue]
    notices: Sequence[Notice]
    sources: Mapping[str, Sequence[tuple[str, Resource]]]
    resources: Sequence[Resource]
    unclear: Sequence[str]
    #: DynamoDB tables by name.
    lock_tables: Mapping[str, Resource] = field(default_factory=dict)

    def entries(self, function: Function) -> list[tuple[str, list[Function]]]:
        """Return the queues through which events come to a function, each with the functions that pass them on."""
        found: list[tuple[str, list[Function]]] = []
        for queue, _ in self.sources.get(function.name, ()):
            groups = [
                each
                for each in self.functions
                if each.kind == "group-events" and name_of(each.variables.get("QUEUE_URL")) == queue
            ]
            before = [(source, [group]) for group in groups for source, _ in self.sources.get(group.name, ())]
            found += before or [(queue, [])]
        return found

    def notices_of(self, function: Function) -> list[Notice]:
        """Return what buckets send to a function, through a queue or without one."""
        queues = {queue for queue, _ in self.entries(function)}
        return [each for each in self.notices if each.queue in queues or each.function == function.name]


def read_deployment(resources: Sequence[Resource]) -> Deployment:
    """Return what resources say of oxbow."""
    by_type: dict[str, list[Resource]] = {}
    for each in resources:
        by_type.setdefault(each.type, []).append(each)
    unclear: list[str] = []
    functions = [found for each in by_type.get("aws_lambda_function", ()) if (found := _function(each, unclear))]
    sources: dict[str, list[tuple[str, Resource]]] = {}
    for each in by_type.get("aws_lambda_event_source_mapping", ()):
        called = name_of(each.text("function_arn") or each.text("function_name"))
        sources.setdefault(called, []).append((name_of(each.text("event_source_arn")), each))
    queues = {
        name: Queue(name, name_of(each.document("redrive_policy").get("deadLetterTargetArn")), each)
        for each in by_type.get("aws_sqs_queue", ())
        if (name := each.text("name"))
    }
    for each in by_type.get("module", ()):
        unclear.append(
            f"{each}: what a module makes is not in these files: give the output of `terraform show -json` instead"
        )
    for each in resources:
        if "for_each" in each.values and each.type in ("aws_sqs_queue", "aws_lambda_function"):
            unclear.append(f"{each} has for_each: give the output of `terraform show -json`, which has each of them")
    lock_tables = {name: each for each in by_type.get("aws_dynamodb_table", ()) if (name := each.text("name"))}
    return Deployment(functions, queues, list(_notices(by_type)), sources, resources, unclear, lock_tables=lock_tables)


def _function(resource: Resource, unclear: list[str]) -> Function | None:
    environment = resource.blocks("environment")
    variables = environment[0].get("variables") if environment else None
    known: Mapping[str, Any] = variables if isinstance(variables, Mapping) else {}
    words = [resource.text(name) for name in ("filename", "s3_key", "image_uri", "function_name")]
    words.append(resource.address.rpartition(".")[2])
    kind = _kind(resource, known, " ".join(words).replace("_", "-").lower())
    name = resource.text("function_name")
    if kind is None:
        if resource.text("image_uri") and any(each in known for each in (*LOCKS, "DELTA_TABLE_URI", "QUEUE_URL")):
            unclear.append(
                f"{resource} runs the image {resource.text('image_uri')}, and neither its name nor its variables say "
                'which function of oxbow that is: give a copy of the file with function_name = "oxbow-…", or '
                "sqs-ingest, group-events and so on"
            )
        return None
    if is_unknown(variables) or any(map(is_unknown, known)):
        unclear.append(
            f"{resource}: an expression of its variables is not evaluated here: give the output of `terraform show "
            "-json`"
        )
    return Function(kind, name, resource, known)


def _kind(resource: Resource, variables: Mapping[str, Any], words: str) -> Kind | None:
    for kind, names in _SIGNS:
        if names <= variables.keys():
            return kind
    for kind, pattern in _WORDS:
        if re.search(rf"(?<![a-z0-9])(?:{pattern})(?![a-z0-9])", words):
            return kind
    if not any(each in variables for each in LOCKS):
        return None
    if resource.text("runtime").startswith("provided") and "DELTA_TABLE_URI" not in variables:
        return "oxbow"
    return None if resource.text("image_uri") else "delta-rs"


def _notices(by_type: Mapping[str, Sequence[Resource]]) -> Iterator[Notice]:
    subscriptions = by_type.get("aws_sns_topic_subscription", ())
    for each in by_type.get("aws_s3_bucket_notification", ()):
        bucket = name_of(each.text("bucket"))
        for block, (queue, function, via) in _targets(each, subscriptions):
            prefix, suffix = (_text_of(block.get(name)) for name in ("filter_prefix", "filter_suffix"))
            yield Notice(bucket, prefix, suffix, _texts_of(block.get("events")), queue, function, via, each)
        if each.values.get("eventbridge") is True:
            yield from _rules(by_type, bucket)


def _targets(
    notification: Resource, subscriptions: Sequence[Resource]
) -> Iterator[tuple[Mapping[str, Any], tuple[str, str, str]]]:
    """Yield each block of a notification with its queue, its function, and what is between."""
    for block in notification.blocks("queue"):
        yield block, (name_of(block.get("queue_arn")), "", "S3")
    for block in notification.blocks("lambda_function"):
        yield block, ("", name_of(block.get("lambda_function_arn")), "S3")
    for block in notification.blocks("topic"):
        for target in _subscribers(subscriptions, name_of(block.get("topic_arn"))):
            yield block, target


def _subscribers(subscriptions: Sequence[Resource], topic: str) -> Iterator[tuple[str, str, str]]:
    for each in subscriptions:
        if name_of(each.text("topic_arn")) == topic:
            target = name_of(each.text("endpoint"))
            is_queue = each.text("protocol") == "sqs"
            yield (target if is_queue else "", "" if is_queue else target, f"the SNS topic {topic}")


def _rules(by_type: Mapping[str, Sequence[Resource]], bucket: str) -> Iterator[Notice]:
    functions = {each.text("function_name") for each in by_type.get("aws_lambda_function", ())}
    for rule in by_type.get("aws_cloudwatch_event_rule", ()):
        pattern = rule.document("event_pattern")
        detail = _mapping_of(pattern.get("detail"))
        buckets = _list_of(_mapping_of(detail.get("bucket")).get("name")) or [bucket]
        if "aws.s3" not in _list_of(pattern.get("source")) or bucket not in map(name_of, buckets):
            continue
        keys = _list_of(_mapping_of(detail.get("object")).get("key")) or [""]
        prefixes = [_text_of(each.get("prefix") if isinstance(each, Mapping) else each) for each in keys]
        for target in by_type.get("aws_cloudwatch_event_target", ()):
            if name_of(target.text("rule")) == name_of(rule.text("name")):
                to = name_of(target.text("arn"))
                queue, function = ("", to) if to in functions else (to, "")
                for prefix in prefixes:
                    events = _texts_of(pattern.get("detail-type"))
                    yield Notice(bucket, prefix, "", events, queue, function, f"the rule {rule.text('name')}", rule)


def _list_of(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _mapping_of(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _text_of(value: Any) -> str:
    """Return a text as Terraform makes it of a number; empty for anything else."""
    return str(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else ""


def _texts_of(value: Any) -> tuple[str, ...]:
    return tuple(map(str, _list_of(value)))
