"""The parts of `tidegate check` that evaluate answers of AWS."""

from __future__ import annotations

import io
import json
import re
from itertools import takewhile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    EndpointConnectionError,
    NoCredentialsError,
    ParamValidationError,
    PartialCredentialsError,
    ProfileNotFound,
    ReadTimeoutError,
    UnauthorizedSSOTokenError,
)
from rich.console import Console

from tests.support.lakes.objects import Objects
from tidegate.platform.cli.aws_errors import explain_aws
from tidegate.platform.cli.check import check as check_module
from tidegate.platform.cli.check.buckets import check_bucket
from tidegate.platform.cli.check.check import conclude, findings, parse_address, run_check
from tidegate.platform.cli.check.findings import Failed, Finding, call_permitted, make_finding
from tidegate.platform.cli.check.known_checks import Check
from tidegate.platform.cli.check.lake import (
    check_discovered,
    check_registered,
    check_registered_by_discovery,
)
from tidegate.platform.cli.check.metrics import check_metrics
from tidegate.platform.cli.check.queues import CheckedQueue, check_queue
from tidegate.platform.cli.errors import CommandError
from tidegate.platform.cloud.queue_policy import allows_send
from tidegate.platform.cloud.requirements import EVENTS
from tidegate.platform.core.config.lake import DiscoverySpec, LakeConfig, QueueSpec
from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.core.keys.table_key import TableKey
from tidegate.platform.lake.lake_root.store import LakeStore
from tidegate.platform.lake.spark.remote import SparkRemote
from tidegate.platform.lake.spark.server_choice import ServerChoice

ARN = "arn:aws:sqs:us-east-1:1:events"
S3 = "s3.amazonaws.com"
BUCKET = "arn:aws:s3:::landing"


def refusal(code: str, status: int, operation: str = "Call") -> ClientError:
    return ClientError(
        {"Error": {"Code": code, "Message": "no"}, "ResponseMetadata": {"HTTPStatusCode": status}},  # type: ignore[typeddict-item]
        operation,
    )


def policy(**changes: Any) -> dict[str, Any]:
    statement = {
        "Effect": "Allow",
        "Principal": {"Service": S3},
        "Action": "sqs:SendMessage",
        "Resource": ARN,
        "Condition": {"ArnLike": {"aws:SourceArn": BUCKET}},
    }
    return {"Statement": [{**statement, **changes}]}


def spares(service: str, **changes: Any) -> list[dict[str, Any]]:
    """Return a denial of everybody but a service."""
    (statement,) = policy(Effect="Deny", NotPrincipal={"Service": service}, **changes)["Statement"]
    del statement["Principal"]
    return [statement]


@pytest.mark.parametrize(
    ("given", "allowed"),
    [
        ({}, False),
        (policy(), True),
        (policy(Principal="*"), True),
        (policy(Principal={"AWS": "*"}), True),
        (policy(Principal={"Service": ["sns.amazonaws.com", S3]}), True),
        (policy(Principal={"Service": "sns.amazonaws.com"}), False),
        (policy(Principal={"AWS": "arn:aws:iam::1:root"}), False),
        (policy(Action=["sqs:ReceiveMessage", "SQS:SendMessage"]), True),
        (policy(Action="sqs:*"), True),
        (policy(Action="sqs:ReceiveMessage"), False),
        (policy(Resource="*"), True),
        (policy(Resource="arn:aws:sqs:us-east-1:1:other"), False),
        (policy(Condition={}), True),
        (policy(Condition={"ArnLike": {"aws:SourceArn": "arn:aws:s3:*:*:land*"}}), True),
        (policy(Condition={"ArnEquals": {"aws:SourceArn": ["arn:aws:s3:::other", BUCKET]}}), True),
        (policy(Condition={"StringEquals": {"AWS:SourceArn": "arn:aws:s3:::other"}}), False),
        (policy(Condition={"StringEquals": {"aws:SourceAccount": "1"}}), True),
        (policy(Effect="Deny"), False),
        ({"Statement": [*policy()["Statement"], *policy(Effect="Deny", Principal="*")["Statement"]]}, False),
        ({"Statement": [*policy()["Statement"], *spares(S3)]}, True),
        ({"Statement": [*policy()["Statement"], *spares("sns.amazonaws.com")]}, False),
        ({"Statement": [*policy()["Statement"], *spares(S3, NotAction="sqs:ReceiveMessage")]}, True),
        ({"Statement": policy()["Statement"][0]}, True),
    ],
)
def test_who_may_send_by_a_policy(given: dict[str, Any], allowed: bool) -> None:
    assert allows_send(given, ARN, S3, BUCKET) is allowed


