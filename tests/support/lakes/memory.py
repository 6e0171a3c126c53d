"""A lake on S3 in memory: its own objects and its tables are real, and nothing has a server."""

from __future__ import annotations

from typing import Any

from tests.support.lakes.objects import Objects
from tidegate.platform.bronze.prepare.file_access import FileAccess, Scratch
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.lake.aws.bucket import Bucket
from tidegate.platform.lake.lake import Lake
from tidegate.platform.lake.lake_root.store import LakeStore


def memory_lake(*tables: str, delta: Any = None, objects: Any = None, spec: dict[str, Any] | None = None) -> Lake:
    """Return a lake of the bucket `landing`.

    Args:
        tables: names of tables of lake.yaml. Each has the prefix of its name.
        delta: the double of the Spark server, if something asks it.
        objects: S3; by default it is empty.
        spec: what lake.yaml says of each of the tables.
    """
    config = LakeConfig.model_validate(
        {
            "lake": {"root": "s3://lake/root"},
            "queues": [{"name": "events"}],
            "buckets": ["landing"],
            "tables": [{"name": name, "prefix": f"s3://landing/{name}/", **(spec or {})} for name in tables],
        }
    )
    return Lake(config, LakeStore(objects or Objects(), "s3://lake/root"), delta, [], environ={})


def access_to(objects: Any) -> FileAccess:
    """Return the access to the files of a table of which only S3 is there: no server reads them."""
    server: Any = None
    return FileAccess(Bucket(objects, "landing"), Scratch(LakeStore(objects, "s3://lake/root"), "landing.t"), server)
