"""Inventory configurations of S3 and the policy of their destination: what they should be, and what differs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from tidegate.platform.cloud.arns import Address
from tidegate.platform.core.config.inventories import InventoriesSpec
from tidegate.platform.core.errors import BadSetting
from tidegate.platform.core.keys.s3_address import S3Address

#: How the names of statements begin that belong to Tidegate. Each prefix of the destination has one.
SID = "TidegateInventories"
#: Bytes of the longest policy that S3 accepts.
MAX_POLICY_BYTES = 20 * 1024
#: The fields that the table has columns for. `ObjectAccessControlList` is long, and few ask for it.
_FIELDS = (
    "Size",
    "LastModifiedDate",
    "StorageClass",
    "ETag",
    "IsMultipartUploaded",
    "ReplicationStatus",
    "EncryptionStatus",
    "ObjectLockRetainUntilDate",
    "ObjectLockMode",
    "ObjectLockLegalHoldStatus",
    "IntelligentTieringAccessTier",
    "BucketKeyStatus",
    "ChecksumAlgorithm",
    "ObjectOwner",
    "LifecycleExpirationDate",
)
_FORMATS = {"parquet": "Parquet", "orc": "ORC", "csv": "CSV"}


@dataclass(frozen=True)
class WantedInventories:
    """What the table of inventories needs of each source bucket and of the destination.

    Attributes:
        spec: as in `lake.yaml`.
        destination: bucket and prefix of the table.
        address: region and account of the buckets.
    """

    spec: InventoriesSpec
    destination: S3Address
    address: Address

    def configuration(self, present: Mapping[str, Any] | None) -> dict[str, Any]:
        """Return the inventory configuration of a bucket.

        What the table does not depend on stays as it is: a filter, encryption, more fields.

        Args:
            present: the bucket's configuration of that name. None if it has none.
        """
        present = present or {}
        # S3 writes "/" after the prefix.
        prefix = self.destination.key.rstrip("/")
        target = {
            **present.get("Destination", {}).get("S3BucketDestination", {}),
            "AccountId": self.address.account,
            "Bucket": self.address.bucket(self.destination.bucket),
            "Format": _FORMATS[self.spec.format],
            "Prefix": prefix,
        }
        if not prefix:
            del target["Prefix"]
        fields = [*present.get("OptionalFields", ())]
        return {
            **present,
            "Id": self.spec.configuration,
            "IsEnabled": True,
            "IncludedObjectVersions": self.spec.versions.capitalize(),
            "Schedule": {"Frequency": self.spec.frequency.capitalize()},
            "OptionalFields": [*fields, *(field for field in _FIELDS if field not in fields)],
            "Destination": {"S3BucketDestination": target},
        }

    def policy(self, present: Mapping[str, Any] | None) -> dict[str, Any]:
        """Return the policy of the destination, with a statement that lets S3 write. Other statements stay.

        Args:
            present: the destination's policy. None if it has none.

        Raises:
            BadSetting: the policy would be longer than S3 accepts.
        """
        left_out = list(map(self.address.bucket, self.spec.excluded))
        statement = {
            "Sid": f"{SID}{sha256(self.destination.key.encode()).hexdigest()[:12]}",
            "Effect": "Allow",
            "Principal": {"Service": "s3.amazonaws.com"},
            "Action": "s3:PutObject",
            "Resource": self.address.objects(*self.destination),
            "Condition": {
                "ArnLike": {"aws:SourceArn": list(map(self.address.bucket, self.spec.included))},
                **({"ArnNotLike": {"aws:SourceArn": left_out}} if left_out else {}),
                "StringEquals": {
                    "aws:SourceAccount": self.address.account,
                    "s3:x-amz-acl": "bucket-owner-full-control",
                },
            },
        }
        # Statements without a Sid are compared by their places, so the statement keeps its own. Tables with other
        # prefixes have theirs, and earlier versions of Tidegate gave all of them the same name.
        statements = [statement if _is_of(other, statement) else other for other in _statements(present or {})]
        if statement not in statements:
            statements.append(statement)
        policy = {"Version": "2012-10-17", **(present or {}), "Statement": statements}
        if (size := len(json.dumps(policy, separators=(",", ":")))) > MAX_POLICY_BYTES:
            raise BadSetting(
                f"the policy of {self.destination.bucket} would have {size:,} bytes, and S3 accepts "
                f"{MAX_POLICY_BYTES:,}: give `buckets` of `inventories` fewer names and more patterns with *"
            )
        return policy


def differences(present: Mapping[str, Any] | None, wanted: Mapping[str, Any]) -> list[str]:
    """Return a line for each value of a configuration or policy that should be another.

    In a policy, a value and a list of only this value are equal.

    Args:
        present: as it is. None if there is none.
        wanted: as it should be.
    """
    if present is None:
        return ["there is none"]
    if "Statement" in present:
        present = {**present, "Statement": _statements(present)}
    return list(_differing_paths(present, wanted, ""))


def _statements(policy: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the statements of a policy. One alone need not be in a list."""
    found = policy.get("Statement", ())
    return [found] if isinstance(found, Mapping) else list(found)


def _is_of(present: Mapping[str, Any], statement: Mapping[str, Any]) -> bool:
    """Return whether a statement of a policy is an earlier one of the same prefix."""
    is_ours = str(present.get("Sid", "")).startswith(SID)
    return is_ours and present.get("Resource") in (statement["Resource"], [statement["Resource"]])


def _differing_paths(present: Any, wanted: Any, path: str) -> list[str]:
    if isinstance(present, str) and isinstance(wanted, list):
        present = [present]
    if isinstance(wanted, str) and isinstance(present, list):
        wanted = [wanted]
    if isinstance(present, Mapping) and isinstance(wanted, Mapping):
        names = sorted({*present, *wanted})
        return [
            line
            for name in names
            for line in _differing_paths(present.get(name), wanted.get(name), f"{path}.{name}" if path else name)
        ]
    if (
        isinstance(present, list)
        and isinstance(wanted, list)
        and all(isinstance(statement, str) for statement in wanted)
    ):
        changes = {
            "add": [statement for statement in wanted if statement not in present],
            "remove": [_text(statement) for statement in present if statement not in wanted],
        }
        return [f"{path}: {change} {', '.join(values)}" for change, values in changes.items() if values]
    if isinstance(present, list) and isinstance(wanted, list):
        return _differing_paths(_group_by_sid(present), _group_by_sid(wanted), path)
    if present == wanted:
        return []
    return [f"{path}: {_text(present)} → {_text(wanted)}"]


def _group_by_sid(statements: list[Any]) -> dict[str, Any]:
    return {str(statement.get("Sid") or number): statement for number, statement in enumerate(statements)}


def _text(value: Any) -> str:
    return "none" if value is None else value if isinstance(value, str) else json.dumps(value)
