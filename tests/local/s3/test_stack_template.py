"""The template of `tidegate stack`, executed by the CloudFormation of the local AWS."""

from __future__ import annotations

import io
import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import ANY

import boto3
import pytest
import yaml
from botocore.exceptions import ClientError
from rich.console import Console

from tests.support.servers.client import wait_until
from tests.support.servers.policed_aws import PolicedAws, RoleAws
from tidegate.platform.bronze.options import RunOptions
from tidegate.platform.bronze.run import run_table
from tidegate.platform.cli.check.check import findings, run_check
from tidegate.platform.cli.commands.cloudformation import print_notification, run_stack_template
from tidegate.platform.cli.environment import Client
from tidegate.platform.cli.errors import CommandError
from tidegate.platform.cloud.roles.dagster_role import dagster
from tidegate.platform.cloud.roles.roles import ROLES, policy
from tidegate.platform.cloud.roles.spark_role import spark
from tidegate.platform.cloud.statement import Statement, list_values
from tidegate.platform.intake.dealer import Dealer
from tidegate.platform.intake.tick import take_in
from tidegate.platform.lake.settings import Settings
from tidegate.platform.local.aws import ACCOUNT, REGION, SERVICES, LocalAws
from tidegate.platform.local.process.ports import free_port
from tidegate.platform.local.spark.conf import SMALL_DATA
from tidegate.platform.local.spark.server import SparkServer
from tidegate.platform.silver.merge import merge_table

LAKE: dict[str, Any] = {
    "lake": {"root": "s3://stack-lake/lake"},
    "queues": [{"url": f"https://sqs.{REGION}.amazonaws.com/{ACCOUNT}/stack-events", "dlq": "stack-events-dlq"}],
    "buckets": ["stack-landing", "stack-theirs"],
    "metrics": "cloudwatch",
    "tables": [
        {"name": "registered", "prefix": "s3://stack-landing/registered/", "format": "parquet"},
        {"name": "loaded", "prefix": "s3://stack-theirs/loaded/", "format": "json",
         "silver": {"keys": ["id"], "order": "v", "every": 10}},
        {"name": "clicks", "row_queue": {"name": "stack-clicks", "dlq": "stack-clicks-dlq"}},
    ],
}  # fmt: skip


#: Its landing bucket is in the stack, so nothing is missing when the stack is complete.
WHOLE: dict[str, Any] = {
    "lake": {"root": "s3://whole-lake/lake"},
    "queues": [{"url": f"https://sqs.{REGION}.amazonaws.com/{ACCOUNT}/whole-events", "dlq": "whole-events-dlq"}],
    "buckets": ["whole-landing"],
    "window": 0,
    "tables": [
        {"name": "orders", "prefix": "s3://whole-landing/orders/", "format": "json",
         "silver": {"keys": ["id"], "order": "v", "every": 10}},
    ],
}  # fmt: skip


@pytest.fixture
def aws(tmp_path: Path) -> Iterator[LocalAws]:
    with LocalAws(tmp_path / "aws", 0, services=f"{SERVICES},cloudformation,logs") as server:
        yield server


def client(aws: LocalAws, service: str) -> Any:
    return boto3.client(service, endpoint_url=aws.endpoint, region_name=REGION, aws_access_key_id="test",
                        aws_secret_access_key="test")  # fmt: skip