class Client:
    """Answers calls from a table. An exception in it is raised."""

    meta = SimpleNamespace(region_name="eu-central-1")

    def __init__(self, **answers: Any) -> None:
        self.answers = answers
        self.calls: list[str] = []

    def __getattr__(self, name: str) -> Any:
        def call(**given: Any) -> Any:
            self.calls.append(name)
            answer = self.answers.get(name, {})
            if isinstance(answer, Exception):
                raise answer
            return answer

        return call


ATTRIBUTES = {
    "QueueArn": ARN,
    "Policy": json.dumps(policy()),
    "VisibilityTimeout": "120",
    "MessageRetentionPeriod": "1209600",
    "RedrivePolicy": json.dumps({"deadLetterTargetArn": f"{ARN}-dlq", "maxReceiveCount": 8}),
    "ApproximateNumberOfMessages": "3",
    "ApproximateNumberOfMessagesNotVisible": "1",
}


def sqs(changes: dict[str, Any] | None = None, **answers: Any) -> Client:
    attributes = {name: value for name, value in {**ATTRIBUTES, **(changes or {})}.items() if value is not None}
    return Client(**{"get_queue_attributes": {"Attributes": attributes}, "get_queue_url": {"QueueUrl": "u"}, **answers})


def failures(client: Client, spec: QueueSpec | None = None) -> list[Finding]:
    found = check_queue(client, spec or QueueSpec(name="events", dlq="events-dlq"), [])  # type: ignore[arg-type, call-arg]
    return [finding for finding in found if not finding.ok]


def test_a_right_queue() -> None:
    taken: list[CheckedQueue] = []
    found = list(check_queue(sqs(), QueueSpec(name="events", dlq="events-dlq"), taken))  # type: ignore[arg-type, call-arg]
    assert [finding.ok for finding in found] == [True] * 9
    assert found[0] == Finding(Check.QUEUE_REACHABLE, "events", True, "3 messages wait, 1 are in flight")
    assert taken == [CheckedQueue("events", ARN, policy())]


@pytest.mark.parametrize(
    ("client", "what", "remedy"),
    [
        (
            sqs(get_queue_url=refusal("AWS.SimpleQueueService.NonExistentQueue", 400)),
            "reachable",
            "there is no queue events .* correct `queues`",
        ),
        (sqs(get_queue_url=refusal("AccessDenied", 403)), "reachable", "allow sqs:GetQueueUrl on events"),
        (
            sqs(get_queue_attributes=refusal("AccessDeniedException", 400)),
            "reachable",
            "allow sqs:GetQueueAttributes on events",
        ),
        (
            sqs(get_queue_attributes=refusal("InvalidClientTokenId", 403)),
            "reachable",
            "does not accept the credentials",
        ),
        (sqs(get_queue_url=NoCredentialsError()), "reachable", "no AWS credentials"),
        (
            sqs(get_queue_url=EndpointConnectionError(endpoint_url="http://x")),
            "reachable",
            "cannot be reached.*AWS_ENDPOINT_URL",
        ),
        (
            sqs(receive_message=refusal("AccessDenied", 403)),
            "messages can be received",
            "allow sqs:ReceiveMessage on events",
        ),
        (
            sqs(delete_message=refusal("AccessDenied", 403)),
            "messages can be deleted",
            "allow sqs:DeleteMessage on events",
        ),
        (
            sqs(change_message_visibility=refusal("AccessDenied", 403)),
            "messages can be kept hidden",
            "allow sqs:ChangeMessageVisibility on events",
        ),
        (sqs({"VisibilityTimeout": "30"}), "visibility timeout", "30 s, .* set VisibilityTimeout to 120"),
        (sqs({"VisibilityTimeout": "43200"}), "visibility timeout", "12 h, .* set VisibilityTimeout to 120"),
        (sqs({"MessageRetentionPeriod": "3600"}), "retention", "1 h, .* MessageRetentionPeriod"),
        (sqs({"RedrivePolicy": None}), "dead-letter queue", "set RedrivePolicy"),
        (
            sqs({"RedrivePolicy": json.dumps({"deadLetterTargetArn": "arn:aws:sqs:us-east-1:1:other"})}),
            "dead-letter queue",
            "names other, lake.yaml names events-dlq",
        ),
    ],
)
def test_a_wrong_queue_and_the_remedy(client: Client, what: str, remedy: str) -> None:
    failed, *dead = failures(client)
    assert failed.what == f"queue events: {what}"
    assert {finding.what for finding in dead} <= {"queue events: dead-letter queue"}

    assert re.search(remedy, failed.detail), failed.detail


