"""Who may take a role of a lake: a machine, a task of ECS, or the pods of a service account of EKS."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from tidegate.platform.core.errors import BadSetting

_EKS = re.compile(
    r"eks:(?P<cluster>[0-9A-Za-z][0-9A-Za-z_-]{0,99})/(?P<namespace>[a-z0-9-]{1,63})/(?P<account>[a-z0-9.-]{1,200})"
)
_ECS = "ecs-tasks.amazonaws.com"


@dataclass(frozen=True)
class Trust:
    """Where the processes of a lake run.

    Attributes:
        service: the service of AWS that takes their roles.
        cluster: the cluster of EKS; None elsewhere.
        namespace: of their pods.
        account: service account of pods that run all processes. Those of one process are `<account>-dagster`,
            `<account>-spark` and `<account>-webhook`.
    """

    service: str
    cluster: str | None = None
    namespace: str = ""
    account: str = ""

    @classmethod
    def parse(cls, text: str) -> Trust:
        """Return what an option names: `ec2`, `ecs`, or `eks:CLUSTER/NAMESPACE/SERVICEACCOUNT`.

        Raises:
            BadSetting: the text is not of that form.
        """
        if text == "ec2":
            return cls("ec2.amazonaws.com")
        if text == "ecs":
            return cls(_ECS)
        if found := _EKS.fullmatch(text):
            return cls("pods.eks.amazonaws.com", found["cluster"], found["namespace"], found["account"])
        raise BadSetting(f"--trust {text!r}: give ec2, ecs, or eks:CLUSTER/NAMESPACE/SERVICEACCOUNT")

    @property
    def is_machine(self) -> bool:
        """Whether all processes share the role of one machine."""
        return self.service == "ec2.amazonaws.com"

    def account_of(self, process: str) -> str:
        """Return the service account of the pods of `dagster`, `spark` or `webhook`, or of all: `processes`."""
        return self.account if process == "processes" else f"{self.account}-{process}"

    def document(self, process: str) -> dict[str, Any]:
        """Return the trust policy of a role.

        EKS Pod Identity tags its sessions with cluster, namespace and service account (EKS User Guide, "Create IAM role
        with trust policy required by EKS Pod Identity"), so an association of other pods does not get the role. ECS
        gives the account of a task (ECS Developer Guide, "Amazon ECS task IAM role"). A task of another account gets
        no role. EC2 gives nothing: each machine of the account whose profile has the role takes it.

        Args:
            process: as for `account_of`.
        """
        actions = ["sts:AssumeRole", "sts:TagSession"] if self.cluster else ["sts:AssumeRole"]
        document = _document({"Service": self.service}, *actions)
        equal: dict[str, Any] = {}
        if self.service == _ECS:
            equal = {"aws:SourceAccount": {"Ref": "AWS::AccountId"}}
        if self.cluster:
            arn = f"arn:${{AWS::Partition}}:eks:${{AWS::Region}}:${{AWS::AccountId}}:cluster/{self.cluster}"
            equal = {
                "aws:RequestTag/eks-cluster-arn": {"Fn::Sub": arn},
                "aws:RequestTag/kubernetes-namespace": self.namespace,
                "aws:RequestTag/kubernetes-service-account": self.account_of(process),
            }
        if equal:
            document["Statement"][0]["Condition"] = {"StringEquals": equal}
        return document


def people() -> dict[str, Any]:
    """Return the trust policy of a role that people take: whom the account's administrators permit it."""
    return _document({"AWS": {"Fn::Sub": "arn:${AWS::Partition}:iam::${AWS::AccountId}:root"}}, "sts:AssumeRole")


def _document(principal: dict[str, Any], *actions: str) -> dict[str, Any]:
    statement = {"Effect": "Allow", "Principal": principal, "Action": list(actions)}
    return {"Version": "2012-10-17", "Statement": [statement]}
