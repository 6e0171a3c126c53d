"""The CloudFormation template of one machine: what cfn-lint says, who reaches what, and what its start runs."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from cfnlint.api import lint_file

from tidegate.platform.cloud.template import stack_template
from tidegate.platform.cloud.trust import Trust
from tidegate.platform.core.config.lake import LakeConfig

ROOT = Path(__file__).parents[3]
PATH = ROOT / "deploy" / "aws" / "machine.yaml"
LAKE = {"lake": {"root": "s3://acme-lake/tidegate"}, "queues": [{"name": "events"}], "buckets": ["acme-landing"]}


class _Loader(yaml.SafeLoader):
    """Reads the short forms of CloudFormation's functions as what they stand for."""


def _function(loader: yaml.Loader, suffix: str, node: yaml.Node) -> dict[str, Any]:
    if isinstance(node, yaml.ScalarNode):
        value: Any = loader.construct_scalar(node)
    elif isinstance(node, yaml.SequenceNode):
        value = loader.construct_sequence(node, deep=True)
    else:
        value = loader.construct_mapping(node, deep=True)  # type: ignore[arg-type]
    if suffix == "GetAtt":
        value = value.split(".", 1)
    return {suffix if suffix in ("Ref", "Condition") else f"Fn::{suffix}": value}


_Loader.add_multi_constructor("!", _function)
TEMPLATE: dict[str, Any] = yaml.load(PATH.read_text(encoding="utf-8"), Loader=_Loader)
RESOURCES: dict[str, Any] = TEMPLATE["Resources"]


def of_type(kind: str) -> dict[str, dict[str, Any]]:
    """Return the properties of each resource of a type."""
    return {name: found["Properties"] for name, found in RESOURCES.items() if found["Type"] == f"AWS::{kind}"}


def test_cfn_lint_finds_nothing() -> None:
    assert lint_file(PATH) == []


def test_nothing_reaches_the_machine_and_only_the_machine_reaches_the_database() -> None:
    groups = of_type("EC2::SecurityGroup")
    machine = {"Ref": "MachineGroup"}
    assert "SecurityGroupIngress" not in groups["MachineGroup"]
    assert not of_type("EC2::SecurityGroupIngress")
    for name, port in {"DatabaseGroup": 5432, "EndpointGroup": 443}.items():
        (rule,) = groups[name]["SecurityGroupIngress"]
        assert (rule["SourceSecurityGroupId"], rule["FromPort"], rule["ToPort"]) == (machine, port, port)
    (database,) = of_type("RDS::DBInstance").values()
    assert (database["PubliclyAccessible"], database["StorageEncrypted"]) == (False, True)
    (template,) = of_type("EC2::LaunchTemplate").values()
    data = template["LaunchTemplateData"]
    assert data["MetadataOptions"] == {"HttpTokens": "required", "HttpPutResponseHopLimit": 1}
    assert "KeyName" not in data


def test_there_is_one_machine_and_the_old_one_ends_before_the_new_one_starts() -> None:
    (group,) = (found for found in RESOURCES.values() if found["Type"] == "AWS::AutoScaling::AutoScalingGroup")
    assert (group["Properties"]["MinSize"], group["Properties"]["MaxSize"]) == ("1", "1")
    assert group["UpdatePolicy"]["AutoScalingRollingUpdate"] == {"MinInstancesInService": 0, "MaxBatchSize": 1}


def test_private_subnets_reach_each_service_that_the_processes_call() -> None:
    services = {found["ServiceName"]["Fn::Sub"].removeprefix("com.amazonaws.${AWS::Region}."): found
                for found in of_type("EC2::VPCEndpoint").values()}  # fmt: skip
    gateways = {name for name, found in services.items() if "VpcEndpointType" not in found}
    assert gateways == {"s3", "dynamodb"}
    assert services.keys() - gateways == {
        "sqs", "sts", "logs", "monitoring", "secretsmanager", "ssm", "ssmmessages", "ecr.api", "ecr.dkr",
    }  # fmt: skip
    assert all(services[name]["RouteTableIds"] == {"Ref": "RouteTables"} for name in gateways)
    made = {name: found["Condition"] for name, found in RESOURCES.items() if found["Type"] == "AWS::EC2::VPCEndpoint"}
    assert {made[name] for name in ("S3Endpoint", "DynamoDbEndpoint")} == {"MakesGateways"}
    assert sorted(made.values()) == ["MakesEndpoints"] * 9 + ["MakesGateways"] * 2
    assert all(services[name]["PrivateDnsEnabled"] for name in services.keys() - gateways)


def test_the_alarm_on_lost_commits_is_that_of_the_stack_of_the_lake() -> None:
    stack = stack_template(LakeConfig.model_validate(LAKE), [], Trust.parse("ec2"))["Resources"]
    for name in ("LostCommitFilter", "LostCommits"):
        theirs = dict(stack[name]["Properties"])
        theirs.pop("LogGroupName", None)
        ours = {key: value for key, value in RESOURCES[name]["Properties"].items() if key != "LogGroupName"}
        assert ours == theirs
    assert RESOURCES["LostCommitFilter"]["Properties"]["LogGroupName"] == {"Ref": "SparkLogs"}


