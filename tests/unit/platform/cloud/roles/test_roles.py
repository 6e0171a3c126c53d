"""What a lake needs on AWS: statements, policies, and the page that shows them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.support.servers.aws_calls import CALLS
from tidegate.platform.cli.commands.policies import run_policy
from tidegate.platform.cli.errors import CommandError
from tidegate.platform.cloud.log_policy import log_policies, open_logs
from tidegate.platform.cloud.policy_page import renew_page
from tidegate.platform.cloud.roles.dagster_role import dagster
from tidegate.platform.cloud.roles.lake_arns import PROBE, LakeArns
from tidegate.platform.cloud.roles.person_roles import operator
from tidegate.platform.cloud.roles.roles import ROLES, find_permission, webhook
from tidegate.platform.cloud.roles.spark_role import spark
from tidegate.platform.cloud.statement import Statement, Statements, escape_wildcards, permits
from tidegate.platform.core.config.lake import LakeConfig

PAGE = Path(__file__).parents[5] / "docs" / "operate" / "aws.md"


def lake(*tables: dict[str, Any], **more: Any) -> LakeConfig:
    base = {"lake": {"root": "s3://lake/root"}, "queues": [{"name": "events"}], "buckets": ["landing"]}
    return LakeConfig.model_validate({**base, "discovery": False, "tables": list(tables), **more})


def table(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "prefix": f"s3://landing/{name}/", **more}


def allowed(statements: Statements, action: str, resource: str) -> bool:
    return permits(statements, action, resource)


def test_the_page_shows_what_is_printed() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert page.count("<!-- printed: ") == page.count("<!-- end -->") == 11
    assert renew_page(page) == page, "run: make policies"


@pytest.mark.parametrize(
    ("pattern", "resource", "matches"),
    [
        ("arn:aws:s3:::b/x/*", "arn:aws:s3:::b/x/y/z", True),
        ("arn:aws:s3:::b/x/*", "arn:aws:s3:::b/x", False),
        ("arn:aws:s3:::b/*/_delta_log/*", "arn:aws:s3:::b/x/y/_delta_log/0.json", True),
        ("arn:aws:s3:::b/*/_delta_log/*", "arn:aws:s3:::b/x/part-0.parquet", False),
        ("arn:aws:s3:::b/x.y", "arn:aws:s3:::b/xzy", False),
        (f"arn:aws:s3:::b/{escape_wildcards('a*b?$c')}/*", "arn:aws:s3:::b/a*b?$c/d", True),
        (f"arn:aws:s3:::b/{escape_wildcards('a*b')}/*", "arn:aws:s3:::b/axb/d", False),
    ],
)
def test_resources_match_by_iam_s_wildcards(pattern: str, resource: str, matches: bool) -> None:
    assert Statement("S", ("s3:GetObject",), (pattern,), "").covers("s3:GetObject", resource) is matches


def test_a_condition_holds_for_what_the_request_says() -> None:
    metrics = next(statement for statement in dagster(lake(metrics="cloudwatch")) if statement.sid == "Metrics")
    for namespace, holds in (("Tidegate", True), ("Other", False)):
        context = {"cloudwatch:namespace": namespace}
        assert metrics.covers("cloudwatch:PutMetricData", "*", context) is holds


@pytest.mark.parametrize(
    ("given", "is_written"),
    [
        ({"format": "parquet"}, True),
        ({}, True),
        ({"format": "parquet", "mode": "load"}, False),
        ({"format": "csv"}, False),
    ],
)
def test_where_files_may_be_registered_logs_and_copies_are_written(given: dict[str, Any], is_written: bool) -> None:
    config = lake(table("orders", **given))
    log, copy = (f"arn:aws:s3:::landing/orders/{folder}/x" for folder in ("_delta_log", "_tidegate/copies"))
    assert allowed(spark(config), "s3:PutObject", log) is is_written
    assert allowed(operator(config), "s3:DeleteObject", log) is is_written
    assert allowed(dagster(config), "s3:PutObject", copy) is is_written
    assert not allowed(dagster(config), "s3:PutObject", "arn:aws:s3:::landing/orders/part-0.parquet")
    # Of the log and the copies, `check` changes its own probes alone.
    probes = [f"arn:aws:s3:::landing/orders/{folder}/{PROBE}1" for folder in ("_delta_log", "_tidegate")]
    for probe in probes:
        assert allowed(dagster(config), "s3:PutObject", probe) is is_written
        assert allowed(dagster(config), "s3:DeleteObject", probe) is is_written
    assert not allowed(dagster(config), "s3:PutObject", log)
    for other in (log, copy, f"arn:aws:s3:::landing/orders/{PROBE}1"):
        assert not allowed(dagster(config), "s3:DeleteObject", other)


@pytest.mark.parametrize("registers", [True, False])
def test_every_folder_may_be_a_registered_table_if_discovery_registers(registers: bool) -> None:
    config = lake(
        {"name": "whole", "prefix": "s3://other/", "format": "parquet"},
        discovery={"parquet": "register"} if registers else True,
        buckets=["landing", "other"],
    )
    for key, may in (("landing/a/b", registers), ("other", True)):
        assert allowed(dagster(config), "s3:PutObject", f"arn:aws:s3:::{key}/_tidegate/copies/x") is may
        assert allowed(spark(config), "s3:PutObject", f"arn:aws:s3:::{key}/_delta_log/x") is may
    assert not allowed(dagster(config), "s3:PutObject", "arn:aws:s3:::landing/a/b/x")
    paths = [path for path in LakeArns(config).paths() if "landing" in path]
    assert paths == (["s3a://landing/*", "s3://landing/*"] if registers else [])


def test_a_producer_s_files_may_be_changed_where_after_load_says_so_alone() -> None:
    config = lake(
        table("kept", format="json"),
        table("gone", format="json", after_load="delete"),
        table("moved", format="json", after_load={"move": "s3://archive/moved/"}),
        table("tagged", format="json", after_load={"tag": {"a": "b"}}),
        {"name": "rows", "row_queue": {"name": "rows"}, "after_load": "delete"},
    )
    may = dagster(config)
    deleted = [
        name
        for name in ("kept", "gone", "moved", "tagged")
        if allowed(may, "s3:DeleteObject", f"arn:aws:s3:::landing/{name}/x")
    ]
    assert deleted == ["gone", "moved"]
    for key, holds in (("x", False), (f"{PROBE}1", True)):
        assert allowed(may, "s3:DeleteObject", f"arn:aws:s3:::archive/moved/{key}") is holds
    assert allowed(may, "s3:ListBucket", "arn:aws:s3:::archive")
    for action in ("s3:GetObject", "s3:PutObject", "s3:PutObjectTagging"):
        assert allowed(may, action, "arn:aws:s3:::archive/moved/x")
    for action in ("s3:PutObjectTagging", "s3:PutObjectVersionTagging", "s3:GetObjectVersionTagging"):
        assert allowed(may, action, "arn:aws:s3:::landing/tagged/x")
        assert not allowed(may, action, "arn:aws:s3:::landing/kept/x")
    (taking,) = (statement for statement in may if statement.sid == "TakeAwayLoaded")
    assert "arn:aws:s3:::lake" not in " ".join(taking.resources)


def test_queues_have_the_region_and_account_of_their_url_or_of_the_first_one() -> None:
    url = "https://sqs.eu-central-1.amazonaws.com/111122223333/events"
    queues = [{"url": url, "dlq": "dead"}, {"name": "named"}]
    (found,) = (statement for statement in dagster(lake(queues=queues)) if statement.sid == "Queues")
    assert found.resources == tuple(f"arn:aws:sqs:eu-central-1:111122223333:{name}" for name in ("events", "named"))
    assert "sqs:GetQueueUrl" in found.actions
    (unknown,) = (statement for statement in dagster(lake()) if statement.sid == "Queues")
    assert unknown.resources == ("arn:aws:sqs:*:*:events",)


def test_every_action_is_one_that_some_call_needs() -> None:
    needed = {need.action for needs in CALLS.values() for need in needs}
    listed = table("listed", mode="inventory", inventories={"buckets": ["acme-*"]})
    tables = [table("orders"), listed, table("tagged", format="json", after_load={"tag": {"a": "b"}})]
    routes = [
        {"name": "all", "topic": "arn:aws:sns:eu-west-1:444455556666:events"},
        {"name": "teams", "queues_tagged": "kind", "unmatched": "nobody"},
    ]
    config = lake(
        *tables,
        metrics="cloudwatch",
        queues=[{"name": "events", "dlq": "dead"}],
        event_types=[{"key": "{type}/**"}],
        routes=routes,
    )
    for role in ROLES.values():
        assert {action for statement in role(config) for action in statement.actions} <= needed


def test_a_person_may_configure_the_buckets_that_inventories_names_and_their_destination_alone() -> None:
    listed = table("listed", mode="inventory", inventories={"buckets": ["acme-*"]})
    for action, allows, refuses in [
        ("s3:PutInventoryConfiguration", "arn:aws:s3:::acme-a", "arn:aws:s3:::landing"),
        ("s3:PutBucketPolicy", "arn:aws:s3:::landing", "arn:aws:s3:::acme-a"),
        ("s3:PutObject", "arn:aws:s3:::landing/listed/acme/all/x/manifest.json", "arn:aws:s3:::landing/other/x"),
    ]:
        assert allowed(operator(lake(listed)), action, allows)
        assert not allowed(operator(lake(listed)), action, refuses)
        assert not allowed(operator(lake(table("orders"))), action, allows)
        assert not allowed(dagster(lake(listed)), action, allows), "`check` only reads"
    assert allowed(dagster(lake(listed)), "s3:GetInventoryConfiguration", "arn:aws:s3:::acme-a")


def test_incomplete_uploads_are_listed_by_the_command_and_by_tables_with_reports() -> None:
    listed = table("listed", mode="inventory", inventories={"buckets": ["acme-*"]})
    reported = {**listed, "storage_reports": {"prices": ["s3.csv"]}}
    for action, on in [
        ("s3:ListBucketMultipartUploads", "arn:aws:s3:::{}"),
        ("s3:GetLifecycleConfiguration", "arn:aws:s3:::{}"),
        ("s3:ListMultipartUploadParts", "arn:aws:s3:::{}/k/ey"),
    ]:
        assert allowed(operator(lake(listed)), action, on.format("acme-a"))
        assert not allowed(operator(lake(listed)), action, on.format("other"))
        assert not allowed(dagster(lake(listed)), action, on.format("acme-a"))
        assert allowed(dagster(lake(reported)), action, on.format("acme-a"))
        # Which buckets deliver is not known without `inventories`.
        assert allowed(operator(lake(table("listed", mode="inventory"))), action, on.format("other"))
        assert not allowed(operator(lake(table("orders"))), action, on.format("acme-a"))


def test_the_webhook_server_may_send_to_the_queues_of_its_senders_alone() -> None:
    url = "https://sqs.eu-central-1.amazonaws.com/111122223333/orders-rows"
    tables = [
        {"name": "orders", "row_queue": {"url": url}},
        {"name": "clicks", "row_queue": {"name": "clicks-rows"}},
        {"name": "other", "row_queue": {"name": "other-rows"}},
    ]
    senders = [
        {"name": f"s{n}", "queue": queue, "verification": "github", "secrets": [{"env": "S"}]}
        for n, queue in enumerate(("orders-rows", "clicks-rows", "orders-rows"))
    ]
    (found,) = webhook(lake(*tables, webhooks=senders))
    assert found.actions == ("sqs:SendMessage", "sqs:GetQueueUrl")
    assert found.resources == tuple(
        f"arn:aws:sqs:eu-central-1:111122223333:{name}" for name in ("orders-rows", "clicks-rows")
    )
    assert webhook(lake(*tables, webhooks=senders[:1]))[0].actions == ("sqs:SendMessage",)
    assert webhook(lake(*tables)) == ()


def test_routes_need_their_destinations_and_tagged_queues_only_with_the_tag() -> None:
    topic = "arn:aws:sns:eu-west-1:444455556666:events"
    routes = [
        {"name": "all", "topic": topic},
        {"name": "search", "queue": {"name": "search"}},
        {"name": "teams", "queues_tagged": "kind", "unmatched": "nobody"},
    ]
    config = lake(event_types=[{"key": "{type}/**"}], routes=routes)
    may = dagster(config)
    assert allowed(may, "sns:Publish", topic)
    for name in ("search", "nobody"):
        assert allowed(may, "sqs:SendMessage", f"arn:aws:sqs:eu-west-1:1:{name}")
    team, tag = "arn:aws:sqs:eu-west-1:1:team", "aws:ResourceTag/kind"
    for context, holds in (({}, False), ({tag: "orders"}, True)):
        assert permits(may, "sqs:SendMessage", team, context) is holds
    found = find_permission(config, "sns:GetTopicAttributes", topic)
    assert found is not None
    assert (found[0], found[1].sid) == ("dagster", "Topics")
    assert [
        statement.sid for statement in dagster(lake()) if statement.sid in ("Publish", "Forward", "FindTaggedQueues")
    ] == []
    assert "Topics" not in {statement.sid for statement in dagster(lake())}


def test_a_missing_permission_has_a_statement() -> None:
    config = lake(table("orders", format="parquet"))
    found = find_permission(config, "s3:PutObject", "arn:aws:s3:::landing/orders/_tidegate/*")
    assert found is not None
    assert (found[0], found[1].sid) == ("dagster", "CopiesOfRegisteredTables")
    probes = find_permission(config, "s3:DeleteObject", "arn:aws:s3:::landing/orders/_tidegate/*")
    assert probes is not None
    assert (probes[0], probes[1].sid) == ("dagster", "Probes")
    log = find_permission(config, "s3:PutObject", "arn:aws:s3:::landing/orders/_delta_log/*")
    assert log is not None
    assert log[0] == "spark", "what the tables need comes before what a probe needs"
    assert find_permission(config, "sqs:ReceiveMessage", "events") is not None
    assert find_permission(config, "s3:PutObject", "arn:aws:s3:::elsewhere/*") is None


SPARK_WRITES = ("bronze/t/x", "silver/s/x", "ledger/t/x", "quarantine/rows/t/x", "outputs/t/x", "staging/t/x")
CREATES = "s3:ObjectCreationOperation"
KEPT = ("batches/t/1.json", "forgotten/requests/x.json", "operations/2026-01-01/x.json", "lake.json")


@pytest.mark.parametrize("role", ["dagster", "spark", "operator", "reader", "tables", "webhook"])
def test_no_role_deletes_what_is_kept_for_ever(role: str) -> None:
    config = lake(table("orders"), queues=[{"name": "events", "dlq": "dead"}])
    statements = (*dagster(config), *operator(config)) if role == "operator" else ROLES[role](config)
    for key in KEPT:
        for action in ("s3:DeleteObject", "s3:DeleteObjectVersion"):
            # Other policies of the role cannot allow it either.
            everything = Statement("Other", (action,), ("*",), "")
            may = permits((*statements, everything), action, f"arn:aws:s3:::lake/root/{key}")
            assert may is (role in ("reader", "tables", "webhook"))
            assert not permits(statements, action, f"arn:aws:s3:::lake/root/{key}")


@pytest.mark.parametrize("role", ["dagster", "spark", "operator"])
def test_no_role_overwrites_what_is_kept_for_ever(role: str) -> None:
    config = lake(table("orders"))
    statements = (*dagster(config), *operator(config)) if role == "operator" else ROLES[role](config)
    everything = (*statements, Statement("Other", ("s3:PutObject",), ("*",), ""))
    new, created, part = {"s3:if-none-match": "*"}, {CREATES: "true"}, {CREATES: "false"}
    for key in KEPT:
        place = f"arn:aws:s3:::lake/root/{key}"
        for context, may in ((created, False), (new | created, True), (part, True)):
            assert permits(everything, "s3:PutObject", place, context) is may, (key, context)
    # Batches are marked void by a put without a condition, and notes on a request may be written again.
    for key in ("batches/t/1.void", "forgotten/messages/x.json", "tables/t.json"):
        assert permits(everything, "s3:PutObject", f"arn:aws:s3:::lake/root/{key}", created)


def test_the_server_writes_only_its_own_folders_of_the_lake() -> None:
    may = spark(lake(table("orders")))
    for key in SPARK_WRITES:
        for action in ("s3:PutObject", "s3:DeleteObject"):
            assert allowed(may, action, f"arn:aws:s3:::lake/root/{key}"), (action, key)
    for key in (
        *KEPT,
        "inbox/t/x.json",
        "gathered/x.jsonl",
        "tables/t.json",
        "quarantine/messages/x",
        "rows/q/x",
        "outbox/r/x",
    ):
        assert allowed(may, "s3:GetObject", f"arn:aws:s3:::lake/root/{key}")
        assert not allowed(may, "s3:PutObject", f"arn:aws:s3:::lake/root/{key}"), key
        assert not allowed(may, "s3:DeleteObject", f"arn:aws:s3:::lake/root/{key}"), key
    assert allowed(may, "s3:PutObject", "arn:aws:s3:::lake/root/batches/t/00000000000000000001.void")


@pytest.mark.parametrize(
    ("path", "holds"),
    [
        ("s3a://lake/root/bronze/landing.orders", True),
        ("s3://lake/root/silver/orders", True),
        ("s3a://landing/orders", True),
        ("s3://landing/orders", True),
        ("s3a://landing/a%20b", True),
        ("s3a://landing/a b", True),
        ("s3a://landing/orders2", False),
        ("s3a://landing/loaded", False),
        ("s3a://lake/other/bronze/landing.orders", False),
        ("s3a://elsewhere/orders", False),
    ],
)
def test_entries_of_other_lakes_in_the_commit_table_are_out_of_reach(path: str, holds: bool) -> None:
    tables = [table("orders", format="parquet"), {"name": "odd", "prefix": "s3://landing/a b/", "format": "parquet"}]
    config = lake(*tables, table("loaded", format="csv"))
    (arn,) = next(found.resources for found in spark(config) if found.sid == "CoordinateCommits")
    context = {"dynamodb:LeadingKeys": path}
    for action in ("dynamodb:Query", "dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:UpdateItem"):
        assert permits(spark(config), action, arn, context) is holds
    for action in ("dynamodb:Query", "dynamodb:UpdateItem"):
        assert permits(operator(config), action, arn, context) is holds


@pytest.mark.parametrize("role", ROLES)
def test_a_lake_whose_commits_only_s3_coordinates_has_no_permission_of_dynamodb(role: str) -> None:
    config = lake(table("orders", format="parquet"))
    without = config.model_copy(update={"lake": config.lake.model_copy(update={"commits": "s3"})})
    of_table = [each for each in ROLES[role](config) if any(action.startswith("dynamodb:") for action in each.actions)]
    assert [each for each in ROLES[role](config) if each not in of_table] == list(ROLES[role](without))
    assert bool(of_table) == (role in ("spark", "operator"))


def test_buckets_are_of_the_account_that_lake_yaml_names() -> None:
    url = "https://sqs.eu-central-1.amazonaws.com/111122223333/events"
    config = lake(table("orders"), queues=[{"url": url, "dlq": "dead"}])
    for role in ("dagster", "spark", "operator", "reader"):
        for statement in ROLES[role](config):
            if any(action.startswith("s3:") for action in statement.actions) and not statement.denies:
                assert statement.condition["StringEquals"]["aws:ResourceAccount"] == "111122223333", statement.sid
    assert "aws:ResourceAccount" not in json.dumps([each.to_json() for each in spark(lake(table("orders")))])


#: What a denial says by what it spares, and whether it still keeps producers out.
_EXCEPTING: list[tuple[dict[str, Any], bool]] = [
    ({"NotPrincipal": {"AWS": "arn:aws:iam::1:role/dagster"}}, True),
    ({"NotPrincipal": {"AWS": ["arn:aws:iam::1:root", "arn:aws:iam::1:role/dagster"]}}, True),
    ({"NotPrincipal": {"AWS": ["arn:aws:iam::1:role/dagster", "*"]}}, False),
    ({"NotPrincipal": "*"}, False),
    ({"NotAction": "s3:GetObject"}, True),
    ({"NotAction": ["s3:Get*", "s3:List*"], "NotPrincipal": {"AWS": "arn:aws:iam::1:role/dagster"}}, True),
    ({"NotAction": ["s3:Get*", "s3:put*"]}, False),
    ({"NotAction": "s3:DeleteObjectVersion"}, False),
    ({"NotResource": "arn:aws:s3:::landing/other/*"}, False),
]


def test_the_policy_of_a_bucket_keeps_producers_out_of_logs() -> None:
    config = lake(table("orders", format="parquet"), table("loaded", format="csv"))
    writers = ["arn:aws:iam::1:role/dagster", "arn:aws:iam::1:role/spark"]
    (found,) = log_policies(config, writers).items()
    assert found[0] == "landing"
    (statement,) = found[1]["Statement"]
    assert (statement["Effect"], statement["Principal"]) == ("Deny", "*")
    folders = [f"arn:aws:s3:::landing/orders/{folder}/*" for folder in ("_delta_log", "_tidegate")]
    assert statement["Resource"] == folders
    assert statement["Condition"] == {"ArnNotLike": {"aws:PrincipalArn": writers}}
    assert open_logs(config, "landing", found[1]) == []
    for change in (
        {"Effect": "Allow"},
        {"Principal": {"AWS": "arn:aws:iam::1:role/producer"}},
        {"Action": ["s3:PutObject"]},
        {"Resource": statement["Resource"][:1]},
        {"Resource": "arn:aws:s3:::landing/orders/_delta_log/0*"},
    ):
        assert open_logs(config, "landing", {"Statement": [{**statement, **change}]}), change
    for same in ({"Principal": {"AWS": "*"}}, {"Action": "s3:*"}, {"Resource": "arn:aws:s3:::landing/*"}):
        assert not open_logs(config, "landing", {"Statement": {**statement, **same}}), same
    for change, protects in _EXCEPTING:
        changed = {**statement, **change}
        for name in change:
            changed.pop(name.removeprefix("Not"), None)
        assert (open_logs(config, "landing", {"Statement": changed}) == []) == protects, change
    for condition, protects in _CONDITIONS:
        found = open_logs(config, "landing", {"Statement": {**statement, "Condition": condition}})
        assert (found == []) == protects, condition
    assert len(open_logs(config, "landing", {})) == 2
    odd = lake({**table("odd", format="parquet"), "prefix": "s3://landing/a[1]*b/"})
    (kept,) = log_policies(odd, writers)["landing"]["Statement"]
    for resource, protects in (
        (kept["Resource"], True),
        ("arn:aws:s3:::landing/a[1]*b/*", True),
        ("arn:aws:s3:::landing/a1*b/*", False),
        ("arn:aws:s3:::landing/a[1]*b/_*/?", False),
        ("arn:aws:s3:::landing/a[[]1]*b/*", False),
    ):
        found = open_logs(odd, "landing", {"Statement": {**kept, "Resource": resource}})
        assert (found == []) == protects, resource
    assert log_policies(lake(table("loaded", format="csv")), writers) == {}


#: Conditions of a denial, and whether only some callers are excepted.
_ROLE = "arn:aws:iam::111122223333:role/tidegate-*"
_CONDITIONS: list[tuple[dict[str, Any], bool]] = [
    ({}, True),
    *(
        ({f"{test}{suffix}": {key: value}}, True)
        for test in ("ArnNotLike", "ArnNotEquals", "StringNotLike", "StringNotEquals")
        for suffix in ("", "IfExists")
        for key, value in (
            ("aws:PrincipalArn", _ROLE),
            ("AWS:principalarn", [_ROLE, "arn:aws:sts::111122223333:assumed-role/spark/*"]),
            ("aws:userId", "AROAEXAMPLEID:*"),
            ("aws:PrincipalAccount", "111122223333"),
            ("aws:PrincipalOrgID", "o-a1b2c3d4e5"),
        )
    ),
    ({"ArnNotLike": {"aws:PrincipalArn": _ROLE}, "StringNotLike": {"aws:userId": "AROAEXAMPLEID:*"}}, True),
    *(
        (condition, False)
        for condition in (
            {"Bool": {"aws:SecureTransport": "false"}},
            {"ArnNotLike": {"aws:PrincipalArn": _ROLE}, "Bool": {"aws:SecureTransport": "false"}},
            {"ArnNotLike": {"aws:PrincipalArn": _ROLE, "aws:SourceArn": _ROLE}},
            {"ArnLike": {"aws:PrincipalArn": _ROLE}},
            {"ForAnyValue:StringNotLike": {"aws:PrincipalArn": _ROLE}},
            {"StringNotEquals": {"s3:x-amz-server-side-encryption": "aws:kms"}},
            {"NotIpAddress": {"aws:SourceIp": "10.0.0.0/8"}},
            {"StringNotEquals": {"aws:SourceVpce": "vpce-1"}},
            *({"ArnNotLike": {"aws:PrincipalArn": [_ROLE, value]}} for value in (
                "*", "?*", "arn:*", "arn:aws:iam::*", "arn:aws:iam::*:role/*", "arn:aws:iam::*:user/*",
                "arn:aws:sts::*", "arn:aws:iam::????????????:*", "arn:*:iam::*:root", "${aws:PrincipalArn}",
            )),
            {"StringNotLike": {"aws:PrincipalAccount": "*"}},
            {"StringNotLike": {"aws:PrincipalAccount": "????????????"}},
            {"StringNotLike": {"aws:PrincipalOrgID": "o-*"}},
            {"StringNotLike": {"aws:userId": "AROA*"}},
        )
    ),
]  # fmt: skip


def test_the_command_prints_the_policies_of_buckets(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "lake.yaml"
    base = {"lake": {"root": "s3://lake/root"}, "queues": [{"name": "events"}], "buckets": ["landing"]}
    base |= {"discovery": False}
    path.write_text(json.dumps({**base, "tables": [table("orders", format="parquet")]}))
    run_policy("buckets", path, ["arn:aws:iam::1:role/spark"])
    assert list(json.loads(capsys.readouterr().out)) == ["landing"]
    for role, writers in (("buckets", []), ("spark", ["arn:aws:iam::1:role/spark"])):
        with pytest.raises(CommandError, match="give --writer for each"):
            run_policy(role, path, writers)
    path.write_text(json.dumps({**base, "tables": [table("loaded", format="csv")]}))
    with pytest.raises(CommandError, match=r"no table of .* is registered"):
        run_policy("buckets", path, ["arn:aws:iam::1:role/spark"])


def test_the_command_prints_a_policy_and_says_what_it_leaves_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "lake.yaml"
    path.write_text("lake: {root: s3://lake/root}\nqueues: [{name: events}]\nbuckets: [landing]\n")
    run_policy("dagster", path)
    printed = capsys.readouterr()
    sids = [statement["Sid"] for statement in json.loads(printed.out)["Statement"]]
    assert sids == [
        statement.sid
        for statement in dagster(
            LakeConfig.model_validate(
                {"lake": {"root": "s3://lake/root"}, "queues": [{"name": "events"}], "buckets": ["landing"]}
            )
        )
    ]
    assert f"the dead-letter queue of events is left out: name it as `dlq` in {path}\n" in printed.err
    assert f"region and account are `*`, because no queue of {path} has a `url`" in printed.err
    with pytest.raises(CommandError, match="give one of dagster, spark, operator, reader, tables, webhook, buckets"):
        run_policy("root", path)
    with pytest.raises(CommandError, match=r"the role webhook needs no permissions: .* has no `webhooks`"):
        run_policy("webhook", path)
    (path.with_name("by-s3.yaml")).write_text(path.read_text().replace("root}", "root, commits: s3}"))
    with pytest.raises(CommandError, match=r"the role operator needs no permissions: .* those of `dagster`"):
        run_policy("operator", path.with_name("by-s3.yaml"))
    many = "".join(f"- {{name: t{i}, prefix: 's3://landing/t{i}/', format: parquet}}\n" for i in range(200))
    path.write_text(f"{path.read_text()}discovery: false\ntables:\n{many}")
    run_policy("spark", path)
    assert "AWS accepts 6,144 characters in a managed policy" in capsys.readouterr().err


@pytest.mark.parametrize("registers", [True, False])
def test_an_engine_reads_the_files_of_tables_and_no_other_objects(registers: bool) -> None:
    more = {"discovery": {"parquet": "register"}} if registers else {}
    config = lake(table("orders", format="parquet"), table("cells", format="csv"), **more)
    statements = ROLES["tables"](config)
    assert {action for each in statements for action in each.actions} == {"s3:ListBucket", "s3:GetObject"}
    for key in ("lake/root/bronze/t/x", "lake/root/silver/s/x", "landing/orders/x"):
        assert allowed(statements, "s3:GetObject", f"arn:aws:s3:::{key}")
    for key in (*KEPT, "inbox/t/x", "gathered/x", "ledger/t/x", "quarantine/rows/x", "outbox/r/x", "staging/t/x"):
        assert not allowed(statements, "s3:GetObject", f"arn:aws:s3:::lake/root/{key}")
    # Discovery may register a table at any prefix.
    assert allowed(statements, "s3:GetObject", "arn:aws:s3:::landing/cells/x") is registers


def test_the_page_names_a_role_for_each_command_and_no_other_commands() -> None:
    rows = PAGE.read_text(encoding="utf-8").split("| commands | role |\n|---|---|\n")[1].split("\n\n")[0].splitlines()
    named = [name for row in rows for name in re.findall(r"`([a-z -]+)`", row.split("|")[1])]
    reference = (PAGE.parents[1] / "reference" / "cli.md").read_text(encoding="utf-8")
    commands = set(re.findall(r"^## `tidegate ([a-z -]+)`$", reference, re.MULTILINE))
    groups = {"inventory", "catalog", "jars", "commits", "migrate"}
    assert len(named) == len(set(named))
    assert set(named) == commands - groups
