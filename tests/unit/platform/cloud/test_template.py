"""The CloudFormation template of a lake: what it has for every kind of lake, and what it refuses."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from cfnlint.api import lint

from tidegate.platform.cloud import template as module
from tidegate.platform.cloud.requirements import NOTIFICATION, merge_notification, notification, same_events
from tidegate.platform.cloud.roles.roles import ROLES, policy
from tidegate.platform.cloud.template import stack_template
from tidegate.platform.cloud.trust import Trust
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.errors import BadSetting

TRUSTS = ("ec2", "ecs", "eks:prod/lake/tidegate")
URL = "https://sqs.eu-central-1.amazonaws.com/111122223333/events"


def lake(*tables: dict[str, Any], **more: Any) -> LakeConfig:
    base = {"lake": {"root": "s3://lake-bucket/root"}, "queues": [{"name": "events", "dlq": "events-dlq"}],
            "buckets": ["landing"], "discovery": False}  # fmt: skip
    return LakeConfig.model_validate({**base, "tables": list(tables), **more})


def table(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "prefix": f"s3://landing/{name}/", **more}


LAKES = {
    "nothing but a bucket": lake(),
    "everything": lake(
        table("registered", format="parquet"),
        table("moved", format="json", after_load={"move": "s3://archive/moved/"}),
        {"name": "clicks", "row_queue": {"name": "clicks", "dlq": "clicks-dlq"}},
        {"name": "hooks", "row_queue": {"name": "hooks_rows", "dlq": "hooks-rows"}},
        queues=[{"url": URL, "dlq": "events-dlq"}],
        metrics="cloudwatch",
        webhooks=[{"name": "shop", "queue": "hooks_rows", "verification": "stripe", "secrets": [{"env": "SHOP"}]}],
        routes=[{"name": "all", "topic": "arn:aws:sns:eu-central-1:111122223333:topic"}],
    ),
    "keys with wildcards": lake({"name": "odd", "prefix": "s3://landing/a$b*c?/${x}/", "format": "parquet"}),
    "discovery that registers": lake(discovery={"parquet": "register"}),
    "no queue": lake(table("listed", format="json"), queues=[], reconcile_interval=300),
    "rows in place of events": lake({"name": "clicks", "row_queue": {"name": "clicks", "dlq": "dead"}}, queues=[]),
    "commits by S3": lake(lake={"root": "s3://lake-bucket/root", "commits": "s3"}, metrics="cloudwatch"),
}  # fmt: skip


def texts(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, member in value.items():
            yield from [key, *texts(member)]
    elif isinstance(value, list):
        for member in value:
            yield from texts(member)
    elif isinstance(value, str):
        yield value


def resolve(value: Any) -> Any:
    """Return a value as CloudFormation would, in one region and account."""
    if isinstance(value, dict) and "Fn::Sub" in value:
        known = {"AWS::Region": "eu-central-1", "AWS::AccountId": "111122223333", "AWS::Partition": "aws"}
        return re.sub(r"\$\{(!?)([^}]*)\}", lambda m: f"${{{m[2]}}}" if m[1] else known[m[2]], value["Fn::Sub"])
    if isinstance(value, dict):
        return {key: resolve(member) for key, member in value.items()}
    return [resolve(member) for member in value] if isinstance(value, list) else value


@pytest.mark.parametrize(
    ("name", "created", "trust"),
    [*((name, ("landing",), "ec2") for name in LAKES), *(("everything", (), trust) for trust in TRUSTS)],
)
def test_the_linter_of_aws_finds_nothing(name: str, created: tuple[str, ...], trust: str) -> None:
    found = stack_template(LAKES[name], created, Trust.parse(trust))
    assert [str(match) for match in lint(json.dumps(found))] == []
    assert not [text for text in texts(found) if module._REGION in text or module._ACCOUNT in text]


@pytest.mark.parametrize("name", LAKES)
def test_its_roles_permit_what_is_printed_for_the_same_lake(name: str) -> None:
    config = LAKES[name]
    found = stack_template(config, (), Trust.parse("ecs"))["Resources"]
    first = [queue.model_copy(update={"url": URL, "given_name": None}) for queue in config.queues[:1]]
    bound = config.model_copy(update={"queues": (*first, *config.queues[1:])})
    for role, statements in ROLES.items():
        parts = [each for each in found if each.startswith(f"{role.capitalize()}Policy")]
        documents = [resolve(found[part]["Properties"]["PolicyDocument"]) for part in parts]
        deployed = [each for document in documents for each in document["Statement"]]
        wanted: Any = policy(statements(bound))["Statement"]
        assert sorted(deployed, key=str) == sorted(wanted, key=str)
        effects = [each["Effect"] for each in deployed]
        assert effects == sorted(effects, reverse=True), "what is forbidden is in the first policies"
        made = found.get(f"{role.capitalize()}Role")
        attached = made["Properties"]["ManagedPolicyArns"] if made else []
        more = [each["Ref"] for each in attached if each["Ref"] not in parts]
        assert [each["Ref"] for each in attached if each["Ref"] not in more] == parts
        # An operator needs Dagster's permissions in the same session.
        assert {each.split("Policy")[0] for each in more} == ({"Dagster"} if role == "operator" else set())
    together = found["ProcessesRole"]["Properties"]["ManagedPolicyArns"]
    assert {each["Ref"].split("Policy")[0] for each in together} >= {"Dagster", "Spark"}


def test_a_role_of_many_tables_has_several_policies_that_aws_accepts() -> None:
    config = lake(*(table(f"a_name_of_a_table_{n:04}", format="parquet") for n in range(90)), queues=[{"url": URL}])
    found = stack_template(config, (), Trust.parse("ecs"))["Resources"]
    for role, statements in ROLES.items():
        parts = [each["Properties"] for name, each in found.items() if name.startswith(f"{role.capitalize()}Policy")]
        documents = [resolve(part["PolicyDocument"]) for part in parts]
        for document in documents:
            # In the region with the longest name, of the partition with the longest name.
            text = json.dumps(document, separators=(",", ":")).replace("arn:aws:", "arn:aws-us-gov:")
            assert len(text.replace("eu-central-1", "ap-southeast-1")) <= 6144
        pieces = [each for document in documents for each in document["Statement"]]
        assert len({each["Sid"] for each in pieces}) == len(pieces)
        whole: Any = policy(statements(config))["Statement"]
        for each in whole:
            own = [piece for piece in pieces if re.fullmatch(rf"{each['Sid']}\d*", piece["Sid"])]
            assert {(piece["Effect"], *piece["Action"]) for piece in own} == {(each["Effect"], *each["Action"])}
            assert set(texts([piece["Resource"] for piece in own])) == set(texts([each["Resource"]]))
            conditions = [piece.get("Condition", {}) for piece in own]
            assert set(texts(conditions)) == set(texts(each.get("Condition", {})))
            if len(own) > 1 and conditions[0] == conditions[1]:
                assert sum(len(list(texts([piece["Resource"]]))) for piece in own) == len(
                    list(texts([each["Resource"]]))
                )


@pytest.mark.parametrize(
    ("config", "created", "why"),
    [
        (lake(), ("other",), "--create other: lake.yaml has no such bucket; its buckets: landing"),
        (lake(*(table(f"t{n}", format="json") for n in range(450)), metrics="cloudwatch",
              queues=[{"name": f"q{n}", "dlq": f"d{n}"} for n in range(40)]), (),
         "a stack has at most 500 resources, this has 5.., with 5.. alarms: leave `metrics` out"),
        (lake(*(table(f"a_long_name_of_a_table_{n:04}", format="parquet") for n in range(400))), (),
         r"a role has at most 10 policies of 6,144 characters, this lake needs \d+: divide it"),
    ],
)  # fmt: skip
def test_what_aws_would_refuse_is_refused_with_a_way_out(
    config: LakeConfig, created: tuple[str, ...], why: str
) -> None:
    with pytest.raises(BadSetting, match=why):
        stack_template(config, created, Trust.parse("ec2"))


@pytest.mark.parametrize(
    "text", ["", "EC2", "eks", "eks:prod", "eks:prod/lake", "eks:prod/lake/a/b", "eks:/a/b", "eks:p/A/b"]
)
def test_who_takes_the_roles_has_one_of_three_forms(text: str) -> None:
    with pytest.raises(BadSetting, match="give ec2, ecs, or eks:CLUSTER/NAMESPACE/SERVICEACCOUNT"):
        Trust.parse(text)


def test_a_deleted_stack_keeps_what_has_data() -> None:
    found = stack_template(LAKES["everything"], ("landing",), Trust.parse("ec2"))["Resources"]
    kinds = {each["Type"] for each in found.values() if each.get("DeletionPolicy") == "RetainExceptOnCreate"}
    policies = {"AWS::SQS::QueuePolicy", "AWS::S3::BucketPolicy"}  # Without them S3's events would be lost.
    assert kinds == {"AWS::S3::Bucket", "AWS::SQS::Queue", "AWS::DynamoDB::Table"} | policies
    assert not [name for name, each in found.items() if each["Type"] in kinds and "UpdateReplacePolicy" not in each]


OURS = notification("arn:aws:sqs:eu-central-1:1:q")
OTHER = {"Id": "theirs", "QueueArn": "arn:aws:sqs:eu-central-1:1:theirs"}


@pytest.mark.parametrize("member", ["QueueConfigurations", "TopicConfigurations", "LambdaFunctionConfigurations"])
@pytest.mark.parametrize(
    ("event", "meets"),
    [("s3:ObjectCreated:*", True), ("s3:ObjectCreated:Put", True), ("s3:ObjectRemoved:Delete", True),
     ("s3:LifecycleExpiration:Delete", True), ("s3:ObjectTagging:*", False), ("s3:Replication:*", False)],
)  # fmt: skip
def test_notifications_of_others_stay_and_those_for_one_event_are_named(member: str, event: str, meets: bool) -> None:
    old = {**OURS, "QueueArn": "arn:aws:sqs:eu-central-1:1:before"}
    found: dict[str, Any] = {"ResponseMetadata": {}, "EventBridgeConfiguration": {}, "QueueConfigurations": [old]}
    found[member] = [*found.get(member, []), {**OTHER, "Events": [event]}]
    # CloudFormation gave our notification an id of its own.
    found["QueueConfigurations"].append({**OURS, "Id": "made-by-a-stack"})
    merged = merge_notification(found, OURS)
    assert same_events(found, OURS) == (["theirs"] if meets else [])
    of_ours = [each["Id"] for each in merged["QueueConfigurations"] if each["QueueArn"] == OURS["QueueArn"]]
    assert of_ours == [NOTIFICATION]
    assert "ResponseMetadata" not in merged
    assert merged["EventBridgeConfiguration"] == {}
    assert {**OTHER, "Events": [event]} in merged[member]
    assert [each for each in merged["QueueConfigurations"] if each["Id"] == NOTIFICATION] == [OURS]


def test_a_task_of_another_account_does_not_get_a_role() -> None:
    roles = {
        trust: stack_template(LAKES["everything"], (), Trust.parse(trust))["Resources"]["ProcessesRole"]["Properties"]
        for trust in TRUSTS
    }
    statements = {trust: role["AssumeRolePolicyDocument"]["Statement"][0] for trust, role in roles.items()}
    ours = {"StringEquals": {"aws:SourceAccount": {"Ref": "AWS::AccountId"}}}
    assert {trust: statements[trust].get("Condition") for trust in ("ec2", "ecs")} == {"ec2": None, "ecs": ours}


def test_a_role_of_eks_is_for_the_pods_of_its_association_alone() -> None:
    found = stack_template(LAKES["everything"], (), Trust.parse("eks:prod/lake/tidegate"))["Resources"]
    pods = [each["Properties"] for each in found.values() if each["Type"] == "AWS::EKS::PodIdentityAssociation"]
    assert {each["ServiceAccount"] for each in pods} == {
        "tidegate", "tidegate-dagster", "tidegate-spark", "tidegate-webhook",
    }  # fmt: skip
    for each in pods:
        (role, _) = each["RoleArn"]["Fn::GetAtt"]
        (statement,) = found[role]["Properties"]["AssumeRolePolicyDocument"]["Statement"]
        assert resolve(statement["Condition"]) == {
            "StringEquals": {
                "aws:RequestTag/eks-cluster-arn": "arn:aws:eks:eu-central-1:111122223333:cluster/prod",
                "aws:RequestTag/kubernetes-namespace": each["Namespace"],
                "aws:RequestTag/kubernetes-service-account": each["ServiceAccount"],
            }
        }


@pytest.mark.parametrize("trust", TRUSTS)
def test_what_a_person_has_to_give_to_a_machine_or_a_task_is_an_output(trust: str) -> None:
    found = stack_template(LAKES["everything"], (), Trust.parse(trust))
    assert "ProcessesRole" in found["Outputs"]
    assert ("Machine" in found["Outputs"]) is (trust == "ec2")


def test_a_lake_whose_commits_only_s3_coordinates_has_nothing_of_dynamodb() -> None:
    other = LAKES["commits by S3"]
    same = other.model_copy(update={"lake": other.lake.model_copy(update={"commits": "dynamodb"})})
    found, with_table = (stack_template(config, (), Trust.parse("ec2")) for config in (other, same))
    for text in ("dynamodb", "delta_log", "DynamoDB", "CommitTable", "LostCommit", "SparkLogGroup"):
        assert text in json.dumps(with_table)
        assert text not in json.dumps(found)
    # Without a registered table, the operator's own permissions are those of the table alone.
    gone = {"CommitTable", "LostCommitFilter", "LostCommits", "OperatorPolicy1"}
    assert set(with_table["Resources"]) - set(found["Resources"]) == gone