def test_the_machine_takes_the_role_of_the_stack_and_adds_what_only_a_machine_needs() -> None:
    roles = [{"Fn::Select": [1, {"Fn::Split": ["/", {"Ref": "ProcessesRole"}]}]}]
    (policy,) = of_type("IAM::ManagedPolicy").values()
    (profile,) = of_type("IAM::InstanceProfile").values()
    assert policy["Roles"] == profile["Roles"] == roles
    assert not of_type("IAM::Role")
    everything = [each["Sid"] for each in policy["PolicyDocument"]["Statement"] if each["Resource"] == "*"]
    assert everything == ["Sessions", "Registry"], "AWS knows no resource for these"


def test_the_script_of_its_start_is_one_that_shellcheck_takes_and_runs_the_commands_of_the_image(
    tmp_path: Path,
) -> None:
    (template,) = of_type("EC2::LaunchTemplate").values()
    text, more = template["LaunchTemplateData"]["UserData"]["Fn::Base64"]["Fn::Sub"]
    known = {*TEMPLATE["Parameters"], *RESOURCES, *more, "AWS::Region"}
    named = set(re.findall(r"\$\{([A-Za-z:]+)\}", text))
    assert named <= known
    # CloudFormation would take each other one for a name of its own.
    assert set(re.findall(r"\$\{[^}]*\}", text)) == {f"${{{name}}}" for name in named}
    (script := tmp_path / "start").write_text(re.sub(r"\$\{[A-Za-z:]+\}", "text", text))
    program = Path(sys.executable).with_name("shellcheck")
    found = subprocess.run([program, script], capture_output=True, text=True, timeout=60, check=False)
    assert found.returncode == 0, found.stdout
    assert [line.split()[-1] for line in text.splitlines() if '"$image" ' in line] == ["spark", "dagster"]
    # The password is in a file of root, and Spark's container does not have it.
    (spark,) = (line for line in text.splitlines() if line.startswith("run spark"))
    assert "env-file" not in spark
    assert text.count("--env-file /etc/tidegate/dagster.env") == 1
    assert "--env-file /etc/tidegate/lake.env" in text
    assert ">> /etc/tidegate/dagster.env; fi" in text
    assert "install -m 600 /dev/null /etc/tidegate/dagster.env" in text


@pytest.mark.parametrize(
    ("broken", "ends"),
    [
        ("", False),
        ("dnf", True),
        ("aws", True),
        ("docker run", True),
        ("curl", True),
        ("curl http://127.0.0.1:3000", True),
    ],
)
def test_a_machine_whose_processes_do_not_start_or_answer_ends(tmp_path: Path, broken: str, ends: bool) -> None:
    (template,) = of_type("EC2::LaunchTemplate").values()
    text, _ = template["LaunchTemplateData"]["UserData"]["Fn::Base64"]["Fn::Sub"]
    text = re.sub(r"\$\{[A-Za-z:]+\}", "text", text).replace("/etc/tidegate", str(tmp_path / "etc"))
    (script := tmp_path / "start").write_text(text)
    (programs := tmp_path / "bin").mkdir()
    calls = tmp_path / "calls"
    # Each program fails if the broken words are among those of its call, in this order.
    pattern = f"*{broken.replace(' ', '*')}*" if broken else "nothing"
    for name in ("dnf", "systemctl", "aws", "docker", "curl", "sleep", "shutdown"):
        (program := programs / name).write_text(
            f'#!/bin/bash\necho "{name} $*" >> {calls}\ncase "{name} $*" in {pattern}) exit 22;; esac\n'
            f'if [ "{name} $2" = "aws cp" ]; then echo "lake: {{}}" > "$4"; fi\n'
        )
        program.chmod(0o755)
    path = f"{programs}:{os.environ['PATH']}"
    done = subprocess.run(["bash", script], env={"PATH": path}, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode != 0) is ends, done.stderr
    said = calls.read_text().splitlines()
    assert ("shutdown -h now" in said) is ends
    if not ends:
        assert [line.split("/")[-1] for line in said if line.startswith("curl")] == ["readyz", "server_info"]
        assert (tmp_path / "etc" / "dagster.env").stat().st_mode & 0o777 == 0o600


def test_private_subnets_with_endpoints_reach_s3_too() -> None:
    (rule,) = TEMPLATE["Rules"].values()
    assert rule["RuleCondition"] == {"Fn::Equals": [{"Ref": "InterfaceEndpoints"}, "make"]}
    (found,) = rule["Assertions"]
    # An empty list, and a list of one empty text: CloudFormation makes the second of "".
    assert found["Assert"] == {"Fn::Not": [{"Fn::EachMemberEquals": [{"Ref": "RouteTables"}, ""]}]}
