"""Which routes take the events of an object, by its bucket, key and type."""

from __future__ import annotations

from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.config.routes import RouteSpec
from tidegate.platform.core.keys.object_key import is_of_a_commit
from tidegate.platform.core.keys.s3_address import S3Address
from tidegate.platform.core.routing.route import after_load_folder


def is_forwarded(bucket: str, key: str, config: LakeConfig) -> bool:
    """Return whether routes may take events of an object: one of a source bucket that Tidegate itself did not write."""
    return bucket in config.buckets and not is_of_a_commit(key) and not after_load_folder(bucket, key, config)


def route_takes(route: RouteSpec, bucket: str, key: str, event_type: str | None, config: LakeConfig) -> bool:
    """Return whether a route takes events of an object. `is_forwarded` holds for it.

    What a route unwrapped is not unwrapped again: two routes could do so for ever.
    """
    if route.bucket not in {None, bucket}:
        return False
    if not route.unwrap:
        return route.takes(event_type, key)
    address = S3Address(bucket, key).s3
    unwrapped = any(address.startswith(other.unwrap) for other in config.routes if other.unwrap)
    return not unwrapped and route.takes(event_type, key)
