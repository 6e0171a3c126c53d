"""`tidegate inventory enable` on an S3 that has inventory configurations: moto's, because the local AWS has none."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3

from tidegate.platform.core.errors import UnavailableError
from tidegate.platform.demo.storage.commands import json_of, run_command
from tidegate.platform.demo.storage.company import CompanyBucket
from tidegate.platform.local.aws import ACCOUNT, REGION
from tidegate.platform.local.process.ports import LOOPBACK, accepts_connections, free_port
from tidegate.platform.local.process.process import spawn
from tidegate.platform.local.stack_file import client_environ

_MODULE = "moto.server"
#: Of the lake's root, in the lake.yaml of the demo.
_LAKE_BUCKET = "tidegate-lake"
_STARTED_WITHIN = 60.0


@dataclass(frozen=True)
class Configured:
    """What the buckets had after `inventory enable`, and what it found later.

    Attributes:
        error: what the command printed if it failed. Else empty.
        configurations: the inventory configurations of each bucket.
        policy: policy of the destination, as text.
        drift: what the command would change after somebody changed configurations, or the line with which it failed.
    """

    error: str
    configurations: dict[str, list[dict[str, Any]]]
    policy: str
    drift: Any


def configure(home: Path, buckets: Sequence[CompanyBucket], to: str) -> Configured:
    """Let `tidegate inventory enable` configure the buckets that lake.yaml names, and find what changed later.

    Teams have configured the weekly inventories of their buckets themselves. Of the buckets whose daily inventories
    stop, somebody disables the configuration.

    Args:
        home: folder of the demo, with its lake.yaml.
        to: bucket of the inventories.

    Raises:
        UnavailableError: the server did not start.
    """
    port = free_port()
    endpoint = f"http://{LOOPBACK}:{port}"
    key, secret = "test", "test"
    command = [sys.executable, "-m", _MODULE, "--host", LOOPBACK, "--port", str(port)]
    server = spawn("moto's server", command, log=home / "logs" / "moto.log")
    try:
        _wait(port)
        s3: Any = boto3.client(
            "s3", endpoint_url=endpoint, region_name=REGION, aws_access_key_id=key, aws_secret_access_key=secret
        )
        # Commands that change something on AWS leave an entry in the lake's log of operations.
        for own in (to, _LAKE_BUCKET):
            s3.create_bucket(Bucket=own)
        for bucket in buckets:
            s3.create_bucket(Bucket=bucket.name)
            if not bucket.daily:
                _put(s3, bucket, team_configuration(to))
        environ = client_environ(
            {
                "AWS_ENDPOINT_URL": endpoint,
                "AWS_ACCESS_KEY_ID": key,
                "AWS_SECRET_ACCESS_KEY": secret,
                "AWS_DEFAULT_REGION": REGION,
                "TIDEGATE_LAKE": str((home / "lake.yaml").resolve()),
                "TIDEGATE_QUEUE_URL": f"{endpoint}/{ACCOUNT}/events",
            }
        )
        enable = ("inventory", "enable", "--account", ACCOUNT)
        code, _, error = run_command(home, *enable, "--yes", environ=environ)
        found = {bucket.name: _configurations(s3, bucket) for bucket in buckets}
        policy = s3.get_bucket_policy(Bucket=to)["Policy"] if not code else ""
        for bucket in buckets:
            if bucket.stops is not None:
                _put(s3, bucket, {**found[bucket.name][0], "IsEnabled": False})
        return Configured(error if code else "", found, policy, json_of(home, *enable, environ=environ))
    finally:
        server.stop()


def team_configuration(to: str) -> dict[str, Any]:
    """Return the configuration of a weekly inventory as a team has written it."""
    return {
        "Id": "weekly",
        "IsEnabled": True,
        "IncludedObjectVersions": "All",
        "Schedule": {"Frequency": "Weekly"},
        "Destination": {"S3BucketDestination": {"Bucket": f"arn:aws:s3:::{to}", "Format": "Parquet"}},
    }


def _put(s3: Any, bucket: CompanyBucket, body: dict[str, Any]) -> None:
    s3.put_bucket_inventory_configuration(Bucket=bucket.name, Id=body["Id"], InventoryConfiguration=body)


def _configurations(s3: Any, bucket: CompanyBucket) -> list[dict[str, Any]]:
    listed = s3.list_bucket_inventory_configurations(Bucket=bucket.name).get("InventoryConfigurationList", ())
    # Moto's list leaves out fields.
    return [
        s3.get_bucket_inventory_configuration(Bucket=bucket.name, Id=configuration["Id"])["InventoryConfiguration"]
        for configuration in listed
    ]


def _wait(port: int) -> None:
    end = time.monotonic() + _STARTED_WITHIN
    while not accepts_connections(port, 0.2):
        if time.monotonic() > end:
            raise UnavailableError(f"moto's server did not start within {_STARTED_WITHIN:.0f} s: see logs/moto.log")
        time.sleep(0.05)
