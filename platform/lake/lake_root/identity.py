"""The lake's identity: a UUID that never changes, on an endpoint whose conditional put is proven."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cached_property, partial
from urllib.parse import quote

from tidegate.platform.core.stored_members import read_note, reading
from tidegate.platform.lake.aws.proofs import prove_conditional_delete, prove_conditional_put
from tidegate.platform.lake.aws.s3 import StoreError
from tidegate.platform.lake.lake_root.root import LakeRoot


class Identity:
    """`lake.json` and `proven/<endpoint>.json`."""

    def __init__(self, root: LakeRoot) -> None:
        self._root = root
        self._deletes_proven = False

    @cached_property
    def lake(self) -> str:
        """The lake's UUID, chosen at first use.

        Raises:
            StoreError: the lake's bucket is missing, or its endpoint has no conditional put.
        """
        self._prove_endpoint()
        chosen = self.read_uuid()
        if chosen is None:
            body = json.dumps({"lake": str(uuid.uuid4())})
            self._root.objects.put_if_absent(self._root.bucket, self._root.key("lake.json"), body)
            chosen = self.read_uuid()
        if chosen is None:
            raise StoreError(f"{self._root.address(self._root.key('lake.json'))} vanished right after it was written")
        return chosen

    def read_uuid(self) -> str | None:
        """Return the lake's UUID, or None if it has not been chosen yet. Proves and writes nothing.

        Raises:
            BadValue: `lake.json` is damaged. The message names the object.
            NewerVersionError: a newer version wrote it.
        """
        key = self._root.key("lake.json")
        body = self._root.objects.get(self._root.bucket, key)
        with reading(self._root.address(key), "the lake's identity"):
            return None if body is None else str(read_note(body, ["lake"], "the lake's identity")["lake"])

    def prove_conditional_delete(self) -> None:
        """Prove once that this endpoint heeds `If-Match` of deletes and copies, which after-load relies on.

        Raises:
            StoreError: the endpoint ignores it, or did not answer.
        """
        if not self._deletes_proven:
            self._prove_once(".delete", partial(prove_conditional_delete, self._root.objects))
            self._deletes_proven = True

    def _prove_endpoint(self) -> None:
        objects = self._root.objects

        def prove(bucket: str, key: str) -> None:
            if not objects.bucket_exists(bucket):
                raise StoreError(f"the lake's bucket s3://{bucket} does not exist: create it, or correct lake.root")
            prove_conditional_put(objects, bucket, key)

        self._prove_once("", prove)

    def _prove_once(self, what: str, prove: Callable[[str, str], None]) -> None:
        """Run a proof once for each endpoint: a lake may be moved to, or reached through, another endpoint."""
        objects, bucket = self._root.objects, self._root.bucket
        proven = self._root.key("proven", f"{quote(objects.endpoint, safe='')}{what}.json")
        if objects.get(bucket, proven) is not None:
            return
        prove(bucket, self._root.key(f"probe-{uuid.uuid4()}"))
        objects.put(bucket, proven, json.dumps({"endpoint": objects.endpoint, "at": datetime.now(UTC).isoformat()}))