def test_a_receipt_that_no_message_has_is_not_a_missing_permission() -> None:
    assert failures(sqs(delete_message=refusal("ReceiptHandleIsInvalid", 400))) == []


def test_a_receive_takes_no_message_that_waits() -> None:
    """Otherwise each `tidegate check` would move a message closer to the dead-letter queue."""
    asked: list[int] = []

    def receive(**given: Any) -> dict[str, Any]:
        asked.append(given["MaxNumberOfMessages"])
        raise refusal("ReadCountOutOfRange", 400)

    for waiting in ("3", "0"):
        client = sqs({"ApproximateNumberOfMessages": waiting})
        client.__dict__["receive_message"] = receive
        assert failures(client) == []
    assert asked == [11, 11, 1, 1]  # of the queue, and of its dead-letter queue


DIRECT: dict[str, Any] = {"QueueArn": ARN, "Events": list(EVENTS)}
RIGHT = {"QueueConfigurations": [DIRECT]}
QUEUE = CheckedQueue("events", ARN, policy())


ORDERS = {"name": "orders", "prefix": "s3://landing/orders/"}


def filtered(prefix: str, suffix: str = "") -> dict[str, Any]:
    rules = [{"Name": "Prefix", "Value": prefix}, {"Name": "suffix", "Value": suffix}]
    return {"Filter": {"Key": {"FilterRules": rules if suffix else rules[:1]}}}


def notified(*queues: dict[str, Any]) -> dict[str, Any]:
    return {"get_bucket_notification_configuration": {"QueueConfigurations": list(queues)}}


def bucket_failures(queue: CheckedQueue = QUEUE, format: str | None = None, **answers: Any) -> list[Finding]:
    tables = [TableSpec.model_validate({**ORDERS, "format": format})]
    client = Client(**{"get_bucket_notification_configuration": RIGHT, **answers})
    return [finding for finding in check_bucket(client, "landing", tables, [queue]) if not finding.ok]  # type: ignore[arg-type]


def test_a_right_bucket() -> None:
    assert bucket_failures() == []
    assert bucket_failures(head_object=refusal("404", 404)) == []
    narrow = [{**DIRECT, **filtered("orders/")}]
    assert bucket_failures(get_bucket_notification_configuration={"QueueConfigurations": narrow}) == []


def test_a_bucket_behind_a_topic_or_eventbridge_needs_that_service_in_the_policy() -> None:
    topic = "arn:aws:sns:us-east-1:1:t"
    configured = {"TopicConfigurations": [{"TopicArn": topic, "Events": list(EVENTS)}]}
    (failed,) = bucket_failures(get_bucket_notification_configuration=configured)
    assert f"does not let sns.amazonaws.com send for {topic}" in failed.detail
    allowed = policy(Principal={"Service": "sns.amazonaws.com"}, Condition={"ArnLike": {"aws:SourceArn": topic}})
    assert bucket_failures(CheckedQueue("events", ARN, allowed), get_bucket_notification_configuration=configured) == []
    bridged: dict[str, Any] = {"EventBridgeConfiguration": {}}
    assert "events.amazonaws.com" in bucket_failures(get_bucket_notification_configuration=bridged)[0].detail