def test_a_deployed_stack_is_what_check_and_the_printed_policies_ask_for(
    aws: LocalAws, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "lake.yaml"
    path.write_text(yaml.safe_dump(LAKE))
    run_stack_template(path, ["stack-landing"], "ecs")
    template, hints = capsys.readouterr()
    assert re.search("bucket stack-theirs is not in the stack.* tidegate stack --notification stack-theirs", hints)
    stacks = _create(aws, _without_metric_math(template))

    environ = {**aws.environ, "TIDEGATE_LAKE": str(path), "SPARK_REMOTE": f"sc://127.0.0.1:{free_port()}"}
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    settings = Settings.from_environ(environ)
    config = settings.config()

    # The bucket that others own has a notification of theirs, which stays.
    s3 = client(aws, "s3")
    s3.create_bucket(Bucket="stack-theirs")
    theirs = client(aws, "sqs").create_queue(QueueName="theirs")["QueueUrl"]
    arn = client(aws, "sqs").get_queue_attributes(QueueUrl=theirs, AttributeNames=["QueueArn"])["Attributes"][
        "QueueArn"
    ]
    own = {"Id": "theirs", "QueueArn": arn, "Events": ["s3:ObjectTagging:*"]}
    s3.put_bucket_notification_configuration(
        Bucket="stack-theirs", NotificationConfiguration={"QueueConfigurations": [own]}
    )
    print_notification(path, "stack-theirs")
    merged = json.loads(capsys.readouterr().out)
    assert own in merged["QueueConfigurations"]
    s3.put_bucket_notification_configuration(Bucket="stack-theirs", NotificationConfiguration=merged)
    s3.put_bucket_notification_configuration(
        Bucket="stack-lake",
        NotificationConfiguration={"QueueConfigurations": [{**own, "Events": ["s3:ObjectCreated:Put"]}]},
    )
    with pytest.raises(CommandError, match=r"lake.yaml has no bucket 'stack-lake'; its buckets: stack-landing"):
        print_notification(path, "stack-lake")

    failed = [each for each in findings(Client(settings, None), config, set(), None) if not each.ok]
    assert [each.what.split(":")[0].split(" ")[0] for each in failed] == ["Spark"], failed
    # The recipes run `check` with the role of all processes, or with that of Dagster if Spark has one of its own.
    roles = {"processes": (*dagster(config), *spark(config)), "dagster": dagster(config)}
    with PolicedAws(aws.endpoint, roles) as proxy:
        for role in roles:
            of_role = {**environ, "AWS_ENDPOINT_URL": proxy.endpoint, "AWS_ACCESS_KEY_ID": role}
            for name, value in of_role.items():
                monkeypatch.setenv(name, value)
            as_role = Client(Settings.from_environ(of_role), None)
            failed = [each for each in findings(as_role, config, set(), None) if not each.ok]
            assert [each.what.split(":")[0].split(" ")[0] for each in failed] == ["Spark"], failed
        assert (list(proxy.refused), list(proxy.unknown)) == ([], [])
        assert {asked.role for asked in proxy.asked} == roles.keys()
    # Without any one of the permissions that `check` used, it names that one.
    used = sorted({asked.action for asked in proxy.asked if asked.role == "dagster"})
    lacking = {f"lacks-{n}": (*roles["dagster"], _denial(action)) for n, action in enumerate(used)}
    with PolicedAws(aws.endpoint, lacking) as proxy:
        for role, action in zip(lacking, used, strict=True):
            of_role = {**environ, "AWS_ENDPOINT_URL": proxy.endpoint, "AWS_ACCESS_KEY_ID": role}
            for name, value in of_role.items():
                monkeypatch.setenv(name, value)
            as_role = Client(Settings.from_environ(of_role), None)
            missing = [each.missing for each in findings(as_role, config, set(), None) if not each.ok and each.missing]
            assert action in {found for found, _ in missing}, missing
    printed: dict[str, Any] = {role: policy(statements(config))["Statement"] for role, statements in ROLES.items()}
    printed["operator"] = printed["dagster"] + printed["operator"]
    printed["processes"] = printed["dagster"] + printed["spark"]
    assert _statements(aws) == {role: sorted(found, key=str) for role, found in printed.items() if found}
    writers = s3.get_bucket_policy(Bucket="stack-landing")["Policy"]
    assert len(re.findall(r"role/lake-(?:Processes|Dagster|Spark|Operator)Role", writers)) == 4

    table = client(aws, "dynamodb").describe_table(TableName="delta_log")["Table"]
    assert [key["AttributeName"] for key in table["KeySchema"]] == ["tablePath", "fileName"]
    assert s3.get_bucket_versioning(Bucket="stack-lake")["Status"] == "Enabled"
    # Applied again, also with another table, it makes nothing again. Deleted, it keeps what has data.
    s3.put_object(Bucket="stack-lake", Key="lake/kept", Body=b"x")
    before = _physical_ids(stacks)
    later = {"name": "later", "prefix": "s3://stack-landing/later/", "format": "json"}
    for lake in (LAKE, {**LAKE, "tables": [*LAKE["tables"], later]}):
        path.write_text(yaml.safe_dump(lake))
        run_stack_template(path, ["stack-landing"], "ecs")
        _update(stacks, _without_metric_math(capsys.readouterr().out))
        assert s3.get_object(Bucket="stack-lake", Key="lake/kept")["Body"].read() == b"x"
        assert before.items() <= _physical_ids(stacks).items()
    assert len(_physical_ids(stacks)) == len(before) + 1  # the alarm of the table
    stacks.delete_stack(StackName="lake")
    stacks.get_waiter("stack_delete_complete").wait(StackName="lake", WaiterConfig={"Delay": 1, "MaxAttempts": 60})
    assert s3.get_object(Bucket="stack-lake", Key="lake/kept")["Body"].read() == b"x"
    assert client(aws, "dynamodb").describe_table(TableName="delta_log")["Table"]["TableName"] == "delta_log"


def test_a_file_becomes_a_row_under_the_roles_that_the_stack_made_and_no_others(
    aws: LocalAws, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "lake.yaml"
    path.write_text(yaml.safe_dump(WHOLE))
    run_stack_template(path, ["whole-landing"], "ecs")
    _create(aws, capsys.readouterr().out)
    roles = {name: tuple(map(_read_statement, found)) for name, found in _statements(aws).items()}
    with PolicedAws(aws.endpoint, roles) as proxy:
        server = SparkServer(tmp_path / "spark", RoleAws(aws, proxy, "spark").environ, port=0, memory="2g",
                             conf=SMALL_DATA)  # fmt: skip
        environ = RoleAws(aws, proxy, "dagster").environ | server.remote.environ | {"TIDEGATE_LAKE": str(path)}
        for name, value in environ.items():
            monkeypatch.setenv(name, value)
        try:
            server.start(150)
            with Settings.from_environ(environ).open_lake() as lake:
                client(aws, "s3").put_object(Bucket="whole-landing", Key="orders/1.json", Body=b'{"id": 1, "v": 1}\n')
                (spec,) = lake.config.tables
                table = spec.table_key.encode()

                def is_waiting() -> bool:
                    assert take_in(lake, seconds=2).failures == {}
                    assert Dealer().deal(lake, time.time()) == []
                    return bool(lake.store.inbox.waiting_manifests(table))

                wait_until(is_waiting, "the event of the file")
                run_table(lake.table(table), RunOptions(run_id="whole", listing=False))
                merge_table(lake, spec)
                for schema in ("bronze", "silver"):
                    rows = lake.delta.session.sql(f"SELECT id, v FROM {schema}.orders").collect()
                    assert [tuple(row) for row in rows] == [(1, 1)], schema
            assert _check(path) == (True, ANY)
            assert (list(proxy.refused), list(proxy.unknown)) == ([], [])
            assert {asked.role for asked in proxy.asked} == {"dagster", "spark"}
        finally:
            server.stop()


def _check(path: Path) -> tuple[bool, str]:
    """Return whether `tidegate check` finds nothing, and what it prints."""
    sink = io.StringIO()
    return run_check(Console(file=sink, width=400, no_color=True), path, None, None), sink.getvalue()


def _create(aws: LocalAws, template: str) -> Any:
    """Make the stack `lake`. Returns the client of CloudFormation."""
    stacks = client(aws, "cloudformation")
    stacks.create_stack(StackName="lake", TemplateBody=template, Capabilities=["CAPABILITY_IAM"])
    stacks.get_waiter("stack_create_complete").wait(StackName="lake", WaiterConfig={"Delay": 1, "MaxAttempts": 60})
    return stacks


def _read_statement(found: dict[str, Any]) -> Statement:
    """Return a statement of a deployed policy."""
    condition = {
        test: {key: value if isinstance(value, str) else tuple(value) for key, value in pairs.items()}
        for test, pairs in found.get("Condition", {}).items()
    }
    actions, resources = (tuple(list_values(found[member])) for member in ("Action", "Resource"))
    return Statement(found["Sid"], actions, resources, "deployed", condition, found["Effect"] == "Deny")


def _denial(action: str) -> Statement:
    return Statement("Denied", (action,), ("*",), "what this test asks for", denies=True)


def _without_metric_math(template: str) -> str:
    """Return the template without the alarm on an expression, which the CloudFormation of the local AWS refuses."""
    made = json.loads(template)
    alarm = made["Resources"].pop("NotDropping")
    assert list(alarm["Properties"]["Metrics"][1]) == ["Id", "Expression", "Label"]
    return json.dumps(made)


def _update(stacks: Any, template: str) -> None:
    """Apply a template to the stack, as `aws cloudformation deploy` does."""
    try:
        stacks.update_stack(StackName="lake", TemplateBody=template, Capabilities=["CAPABILITY_IAM"])
    except ClientError as error:
        if "No updates are to be performed" in str(error):
            return
        raise
    stacks.get_waiter("stack_update_complete").wait(StackName="lake", WaiterConfig={"Delay": 1, "MaxAttempts": 60})


def _physical_ids(stacks: Any) -> dict[str, str]:
    """Return the names of the stack's resources in AWS, by those in the template."""
    found = stacks.describe_stack_resources(StackName="lake")["StackResources"]
    return {each["LogicalResourceId"]: each["PhysicalResourceId"] for each in found}


def _statements(aws: LocalAws) -> dict[str, list[Any]]:
    """Return the statements of the deployed roles, by the name of the role."""
    iam = client(aws, "iam")
    found: dict[str, list[Any]] = {}
    for role in iam.list_roles()["Roles"]:
        name = role["RoleName"].split("-")[1].removesuffix("Role").lower()
        for attached in iam.list_attached_role_policies(RoleName=role["RoleName"])["AttachedPolicies"]:
            version = iam.get_policy(PolicyArn=attached["PolicyArn"])["Policy"]["DefaultVersionId"]
            document = iam.get_policy_version(PolicyArn=attached["PolicyArn"], VersionId=version)
            found.setdefault(name, []).extend(document["PolicyVersion"]["Document"]["Statement"])
    return {name: sorted(statements, key=str) for name, statements in found.items()}
