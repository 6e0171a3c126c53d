"""Everything that a lake needs on AWS, as one CloudFormation template.

It has what `WantedResources` and the roles state, in the form of CloudFormation. Where `lake.yaml` names no region and
no account, the template takes those of its stack.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import Any

from tidegate.platform.cloud.arns import Address
from tidegate.platform.cloud.commit_table import CommitTable
from tidegate.platform.cloud.log_policy import log_policies
from tidegate.platform.cloud.requirements import (
    DEAD_LETTER_ARN,
    MAX_RECEIVES,
    QUEUE_ATTRIBUTES,
    RECEIVE_COUNT,
    RETENTION,
    WantedQueue,
    WantedResources,
)
from tidegate.platform.cloud.roles.roles import ROLES, policy
from tidegate.platform.cloud.statement import Statement
from tidegate.platform.cloud.trust import Trust, people
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.errors import BadSetting
from tidegate.platform.core.health.alarms import resource_id
from tidegate.platform.core.health.alarms import template as alarms

#: In place of a region and an account that lake.yaml does not name. They become those of the stack, and are as long as
#: the longest of AWS.
_REGION, _ACCOUNT = "xx-tidegates-0", "999999999990"
#: The roles of processes. People take the others.
_PROCESSES = ("dagster", "spark", "webhook")
#: Characters, without blanks, that AWS accepts in a managed policy, and policies that it accepts in a role.
_MAX_CHARACTERS, _MAX_POLICIES = 6144, 10
_MAX_RESOURCES = 500
#: A deleted object of the lake can be restored for so long.
_KEPT_DAYS = 30
#: Of the log store, where a commit may be lost (docs/operate/log-store.md).
_LOST_COMMIT = '"possibly lost commit"'
#: What a stack that is deleted leaves, because it has data or protects what has. A stack that could not be made leaves
#: nothing, so that it can be made again.
_KEPT = {"DeletionPolicy": "RetainExceptOnCreate", "UpdateReplacePolicy": "Retain"}


def stack_template(config: LakeConfig, created: Collection[str], trust: Trust) -> dict[str, Any]:
    """Return the template.

    Args:
        created: source buckets that the stack makes. The others exist, and their owner gives them a notification and a
            policy.
        trust: who takes the roles.

    Raises:
        BadSetting: a bucket to create is not a source bucket, or AWS would refuse the template.
    """
    if unknown := sorted(set(created) - set(config.buckets)):
        known = ", ".join(config.buckets)
        raise BadSetting(f"--create {unknown[0]}: lake.yaml has no such bucket; its buckets: {known}")
    bound = _with_address(config)
    wanted = WantedResources.from_config(bound)
    resources: dict[str, Any] = {}
    for queue in wanted.every_queue:
        resources |= _queue(queue)
    events = resource_id("Queue", wanted.event_queue.name) if wanted.event_queue else None
    if events:
        resources["EventsMaySend"] = _queue_policy(bound, wanted, events)
    resources["LakeBucket"] = _lake_bucket(bound)
    resources |= {
        resource_id("Bucket", name): _source_bucket(name, wanted, events) for name in config.buckets if name in created
    }
    table = wanted.commit_table
    if table is not None:
        resources["CommitTable"] = _commit_table(table)
        resources |= _lost_commits()
    roles = _roles(bound, trust)
    resources |= roles
    resources |= _log_policies(bound, created, roles)
    watched = alarms(config)["Resources"] if config.metrics is not None else {}
    resources |= watched
    if len(resources) > _MAX_RESOURCES:
        raise BadSetting(
            f"a stack has at most {_MAX_RESOURCES} resources, this has {len(resources)}, with {len(watched)} alarms: "
            "leave `metrics` out of the lake.yaml that you give, and deploy `tidegate alarms` as a stack of its own"
        )
    found: dict[str, Any] = _substitute(
        {
            "AWSTemplateFormatVersion": "2010-09-09",
            "Description": f"The Tidegate lake {config.lake.root}",
            **_parameters(with_table=table is not None),
            "Resources": resources,
            "Outputs": _outputs(events, roles),
        }
    )
    return found


def _parameters(*, with_table: bool) -> dict[str, Any]:
    """Return what a person may choose when the stack is made, and the conditions that follow.

    Args:
        with_table: whether a DynamoDB table coordinates commits.
    """
    parameters: dict[str, Any] = {"Topic": _text("ARN of the SNS topic that alarms notify; may be empty")}
    conditions = {"HasTopic": _is_given("Topic")}
    if with_table:
        parameters["SparkLogGroup"] = _text("Log group of `tidegate spark`; empty for no alarm on lost commits")
        parameters["CommitTableState"] = {
            "Type": "String",
            "Default": "make",
            "AllowedValues": ["make", "exists"],
            "Description": "exists: another lake of this account and region has made the table",
        }
        conditions["HasSparkLogGroup"] = _is_given("SparkLogGroup")
        conditions["MakesCommitTable"] = {"Fn::Equals": [{"Ref": "CommitTableState"}, "make"]}
    return {"Parameters": parameters, "Conditions": conditions}


def _text(description: str) -> dict[str, str]:
    return {"Type": "String", "Default": "", "Description": description}


def _is_given(parameter: str) -> dict[str, Any]:
    return {"Fn::Not": [{"Fn::Equals": [{"Ref": parameter}, ""]}]}


def _with_address(config: LakeConfig) -> LakeConfig:
    """Return the configuration with a region and an account, in place of those that it does not name."""
    address = Address.from_config(config)
    if "*" not in (address.region, address.account):
        return config
    region = _REGION if address.region == "*" else address.region
    account = _ACCOUNT if address.account == "*" else address.account
    if not config.queues:
        return config
    first, *others = config.queues
    url = f"https://sqs.{region}.amazonaws.com/{account}/{first.name}"
    return config.model_copy(update={"queues": (first.model_copy(update={"url": url, "given_name": None}), *others)})


def _substitute(value: Any) -> Any:
    """Return a value of a template, with region, account and partition of the stack in its texts."""
    if isinstance(value, dict):
        return value if "Fn::Sub" in value else {key: _substitute(member) for key, member in value.items()}
    if isinstance(value, list | tuple):
        return [_substitute(member) for member in value]
    if not isinstance(value, str) or not re.search(rf"^arn:aws:|{_REGION}|{_ACCOUNT}", value):
        return value
    text = value.replace("${", "${!").replace(_REGION, "${AWS::Region}").replace(_ACCOUNT, "${AWS::AccountId}")
    return {"Fn::Sub": re.sub(r"^arn:aws:", "arn:${AWS::Partition}:", text)}


def _queue(queue: WantedQueue) -> dict[str, Any]:
    name, dead = resource_id("Queue", queue.name), resource_id("Queue", queue.dlq)
    attributes: dict[str, Any] = {attribute.name: attribute.seconds for attribute in QUEUE_ATTRIBUTES}
    redrive = {DEAD_LETTER_ARN: {"Fn::GetAtt": [dead, "Arn"]}, RECEIVE_COUNT: MAX_RECEIVES}
    kind = {"Type": "AWS::SQS::Queue", **_KEPT}
    encrypted = {"SqsManagedSseEnabled": True}
    return {
        dead: {**kind, "Properties": {"QueueName": queue.dlq, RETENTION.name: RETENTION.seconds, **encrypted}},
        name: {**kind, "Properties": {"QueueName": queue.name, **attributes, "RedrivePolicy": redrive, **encrypted}},
    }


def _queue_policy(config: LakeConfig, wanted: WantedResources, events: str) -> dict[str, Any]:
    document = wanted.queue_policy(Address.from_config(config).queue(config.queues[0]))
    properties = {"Queues": [{"Ref": events}], "PolicyDocument": document}
    return {"Type": "AWS::SQS::QueuePolicy", **_KEPT, "Properties": properties}


def _lake_bucket(config: LakeConfig) -> dict[str, Any]:
    rules = [
        {"Id": "DeletedObjects", "Status": "Enabled", "NoncurrentVersionExpiration": {"NoncurrentDays": _KEPT_DAYS},
         "ExpiredObjectDeleteMarker": True},
        {"Id": "PartsOfUploads", "Status": "Enabled", "AbortIncompleteMultipartUpload": {"DaysAfterInitiation": 7}},
    ]  # fmt: skip
    properties = {"VersioningConfiguration": {"Status": "Enabled"}, "LifecycleConfiguration": {"Rules": rules}}
    return _bucket(config.lake.bucket, properties)


def _source_bucket(name: str, wanted: WantedResources, events: str | None) -> dict[str, Any]:
    if events is None:
        return _bucket(name, {})
    queue = {"Fn::GetAtt": [events, "Arn"]}
    found = [{"Event": event, "Queue": queue} for event in wanted.notification("")["Events"]]
    made = _bucket(name, {"NotificationConfiguration": {"QueueConfigurations": found}})
    return {**made, "DependsOn": "EventsMaySend"}  # S3 asks whether it may send before it takes the notification


def _bucket(name: str, properties: dict[str, Any]) -> dict[str, Any]:
    private = ("BlockPublicAcls", "BlockPublicPolicy", "IgnorePublicAcls", "RestrictPublicBuckets")
    common = {
        "BucketName": name,
        "PublicAccessBlockConfiguration": dict.fromkeys(private, True),
        "OwnershipControls": {"Rules": [{"ObjectOwnership": "BucketOwnerEnforced"}]},
    }
    return {"Type": "AWS::S3::Bucket", **_KEPT, "Properties": common | properties}


def _commit_table(table: CommitTable) -> dict[str, Any]:
    more = {
        "TimeToLiveSpecification": table.time_to_live(),
        "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": True},
    }
    properties = table.definition() | more
    return {"Type": "AWS::DynamoDB::Table", "Condition": "MakesCommitTable", **_KEPT, "Properties": properties}


def _roles(config: LakeConfig, trust: Trust) -> dict[str, Any]:
    found: dict[str, Any] = {}
    policies: dict[str, list[dict[str, str]]] = {}
    for role, statements in ROLES.items():
        parts = list(_parts(role, statements(config)))
        policies[role] = [{"Ref": f"{_capital(role)}Policy{number}"} for number in range(1, len(parts) + 1)]
        for number, part in enumerate(parts, 1):
            properties = {"Description": f"Tidegate: the role {role}, part {number}", "PolicyDocument": policy(part)}
            found[f"{_capital(role)}Policy{number}"] = {"Type": "AWS::IAM::ManagedPolicy", "Properties": properties}
    every = [ref for role in _PROCESSES for ref in policies[role]]
    policies["operator"] = [*policies["dagster"], *policies["operator"]]  # One session has one role.
    found |= {
        f"{_capital(role)}Role": _role(trust.document(role) if role in _PROCESSES else people(), refs)
        for role, refs in policies.items()
        if refs and not (trust.is_machine and role in _PROCESSES)
    }
    # A machine, a task or a pod has one role for all of its processes.
    found["ProcessesRole"] = _role(trust.document("processes"), every)
    if trust.is_machine:
        found["Machine"] = {"Type": "AWS::IAM::InstanceProfile", "Properties": {"Roles": [{"Ref": "ProcessesRole"}]}}
    if trust.cluster is not None:
        found |= {
            f"{_capital(role)}Pods": {
                "Type": "AWS::EKS::PodIdentityAssociation",
                "Properties": {
                    "ClusterName": trust.cluster,
                    "Namespace": trust.namespace,
                    "ServiceAccount": trust.account_of(role),
                    "RoleArn": {"Fn::GetAtt": [f"{_capital(role)}Role", "Arn"]},
                },
            }
            for role in ("processes", *_PROCESSES)
            if f"{_capital(role)}Role" in found
        }
    return found


def _role(trusted: dict[str, Any], policies: list[dict[str, str]]) -> dict[str, Any]:
    if len(policies) > _MAX_POLICIES:
        raise BadSetting(
            f"a role has at most {_MAX_POLICIES} policies of {_MAX_CHARACTERS:,} characters, this lake needs "
            f"{len(policies)}: divide it, or make the roles by hand from `tidegate policy`"
        )
    properties = {"AssumeRolePolicyDocument": trusted, "ManagedPolicyArns": policies}
    return {"Type": "AWS::IAM::Role", "Properties": properties}


def _parts(role: str, statements: Iterable[Statement]) -> Iterable[list[Statement]]:
    """Divide the statements of a role into policies that AWS accepts. They mean the same, divided or not.

    What is forbidden comes first: it stays in the first policies when a lake gets more tables.
    """
    part: list[Statement] = []
    for whole in sorted(statements, key=lambda statement: not statement.denies):
        for statement in _pieces(role, whole):
            if part and _size([*part, statement]) > _MAX_CHARACTERS:
                yield part
                part = []
            part.append(statement)
    if part:
        yield part


def _pieces(role: str, statement: Statement) -> list[Statement]:
    """Divide a statement by its resources, or by the values of a condition that a request has one of."""
    if _size([statement]) <= _MAX_CHARACTERS:
        return [statement]
    if len(statement.resources) > 1:
        halves = [replace(statement, resources=half) for half in _halves(statement.resources)]
    elif long := _longest_condition(statement):
        test, key, values = long
        halves = [
            replace(statement, condition={**statement.condition, test: {**statement.condition[test], key: half}})
            for half in _halves(values)
        ]
    else:
        raise BadSetting(
            f"statement {statement.sid} of the role {role} has {_size([statement]):,} characters, and AWS accepts "
            f"{_MAX_CHARACTERS:,} in a policy: divide the lake"
        )
    pieces = [piece for half in halves for piece in _pieces(role, half)]
    return [replace(piece, sid=f"{statement.sid}{number}") for number, piece in enumerate(pieces, 1)]


def _longest_condition(statement: Statement) -> tuple[str, str, tuple[str, ...]] | None:
    """Return the condition of a permission with the most values: its test, its key and these."""
    if statement.denies:
        return None
    found = [
        (test, key, values)
        for test, pairs in statement.condition.items()
        for key, values in pairs.items()
        if isinstance(values, tuple) and len(values) > 1
    ]
    return max(found, key=lambda each: len(each[2]), default=None)


def _halves(values: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    middle = len(values) // 2
    return values[:middle], values[middle:]


def _size(statements: list[Statement]) -> int:
    text = json.dumps(policy(statements), separators=(",", ":"))
    return len(text.replace("arn:aws:", "arn:aws-us-gov:"))


def _log_policies(config: LakeConfig, created: Collection[str], roles: dict[str, Any]) -> dict[str, Any]:
    writers = [f"{name}Role" for name in ("Processes", "Dagster", "Spark", "Operator") if f"{name}Role" in roles]
    found = log_policies(config, writers)
    return {
        resource_id("LogsOf", bucket): {
            "Type": "AWS::S3::BucketPolicy",
            **_KEPT,
            "Properties": {
                "Bucket": {"Ref": resource_id("Bucket", bucket)},
                "PolicyDocument": _with_role_arns(document, writers),
            },
        }
        for bucket, document in found.items()
        if bucket in created
    }


def _with_role_arns(value: Any, roles: list[str]) -> Any:
    if isinstance(value, dict):
        return {key: _with_role_arns(member, roles) for key, member in value.items()}
    if isinstance(value, list):
        return [_with_role_arns(member, roles) for member in value]
    return {"Fn::GetAtt": [value, "Arn"]} if value in roles else value


def _lost_commits() -> dict[str, Any]:
    """Return the alarm on a message of the log store, which is in the log of the Spark server only."""
    transformation = {"MetricNamespace": "Tidegate", "MetricName": "PossiblyLostCommits", "MetricValue": "1"}
    return {
        "LostCommitFilter": {
            "Type": "AWS::Logs::MetricFilter",
            "Condition": "HasSparkLogGroup",
            "Properties": {
                "LogGroupName": {"Ref": "SparkLogGroup"},
                "FilterPattern": _LOST_COMMIT,
                "MetricTransformations": [transformation],
            },
        },
        "LostCommits": {
            "Type": "AWS::CloudWatch::Alarm",
            "Condition": "HasSparkLogGroup",
            "Properties": {
                "AlarmDescription": "The log store reports a commit that may be lost: docs/operate/log-store.md.",
                "Namespace": "Tidegate",
                "MetricName": "PossiblyLostCommits",
                "Statistic": "Sum",
                "Period": 300,
                "EvaluationPeriods": 1,
                "Threshold": 0,
                "ComparisonOperator": "GreaterThanThreshold",
                "TreatMissingData": "notBreaching",
                "AlarmActions": {"Fn::If": ["HasTopic", [{"Ref": "Topic"}], {"Ref": "AWS::NoValue"}]},
            },
        },
    }


def _outputs(events: str | None, roles: dict[str, Any]) -> dict[str, Any]:
    arns: dict[str, dict[str, Any]] = {
        name: {"Value": {"Fn::GetAtt": [name, "Arn"]}} for name in roles if name.endswith("Role")
    }
    if "Machine" in roles:
        arns["Machine"] = {"Value": {"Ref": "Machine"}, "Description": "Name of the instance profile of ProcessesRole"}
    if events is None:
        return arns
    return {"QueueUrl": {"Value": {"Ref": events}}, "QueueArn": {"Value": {"Fn::GetAtt": [events, "Arn"]}}, **arns}


def _capital(name: str) -> str:
    return name[:1].upper() + name[1:]