@pytest.mark.parametrize(
    ("answers", "remedy"),
    [
        ({"list_objects_v2": refusal("404", 404)}, "there is no bucket landing"),
        ({"list_objects_v2": refusal("403", 403)}, "allow s3:ListBucket on arn:aws:s3:::landing (if another"),
        ({"list_objects_v2": refusal("301", 301)}, "in another region: set AWS_REGION, and AWS_ENDPOINT_URL"),
        ({"head_object": refusal("403", 403)}, "allow s3:GetObject on arn:aws:s3:::landing/*"),
        (
            {"get_bucket_notification_configuration": refusal("AccessDenied", 403)},
            "allow s3:GetBucketNotification on arn:aws:s3:::landing",
        ),
        (
            {"get_bucket_notification_configuration": {}},
            "add one for s3:ObjectCreated:*, s3:ObjectRemoved:*, s3:LifecycleExpiration:*",
        ),
        (
            notified({"QueueArn": f"{ARN}2", "Events": ["s3:*"]}),
            f"sends to a queue of lake.yaml ({ARN})",
        ),
        (
            notified({"QueueArn": ARN, "Events": ["s3:ObjectCreated:*"]}),
            "no notification for s3:ObjectRemoved:*",
        ),
        (
            notified({**DIRECT, **filtered("items/")}),
            "leaves out orders/ (table orders, any files)",
        ),
        (
            notified({**DIRECT, **filtered("", "_SUCCESS")}),
            "leaves out orders/ (table orders, any files)",
        ),
    ],
)
def test_a_wrong_bucket_and_the_remedy(answers: dict[str, Any], remedy: str) -> None:
    (failed,) = bucket_failures(**answers)
    assert remedy in failed.detail


@pytest.mark.parametrize(
    ("suffix", "format", "seen"),
    [
        (".parquet", None, True),
        (".parquet", "parquet", True),
        (".csv.gz", "csv", True),
        (".csv", "parquet", False),
        (".gz", "csv", False),
    ],
)
def test_a_suffix_filter_lets_through_files_of_its_format(suffix: str, format: str | None, seen: bool) -> None:
    """`.gz` may be right for a producer, but Tidegate cannot know that all its files end so."""
    configured = notified({**DIRECT, **filtered("orders/", suffix)})
    failed = bucket_failures(format=format, **configured)
    assert [finding.detail.split(":* ")[1].split(" (")[0] for finding in failed] == (
        [] if seen else ["leaves out orders/"]
    )


@pytest.mark.parametrize(
    ("completion", "suffixes", "hidden"),
    [
        ("_SUCCESS", [".parquet"], True),
        ("_SUCCESS", [".parquet", "_SUCCESS"], False),
        ("_SUCCESS", [""], False),
        ("*manifest", [".parquet", "manifest"], False),
        ("manifest.json", [".parquet", ".checksum"], True),
    ],
)
def test_a_filter_that_hides_completion_signals_fails(completion: str, suffixes: list[str], hidden: bool) -> None:
    tables = [TableSpec.model_validate({**ORDERS, "format": "parquet", "completion": completion})]
    client = Client(**notified(*({**DIRECT, **filtered("orders/", suffix)} for suffix in suffixes)))
    failed = [finding for finding in check_bucket(client, "landing", tables, [QUEUE]) if not finding.ok]  # type: ignore[arg-type]
    assert [f"hides {completion}, the completion signals of table orders" in each.detail for each in failed] == (
        [True] if hidden else []
    )


def test_what_a_suffix_filter_leaves_out_is_reported() -> None:
    client = Client(**notified({**DIRECT, **filtered("", ".parquet")}))
    found = {finding.what: finding.detail for finding in check_bucket(client, "landing", [], [QUEUE])}  # type: ignore[arg-type]
    assert found["bucket landing: notification"] == "created and removed objects that end in .parquet, to the queue"


@pytest.mark.parametrize(
    ("table", "ok"),
    [({"format": "parquet"}, False), ({}, False), ({"mode": "load"}, True), ({"format": "json"}, True), (None, True)],
)
def test_what_a_lifecycle_rule_removes_must_have_an_event_where_files_may_be_registered(
    table: dict[str, Any] | None, ok: bool
) -> None:
    """S3 reports it by separate events: without them a registered table still names files that are gone."""
    tables = [] if table is None else [TableSpec.model_validate({**ORDERS, **table})]
    client = Client(**notified({**DIRECT, "Events": ["s3:ObjectCreated:*", "s3:ObjectRemoved:*"]}))
    found = {finding.what: finding for finding in check_bucket(client, "landing", tables, [QUEUE])}  # type: ignore[arg-type]
    notification = found["bucket landing: notification"]
    assert (notification.ok, notification.warning) == (ok, ok)
    assert "s3:LifecycleExpiration:*" in notification.detail
    assert ("bucket landing: may send to the queue" in found) is ok


