"""The policy of a source bucket that keeps producers out of the logs of registered tables.

The log of a registered table is below the prefix to which its producer writes. A writer of the log decides what readers
of the table see: it may name any file that they can read.
"""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Any

from tidegate.platform.cloud.roles.lake_arns import COPIES_FOLDER, LOG_FOLDER, LakeArns
from tidegate.platform.core.config.lake import LakeConfig

#: What changes objects. Copies and uploads in parts are `PutObject`, too.
_ACTIONS = ("s3:PutObject", "s3:DeleteObject", "s3:DeleteObjectVersion")


def log_policies(config: LakeConfig, writers: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return the policy of each bucket in which a table may be registered, by the bucket's name.

    Args:
        config: the lake.
        writers: ARNs of the roles of Dagster, of the Spark server and of operators. `*` and `?` are wildcards.
    """
    return {
        bucket: {
            "Version": "2012-10-17",
            "Statement": [
                {
                    "Sid": "OnlyTidegateWritesLogs",
                    "Effect": "Deny",
                    "Principal": "*",
                    "Action": list(_ACTIONS),
                    "Resource": list(folders),
                    "Condition": {"ArnNotLike": {"aws:PrincipalArn": list(writers)}},
                }
            ],
        }
        for bucket in LakeArns(config).registered_buckets
        if (folders := _folders(config, bucket))
    }


def open_logs(config: LakeConfig, bucket: str, policy: dict[str, Any]) -> list[str]:
    """Return the folders of registered tables that the policy of their bucket does not protect.

    Args:
        config: the lake.
        bucket: a bucket of it.
        policy: the bucket's policy, parsed. Empty: there is none.

    Returns:
        The ARNs of the folders.
    """
    denials = [each for each in _listed(policy.get("Statement")) if each.get("Effect") == "Deny" and _is_for_all(each)]
    return [folder for folder in _folders(config, bucket) if not any(_covers(each, folder) for each in denials)]


def _folders(config: LakeConfig, bucket: str) -> tuple[str, ...]:
    arns = LakeArns(config)
    start = f"{arns.address.bucket(bucket)}/"
    every = (*arns.registered(LOG_FOLDER), *arns.registered(COPIES_FOLDER))
    return tuple(arn for arn in every if arn.startswith(start))


def _is_for_all(statement: dict[str, Any]) -> bool:
    principal = statement.get("Principal")
    return principal == "*" or (isinstance(principal, dict) and "*" in _listed(principal.get("AWS")))


def _covers(statement: dict[str, Any], folder: str) -> bool:
    """Whether a denial is about every change of a folder. Its conditions are assumed to except only the roles."""
    actions = [str(action).lower() for action in _listed(statement.get("Action"))]
    denied = all(any(fnmatchcase(wanted.lower(), action) for action in actions) for wanted in _ACTIONS)
    return denied and any(fnmatchcase(folder, str(pattern)) for pattern in _listed(statement.get("Resource")))


def _listed(value: Any) -> list[Any]:
    if value is None:
        return []
    return list(value) if isinstance(value, list | tuple) else [value]
