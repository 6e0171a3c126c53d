"""The ARNs of the resources in `lake.yaml`."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tidegate.platform.cloud.statement import escape_wildcards
from tidegate.platform.core.config.lake import LakeConfig, QueueSpec
from tidegate.platform.core.keys.s3_address import S3Address

_ACCOUNT = re.compile(r"/(\d{12})/[^/]+/?$")
#: Wildcard for a region or an account that is not in `lake.yaml`.
_ANY = "*"
#: How the names of regions begin that are in another partition of AWS than `aws`.
_PARTITIONS = {
    "cn-": "aws-cn",
    "us-gov-": "aws-us-gov",
    "us-iso-": "aws-iso",
    "us-isob-": "aws-iso-b",
    "us-isof-": "aws-iso-f",
    "eu-isoe-": "aws-iso-e",
    "eusc-": "aws-eusc",
}


def partition_of(region: str) -> str:
    """Return the partition of AWS that a region is in, with which the ARNs of its resources begin."""
    return next((name for start, name in _PARTITIONS.items() if region.startswith(start)), "aws")


@dataclass(frozen=True)
class Address:
    """The region and account of a lake, as far as the URLs of its queues contain them.

    Attributes:
        region: region of the first queue with a region in its URL, or `*`.
        account: account of the first queue with an account in its URL, or `*`.
    """

    region: str = _ANY
    account: str = _ANY

    @property
    def partition(self) -> str:
        """The partition of AWS: `aws`, or that of China, GovCloud and others. Without a region it is `aws`."""
        return partition_of(self.region)

    @classmethod
    def from_config(cls, config: LakeConfig) -> Address:
        """Read the address of a lake."""
        urls = [queue for queue in config.every_queue if queue.url]
        regions = [queue.region for queue in urls if queue.region]
        accounts = [found[1] for queue in urls if (found := _ACCOUNT.search(queue.url or ""))]
        return cls(regions[0] if regions else _ANY, accounts[0] if accounts else _ANY)

    def queue(self, spec: QueueSpec, name: str | None = None) -> str:
        """Return the ARN of a queue, or of the queue with another name in its account and region."""
        found = _ACCOUNT.search(spec.url or "")
        account = found[1] if found else self.account
        return self._arn("sqs", name or spec.name, account, spec.region)

    def commit_table(self, name: str) -> str:
        """Return the ARN of a DynamoDB table."""
        return self._arn("dynamodb", f"table/{name}")

    def glue(self, *databases: str) -> tuple[str, ...]:
        """Return the ARNs that a permission on databases of Glue and all of their tables needs."""
        kinds = (kind for name in databases for kind in (f"database/{name}", f"table/{name}/*"))
        return tuple(self._arn("glue", kind) for kind in ("catalog", *kinds))

    def bucket(self, name: str) -> str:
        """Return the ARN of a bucket, or of the buckets of a pattern."""
        return f"arn:{self.partition}:s3:::{name}"

    def objects(self, bucket: str, prefix: str = "") -> str:
        """Return the ARN of all objects whose keys begin with a prefix."""
        return f"{self.bucket(bucket)}/{escape_wildcards(prefix)}*"

    def folder(self, uri: str) -> str:
        """Return the ARN of all objects below an `s3://` folder."""
        return self.objects(*S3Address.parse(uri))

    def _arn(self, service: str, resource: str, account: str = "", region: str | None = None) -> str:
        region = region or self.region
        return f"arn:{partition_of(region)}:{service}:{region}:{account or self.account}:{resource}"