def test_a_policy_that_does_not_name_the_bucket() -> None:
    other = policy(Condition={"ArnLike": {"aws:SourceArn": "arn:aws:s3:::other"}})
    (failed,) = bucket_failures(CheckedQueue("events", ARN, other))
    assert failed.what == "bucket landing: may send to the queue"
    assert f"does not let {S3} send for {BUCKET}" in failed.detail


LAKE = LakeConfig.model_validate(
    {
        "lake": {"root": "s3://lake/root"},
        "queues": [{"name": "events"}],
        "buckets": ["landing"],
        "tables": [{"name": "orders", "prefix": "s3://landing/shop/orders/", "mode": "register"}],
    }
)


@pytest.mark.parametrize("refused", ["put_object", "delete_object"])
@pytest.mark.parametrize("folder", ["_delta_log/", "_tidegate/"])
def test_a_registered_table_needs_write_permission_at_its_own_prefix(refused: str, folder: str) -> None:
    action = {"put_object": "s3:PutObject", "delete_object": "s3:DeleteObject"}[refused]

    class Elsewhere(Client):
        """Refuses the call in one folder only."""

        def __getattr__(self, name: str) -> Any:
            def call(**given: Any) -> Any:
                if name == refused and given["Key"].startswith(f"shop/orders/{folder}"):
                    raise refusal("AccessDenied", 403)
                return {}

            return call

    (failed,) = (finding for finding in check_registered(Elsewhere(), LAKE.tables[0]) if not finding.ok)  # type: ignore[arg-type]
    assert failed.detail == f"permission missing: allow {action} on arn:aws:s3:::landing/shop/orders/{folder}*"


@pytest.mark.parametrize(
    ("prefix", "remedy"),
    [
        ("shop/orders/", ""),
        ("shop/items/", ""),
        ("shop/", ""),  # it has the files of its own folder alone
        ("shop/orders/eu/", "move s3://lake/root/tables/landing.shop.orders.eu.json away"),
    ],
)
def test_a_configured_prefix_must_not_overlap_a_discovered_one(prefix: str, remedy: str) -> None:
    finding = check_discovered(LAKE, {TableKey("landing", prefix), TableKey("elsewhere", "shop/")})
    assert finding.ok is (not remedy)
    assert finding.ok or f"overlaps s3://landing/{prefix}" in finding.detail
    assert remedy in finding.detail


def test_a_registered_table_that_only_discovery_knows_is_in_no_policy_and_is_named() -> None:
    store = LakeStore(Objects(), "s3://lake/root")  # type: ignore[arg-type]
    tables = {"landing.shop.orders": True, "landing.old": True, "landing.loaded": False}
    for table_key, is_registered in tables.items():
        store.births.ensure_birth(table_key, "t", registered=is_registered)
    known = {TableKey.decode(table_key) for table_key in (*tables, "landing.unborn")}
    found = check_registered_by_discovery(store, LAKE, known)
    assert (found.ok, found.warning) == (True, True)
    assert "registered, and not in lake.yaml: landing.old. They keep the mode" in found.detail
    assert "write `discovery: {parquet: register}`" in found.detail
    registers = LAKE.model_copy(update={"discovery": DiscoverySpec(parquet="register")})
    assert not check_registered_by_discovery(store, registers, known).warning
    assert not check_registered_by_discovery(store, LAKE, known - {TableKey("landing", "old/")}).warning


