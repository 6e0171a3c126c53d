"""Objects of outputs, as their readers find them."""

from __future__ import annotations

from typing import Any

import yaml

from tidegate.platform.core.config.load import load_lake
from tidegate.platform.testing import TestLake


def objects(lake: TestLake, prefix: str = "") -> dict[str, bytes]:
    """Return the objects of the output, by key."""
    s3, bucket = lake.clients.s3, lake.output_bucket
    found = s3.list_objects_v2(Bucket=bucket, Prefix=prefix).get("Contents", [])
    return {item["Key"]: s3.get_object(Bucket=bucket, Key=item["Key"])["Body"].read() for item in found}


def staged(lake: TestLake) -> list[str]:
    """Return the keys of the objects that wait for their copy."""
    return [item.key for item in lake.lake.store.objects.list_under(lake.lake_bucket, "lake/outputs/")]


def configure(lake: TestLake, **table: Any) -> None:
    """Change fields of the first table in lake.yaml. A field with None is removed."""
    body = yaml.safe_load(lake.path.read_text())
    body["tables"][0] = {name: value for name, value in {**body["tables"][0], **table}.items() if value is not None}
    lake.path.write_text(yaml.safe_dump(body))
    lake.config = lake.lake.config = load_lake(lake.path)
