"""S3 in memory, for tests of the lake's own objects."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from tidegate.platform.core.keys.s3_address import S3Object
from tidegate.platform.lake.aws.s3 import Listed


class Objects:
    """S3 in a dictionary."""

    def __init__(self) -> None:
        self.bodies: dict[str, str] = {}

    def put(self, bucket: str, key: str, body: str | bytes) -> None:
        self.bodies[key] = body.decode() if isinstance(body, bytes) else body

    def put_if_absent(self, bucket: str, key: str, body: str) -> bool:
        return self.bodies.setdefault(key, body) is body

    def get(self, bucket: str, key: str) -> bytes | None:
        body = self.bodies.get(key)
        return None if body is None else body.encode()

    def piece(self, version: S3Object, start: int, length: int) -> bytes:
        return self.bodies[version.address.key].encode()[start : start + length]

    def upload(self, bucket: str, key: str, file: Path) -> None:
        self.put(bucket, key, file.read_bytes())

    def list_under(self, bucket: str, prefix: str, after: str = "") -> Iterator[Listed]:
        for key in sorted(key for key in self.bodies if key.startswith(prefix) and key > after):
            if key in self.bodies:
                yield Listed(key, "etag", len(self.bodies[key].encode()), 0.0)

    def folders(self, bucket: str, prefix: str) -> list[str]:
        found = [key[len(prefix) :] for key in self.bodies if key.startswith(prefix)]
        return sorted({rest.split("/")[0] for rest in found if "/" in rest})

    def delete(self, bucket: str, keys: Iterable[str]) -> None:
        for key in keys:
            self.bodies.pop(key, None)