@pytest.mark.parametrize(
    ("folder", "shares"), [("2026/", True), ("2026/05/", True), ("day=1/", True), ("eu/", False), ("2026/eu/", False)]
)
def test_a_configured_folder_of_dates_takes_files_of_the_discovered_table_around_it(folder: str, shares: bool) -> None:
    inner = {"name": "logs_of", "prefix": f"s3://landing/logs/{folder}"}
    config = LakeConfig.model_validate({**LAKE.model_dump(by_alias=True, exclude_unset=True), "tables": [inner]})
    finding = check_discovered(config, {TableKey("landing", "logs/")})
    assert finding.ok is not shares
    assert ("configure that prefix instead" in finding.detail) is shares


@pytest.mark.parametrize("text", ["landing/x", "s3://", "s3://landing", "s3://landing/", "https://landing/x"])
def test_an_address_needs_bucket_and_key(text: str) -> None:
    with pytest.raises(CommandError, match="s3://"):
        parse_address(text)


def test_an_address() -> None:
    assert parse_address("s3://landing/a b//c.json") == ("landing", "a b//c.json")


def test_a_check_is_ok_or_says_why() -> None:
    assert make_finding(Check.LAKE_WRITE, "x", lambda: "fine") == Finding(Check.LAKE_WRITE, "x", True, "fine")
    with pytest.raises(Failed, match=r"allow s3:PutObject on arn:x"):
        call_permitted("s3:PutObject", "arn:x", Client(put_object=refusal("AccessDenied", 403)).put_object)
    with pytest.raises(ClientError):
        call_permitted("s3:PutObject", "arn:x", Client(put_object=refusal("SlowDown", 503)).put_object)


@pytest.mark.parametrize("home", [None, Path("home")])
def test_what_a_start_of_the_local_platform_creates_names_the_start(
    home: Path | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = [Finding(check, "x", ok, "wrong") for check in Check for ok in (True, False)]
    monkeypatch.setattr(check_module, "_findings", lambda *_: found)
    using: Any = SimpleNamespace(home=home)
    said = {finding.check for finding in findings(using, None, set()) if "start it again" in finding.detail}
    assert said == (set(check_module._LOCAL_PLATFORM_CHECKS) if home else set())
    assert all(finding.ok or "wrong" in finding.detail for finding in findings(using, None, set()))


@pytest.mark.parametrize(
    "error",
    [ValueError("a"), KeyError("a"), TypeError("a"), RecursionError("a"), MemoryError("a"), OSError("a"), Failed("a")],
    ids=lambda error: type(error).__name__,
)
def test_whatever_a_check_raises_the_others_continue(error: Exception) -> None:
    def check() -> str:
        raise error

    finding = make_finding(Check.LAKE_WRITE, "x", check)
    assert not finding.ok
    assert "a" in finding.detail
    if not isinstance(error, ValueError | Failed):
        assert finding.detail.startswith(f"could not be checked: {type(error).__name__}: ")


@pytest.mark.parametrize(
    ("answer", "ok", "detail"),
    [
        ({}, True, "allowed"),
        (refusal("InvalidParameterValue", 400), True, "allowed"),
        (refusal("AccessDenied", 403), False, "allow cloudwatch:PutMetricData on the namespace Tidegate"),
        (refusal("InvalidClientTokenId", 403), False, "does not accept the credentials"),
        (EndpointConnectionError(endpoint_url="http://x"), False, "AWS cannot be reached"),
    ],
    ids=["taken", "refused for its time", "denied", "credentials", "unreachable"],
)
def test_whether_metrics_can_be_published(answer: Any, ok: bool, detail: str) -> None:
    found = check_metrics(Client(put_metric_data=answer))
    assert (found.ok, detail in found.detail) == (ok, True)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ProfileNotFound(profile="prod"), r"profile \(prod\) could not be found: correct AWS_PROFILE, or unset it"),
        (UnauthorizedSSOTokenError(), "the AWS session has ended .*: sign in again with `aws sso login`"),
        (PartialCredentialsError(provider="env", cred_var="AWS_SECRET_ACCESS_KEY"), "AWS_SECRET_ACCESS_KEY; correct"),
        (ReadTimeoutError(endpoint_url="http://x"), "AWS cannot be reached: .*; check the network"),
        (ParamValidationError(report="a bucket"), "AWS was not asked: .*a bucket; check lake.yaml"),
        (refusal("PermanentRedirect", 301), "the bucket is in another region .*: set AWS_REGION"),
        (refusal("ExpiredTokenException", 400), "does not accept the credentials"),
        (refusal("AccessDenied", 403), "permission missing: "),
        *(
            (refusal(code, 403, operation), "permission missing: .*; if another account owns the bucket, its")
            for code, operation in (("403", "HeadBucket"), ("AccessDenied", "GetBucketLocation"), ("403", "HeadObject"))
        ),
        (refusal("SlowDown", 503), "SlowDown"),
    ],
    ids=lambda each: each if isinstance(each, str) else type(each).__name__,
)
def test_an_error_of_aws_says_what_to_do(error: ClientError | BotoCoreError, said: str) -> None:
    found = explain_aws(error)
    assert re.search(said, found)
    assert ("cannot be reached" in found) is ("cannot be reached" in said)


