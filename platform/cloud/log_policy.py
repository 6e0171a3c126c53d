"""The policy of a source bucket that keeps producers out of the logs of registered tables.

The log of a registered table is below the prefix to which its producer writes. A writer of the log decides what readers
of the table see: it may name any file that they can read.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tidegate.platform.cloud.roles.lake_arns import COPIES_FOLDER, LOG_FOLDER, LakeArns
from tidegate.platform.cloud.statement import list_values, matches, samples
from tidegate.platform.core.config.lake import LakeConfig

#: What changes objects. Copies and uploads in parts are `PutObject`, too.
_ACTIONS = ("s3:PutObject", "s3:DeleteObject", "s3:DeleteObjectVersion")
#: Tests of a denial that except the callers of their values. They hold for a request without the key.
_EXCEPTIONS = tuple(
    f"{test}{suffix}"
    for test in ("arnnotlike", "arnnotequals", "stringnotlike", "stringnotequals")
    for suffix in ("", "ifexists")
)
#: In place of the number of an account.
_NOBODY = "\0" * 12
#: Keys of conditions that name a caller, each with values of callers whom nobody knows.
_CALLERS = {
    "aws:principalarn": tuple(
        f"arn:{partition}:{name}"
        for partition in ("aws", "aws-cn", "aws-us-gov")
        for name in (
            f"iam::{_NOBODY}:role/\0", f"iam::{_NOBODY}:user/\0", f"iam::{_NOBODY}:root",
            f"sts::{_NOBODY}:assumed-role/\0/\0", f"sts::{_NOBODY}:federated-user/\0",
        )
    ),
    "aws:userid": ("AROA\0:\0", "AIDA\0", _NOBODY, f"{_NOBODY}:\0"),
    "aws:principalaccount": (_NOBODY,),
    "aws:principalorgid": ("o-\0",),
}  # fmt: skip


def log_policies(config: LakeConfig, writers: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return the policy of each bucket in which a table may be registered, by the bucket's name.

    Args:
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
        bucket: a bucket of it.
        policy: the bucket's policy, parsed. Empty: there is none.

    Returns:
        The ARNs of the folders.
    """
    denials = [
        each for each in list_values(policy.get("Statement")) if each.get("Effect") == "Deny" and _is_for_all(each)
    ]
    return [folder for folder in _folders(config, bucket) if not any(_covers(each, folder) for each in denials)]


def _folders(config: LakeConfig, bucket: str) -> tuple[str, ...]:
    arns = LakeArns(config)
    start = f"{arns.address.bucket(bucket)}/"
    every = (*arns.registered_arns(LOG_FOLDER), *arns.registered_arns(COPIES_FOLDER))
    return tuple(arn for arn in every if arn.startswith(start))


def _is_for_all(statement: dict[str, Any]) -> bool:
    """Return whether a denial is about everybody, or everybody but named callers."""
    principal, excepted = statement.get("Principal"), statement.get("NotPrincipal")
    if isinstance(excepted, dict):
        return all("*" not in str(name) for names in excepted.values() for name in list_values(names))
    return principal == "*" or (isinstance(principal, dict) and "*" in list_values(principal.get("AWS")))


def _covers(statement: dict[str, Any], folder: str) -> bool:
    """Return whether a denial is about every change of a folder by others than some named callers.

    One that has `NotResource` counts as none: what it spares cannot be compared with a folder.
    """
    others = "NotAction" in statement
    actions = [str(action).lower() for action in list_values(statement.get("NotAction" if others else "Action"))]
    denied = all(others != any(matches(action, wanted.lower()) for action in actions) for wanted in _ACTIONS)
    resources = [str(pattern) for pattern in list_values(statement.get("Resource"))]
    return (
        denied
        and any(all(matches(pattern, name) for name in samples(folder)) for pattern in resources)
        and all(
            test.lower() in _EXCEPTIONS and all(_excepts_named_callers(key, values) for key, values in keys.items())
            for test, keys in (statement.get("Condition") or {}).items()
        )
    )


def _excepts_named_callers(key: str, values: Any) -> bool:
    """Return whether the values of a condition key name callers, and not every caller, as a variable of the request
    does.
    """
    strangers, patterns = _CALLERS.get(key.lower(), ()), [str(value) for value in list_values(values)]
    return bool(strangers) and not any(
        "${" in pattern or any(matches(pattern, stranger) for stranger in strangers) for pattern in patterns
    )
