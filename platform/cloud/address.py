"""The ARNs of the resources in `lake.yaml`."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tidegate.platform.cloud.roles.statement import literal
from tidegate.platform.core.config.lake import LakeConfig, QueueSpec
from tidegate.platform.core.keys.s3_address import S3Address

_ACCOUNT = re.compile(r"/(\d{12})/[^/]+/?$")
#: Wildcard for a region or an account that is not in `lake.yaml`.
_ANY = "*"


@dataclass(frozen=True)
class Address:
    """The region and account of a lake, as far as the URLs of its queues contain them.

    Attributes:
        region: region of the first queue with a region in its URL, or `*`.
        account: account of the first queue with an account in its URL, or `*`.
    """

    region: str = _ANY
    account: str = _ANY

    @classmethod
    def of(cls, config: LakeConfig) -> Address:
        """Read the address of a lake."""
        urls = [queue for queue in config.every_queue if queue.url]
        regions = [queue.region for queue in urls if queue.region]
        accounts = [found[1] for queue in urls if (found := _ACCOUNT.search(queue.url or ""))]
        return cls(regions[0] if regions else _ANY, accounts[0] if accounts else _ANY)

    def queue(self, spec: QueueSpec, name: str | None = None) -> str:
        """Return the ARN of a queue, or of the queue with another name in its account and region."""
        found = _ACCOUNT.search(spec.url or "")
        account = found[1] if found else self.account
        return f"arn:aws:sqs:{spec.region or self.region}:{account}:{name or spec.name}"

    def commit_table(self, name: str) -> str:
        """Return the ARN of a DynamoDB table."""
        return f"arn:aws:dynamodb:{self.region}:{self.account}:table/{name}"

    def glue(self, *databases: str) -> tuple[str, ...]:
        """Return the ARNs that a permission on databases of Glue and all of their tables needs."""
        start = f"arn:aws:glue:{self.region}:{self.account}"
        return tuple(
            [
                f"{start}:catalog",
                *(f"{start}:{kind}" for name in databases for kind in (f"database/{name}", f"table/{name}/*")),
            ]
        )


def bucket_arn(bucket: str) -> str:
    """Return the ARN of a bucket."""
    return f"arn:aws:s3:::{bucket}"


def objects_arn(bucket: str, prefix: str = "") -> str:
    """Return the ARN of all objects whose keys begin with a prefix."""
    return f"arn:aws:s3:::{bucket}/{literal(prefix)}*"


def folder_arn(uri: str) -> str:
    """Return the ARN of all objects below an `s3://` folder."""
    return objects_arn(*S3Address.parse(uri))