def test_nothing_is_found_in_order_in_a_bucket_that_is_not_there() -> None:
    s3 = Client(list_objects_v2=refusal("NoSuchBucket", 404))
    using: Any = SimpleNamespace(
        settings=SimpleNamespace(aws=SimpleNamespace(client=lambda name: s3, queues=lambda region: sqs())), home=None
    )
    of_bucket = takewhile(lambda found: not found.what.startswith("lake root"), findings(using, LAKE, set()))
    reachable = [(found.what, found.ok) for found in of_bucket if found.what.startswith("bucket ")]
    assert reachable == [(f"bucket {bucket}: reachable", False) for bucket in LAKE.buckets]


@pytest.mark.parametrize("home", [None, Path("local")], ids=["aws", "local platform"])
def test_a_bucket_must_notify_a_queue_of_events_and_never_that_of_rows(home: Path | None) -> None:
    """Its events would be rows of the table. On this machine, a start of `dev` adds the notification."""
    row = {"name": "clicks", "row_queue": {"name": "rows"}}
    config = LakeConfig.model_validate({**LAKE.model_dump(by_alias=True, exclude_unset=True), "tables": [row]})
    rows = "arn:aws:sqs:us-east-1:1:rows"
    to_rows = {"QueueConfigurations": [{"QueueArn": rows, "Events": list(EVENTS)}]}
    s3 = Client(list_objects_v2={}, head_object={}, get_bucket_notification_configuration=to_rows)

    class Queues(Client):
        def get_queue_url(self, QueueName: str) -> dict[str, str]:  # noqa: N803
            return {"QueueUrl": QueueName}

        def get_queue_attributes(self, QueueUrl: str, **_: Any) -> dict[str, Any]:  # noqa: N803
            return {"Attributes": {**ATTRIBUTES, "QueueArn": f"arn:aws:sqs:us-east-1:1:{QueueUrl}"}}

    using: Any = SimpleNamespace(
        settings=SimpleNamespace(aws=SimpleNamespace(client=lambda name: s3, queues=lambda region: Queues())), home=home
    )
    of_bucket = takewhile(lambda found: not found.what.startswith("lake root"), findings(using, config, set()))
    (found,) = (finding for finding in of_bucket if finding.check is Check.BUCKET_NOTIFICATIONS)
    assert not found.ok
    assert "none of its notifications sends to a queue of lake.yaml (arn:aws:sqs:us-east-1:1:events)" in found.detail
    assert ("stop `tidegate dev` and start it again" in found.detail) is (home is not None)


def test_buckets_of_a_lake_without_a_queue_need_no_notification() -> None:
    s3 = Client(list_objects_v2={}, head_object={})
    given = LAKE.model_dump(by_alias=True, exclude_unset=True)
    table = {"name": "t", "prefix": f"s3://{LAKE.buckets[0]}/t/", "reconcile_interval": 60}
    config = LakeConfig.model_validate({**given, "queues": [], "tables": [table]})
    using: Any = SimpleNamespace(settings=SimpleNamespace(aws=SimpleNamespace(client=lambda name: s3)), home=None)
    of_bucket = list(takewhile(lambda found: not found.what.startswith("lake root"), findings(using, config, set())))
    assert Check.BUCKET_REACHABLE in {found.check for found in of_bucket}
    assert Check.BUCKET_NOTIFICATIONS not in {found.check for found in of_bucket}


