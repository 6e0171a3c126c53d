"""The roles by their names, and their policies."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tidegate.platform.cloud.arns import Address
from tidegate.platform.cloud.roles.dagster_role import dagster
from tidegate.platform.cloud.roles.lake_arns import PROBE
from tidegate.platform.cloud.roles.person_roles import operator, reader, tables
from tidegate.platform.cloud.roles.spark_role import spark
from tidegate.platform.cloud.statement import Statement, Statements, without_empty
from tidegate.platform.core.config.lake import LakeConfig


def webhook(config: LakeConfig) -> Statements:
    """Return what `tidegate webhook` needs: nothing if the lake has no webhooks."""
    address = Address.from_config(config)
    specs = [config.row_queue(webhook.queue) for webhook in config.webhooks]
    named = ("sqs:GetQueueUrl",) if any(spec.given_name for spec in specs) else ()
    return without_empty(
        Statement(
            "SendRows",
            ("sqs:SendMessage", *named),
            tuple(dict.fromkeys(address.queue(spec) for spec in specs)),
            "a delivery that was verified becomes a message; `/readyz` sends an empty call, which SQS refuses",
        )
    )


#: The roles by their names on the command line.
ROLES: dict[str, Callable[[LakeConfig], Statements]] = {
    "dagster": dagster,
    "spark": spark,
    "operator": operator,
    "reader": reader,
    "tables": tables,
    "webhook": webhook,
}


def find_permission(config: LakeConfig, action: str, resource: str) -> tuple[str, Statement] | None:
    """Return the role and the statement that give a permission, or None.

    Args:
        action: for example `s3:PutObject`.
        resource: ARN of a resource, or a pattern of a statement. For a queue, its name is enough. For a folder whose
            probes alone `check` may change, the statement of these is found.
    """
    probes = f"{resource.removesuffix('*')}{PROBE}*"
    return _find_statement(config, action, resource) or _find_statement(config, action, probes)


def _find_statement(config: LakeConfig, action: str, resource: str) -> tuple[str, Statement] | None:
    for role, statements in ROLES.items():
        for statement in (given for given in statements(config) if not given.denies):
            named = any(resource == arn or arn.endswith(f":{resource}") for arn in statement.resources)
            if statement.covers(action, resource) or (action in statement.actions and named):
                return role, statement
    return None


def policy(statements: Iterable[Statement]) -> dict[str, object]:
    """Return the IAM policy with these statements."""
    return {"Version": "2012-10-17", "Statement": [statement.to_json() for statement in statements]}