@pytest.mark.parametrize(
    ("missing", "remedy"),
    [
        (["AWS_REGION", "AWS_DEFAULT_REGION"], "no AWS region is set: set AWS_REGION, or `region` in the AWS profile"),
        (["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"], "no AWS credentials were found: set AWS_PROFILE, or the"),
    ],
    ids=["region", "credentials"],
)
def test_without_region_or_credentials_nothing_is_asked_of_aws(
    missing: list[str], remedy: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    environ = {
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_CONFIG_FILE": str(tmp_path / "none"),
        "AWS_SHARED_CREDENTIALS_FILE": str(tmp_path / "none"),
    }
    for name in ("AWS_PROFILE", "AWS_DEFAULT_REGION", *environ):
        monkeypatch.delenv(name, raising=False)
    for name, value in environ.items():
        if name not in missing:
            monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    routes = 'event_types: [{key: "{type}/**"}]\nroutes: [{name: all, queue: {name: forwarded}}]\n'
    lake = f"lake: {{root: s3://lake/x}}\nqueues: [{{name: q}}]\nbuckets: [landing]\n{routes}"
    (tmp_path / "lake.yaml").write_text(lake)
    console = Console(file=io.StringIO(), width=1000, no_color=True)
    assert not run_check(console, tmp_path / "lake.yaml", None, "s3://landing/flights/a.parquet")
    said = console.file.getvalue()  # type: ignore[attr-defined]
    assert f"FAILED AWS: region and credentials [aws.credentials]  {remedy}" in said
    assert "ok     configuration [lake-yaml.valid]  0 tables, 1 queues" in said
    assert "queue q" not in said
    # The table, the event type and the routes of the key are still printed.
    assert "goes to bronze." in said
    assert "  event type: flights, by the rule for keys like {type}/**\n  routes: all\n" in said
    assert said.endswith("\n1 check failed: aws.credentials\n")


@pytest.mark.parametrize(
    ("outcomes", "said"),
    [
        ("", ["all checks ok"]),
        ("w", ["1 warning: queue.retention"]),
        ("ww", ["2 warnings: queue.retention"]),
        ("fw", ["1 check failed: aws.credentials", "1 warning: queue.retention"]),
        ("ff", ["2 checks failed: aws.credentials"]),
    ],
)
def test_the_last_lines_count_what_needs_a_person(outcomes: str, said: list[str]) -> None:
    found = [Finding(Check.CONFIGURATION, "lake.yaml", True)]
    for outcome in outcomes:
        check = Check.AWS_CREDENTIALS if outcome == "f" else Check.QUEUE_RETENTION
        found.append(Finding(check, "x", outcome == "w", "read this", warning=outcome == "w"))
    console = Console(file=io.StringIO(), width=200)
    conclude(console, found)
    assert console.file.getvalue().split("\n") == ["", *said, ""]  # type: ignore[attr-defined]


@pytest.mark.parametrize("gone", [(), ("sc://a:1",), ("sc://a:1", "sc://b:1")])
def test_each_spark_server_is_checked_and_one_that_is_gone_hides_nothing(
    gone: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    server = ServerChoice([SparkRemote.parse(f"sc://{name}:1") for name in "abc"])
    answers = Check.SPARK_ANSWERS
    monkeypatch.setattr(
        check_module, "check_spark", lambda remote, *_: [Finding(answers, str(remote), str(remote) not in gone, "")]
    )
    monkeypatch.setattr(
        check_module, "check_silver", lambda remote, *_: [Finding(Check.TABLE_SILVER_COLUMNS, str(remote), True, "")]
    )
    using: Any = SimpleNamespace(settings=SimpleNamespace(spark_server=lambda config: server), explain=str)
    config = LakeConfig.model_validate(
        {"lake": {"root": "s3://lake/x"}, "queues": [{"name": "q"}], "buckets": ["landing"]}
    )
    found = list(check_module._check_server(using, config, None, reachable=True))  # type: ignore[arg-type]
    assert [(each.subject, each.ok) for each in found if each.check is answers] == [
        (f"sc://{name}:1", f"sc://{name}:1" not in gone) for name in "abc"
    ]
    first = next(f"sc://{name}:1" for name in "abc" if f"sc://{name}:1" not in gone)
    assert [each.subject for each in found if each.check is not answers] == [first]
