"""The lake's own objects under its root: inbox, batches, births, quarantine and intake log.

Layout, fixed for ever (docs/architecture.md, "What lies under the lake root")::

    lake.json                               the lake's identity
    proven/<endpoint>.json                  its conditional put was proven
    inbox/<table key>/<manifest id>.json
    batches/<table key>/<n, 20 digits>.json and .void
    tables/<table key>.json                 birth: generation, location, SQL name
    bronze/<table key>/  silver/<name>/  ledger/<table key>/
    quarantine/messages/  quarantine/rows/  staging/
    intake/<yyyy-mm-dd>/<ULID>.json         what was received and is no table's event
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Any
from urllib.parse import quote

from ulid import ULID

from tidegate.platform.core.batch import Batch
from tidegate.platform.core.manifest import Manifest, hint_count
from tidegate.platform.core.object_key import parse_s3_uri
from tidegate.platform.core.planning import Gone
from tidegate.platform.core.table_key import TableKey
from tidegate.resources.object_store import ObjectStore, StoreError, parallel


@dataclass(frozen=True)
class Waiting:
    """A manifest in the inbox, as its listing shows it; ``since`` is epoch seconds by S3's clock."""

    table: str
    id: str
    hints: int
    since: float


@dataclass(frozen=True)
class Birth:
    """What was decided for ever when a table was first written.

    Attributes:
        generation: UUID; changes only with a rebuild.
        location: ``s3a://`` URI of the bronze table.
        name: SQL name in the schema ``bronze``.
        registered: whether the table follows its files.
    """

    generation: str
    location: str
    name: str
    registered: bool


class LakeStore:
    """The objects under one lake root."""

    def __init__(self, objects: ObjectStore, root: str) -> None:
        """Open the store.

        Args:
            objects: handle on S3.
            root: ``s3://bucket/prefix``.
        """
        self.objects = objects
        self.bucket, prefix = parse_s3_uri(root)
        self._prefix = f"{prefix.rstrip('/')}/" if prefix.strip("/") else ""

    def key(self, *parts: str) -> str:
        """Key of an object under the root."""
        return self._prefix + "/".join(parts)

    def uri(self, *parts: str) -> str:
        """``s3a://`` URI under the root, as Spark takes it."""
        return f"s3a://{self.bucket}/{self.key(*parts)}"

    @cached_property
    def lake(self) -> str:
        """The lake's UUID, chosen at first use.

        Raises:
            StoreError: the lake's bucket is missing, or its endpoint has no conditional put.
        """
        self._prove_endpoint()
        body = self.objects.get(self.bucket, self.key("lake.json"))
        if body is None:
            self.objects.put_if_absent(self.bucket, self.key("lake.json"), json.dumps({"lake": str(uuid.uuid4())}))
            body = self.objects.get(self.bucket, self.key("lake.json"))
        return str(json.loads(body or "{}")["lake"])

    def _prove_endpoint(self) -> None:
        """Once for each endpoint: a lake may be moved to another one, or reached through it."""
        endpoint = self.objects.endpoint
        proven = self.key("proven", f"{quote(endpoint, safe='')}.json")
        if self.objects.get(self.bucket, proven) is not None:
            return
        if not self.objects.bucket_exists(self.bucket):
            raise StoreError(f"the lake's bucket s3://{self.bucket} does not exist: create it, or correct lake.root")
        self.objects.prove_conditional_put(self.bucket, self.key(f"probe-{uuid.uuid4()}"))
        self.objects.put(self.bucket, proven, json.dumps({"endpoint": endpoint, "at": datetime.now(UTC).isoformat()}))

    # Inbox

    def put_manifests(self, manifests: Iterable[Manifest]) -> None:
        """Write manifests durably, several at a time."""
        for _ in parallel(
            lambda one: self.objects.put(self.bucket, self.key("inbox", one.table, f"{one.id}.json"), one.to_json()),
            manifests,
        ):
            pass

    def waiting(self, table: str | None = None) -> list[Waiting]:
        """The inbox's manifests, oldest first within a table; of one table or of all.

        Raises:
            ValueError: an object in the inbox is no manifest; the message names it.
        """
        start = self.key("inbox", "")
        prefix = start if table is None else self.key("inbox", table, "")
        found = []
        for item in self.objects.under(self.bucket, prefix):
            name, _, stem = item.key[len(start) : -len(".json")].rpartition("/")
            try:
                found.append(Waiting(name, stem, hint_count(stem), item.modified))
            except ValueError as error:
                raise ValueError(f"s3://{self.bucket}/{item.key}: {error}; move the object out of the inbox") from error
        return sorted(found, key=lambda one: (one.table, one.since, one.id))

    def manifests(self, table: str, ids: Iterable[str]) -> list[Manifest]:
        """Read manifests; one deleted meanwhile is left out."""

        def read(one: str) -> Manifest | None:
            key = self.key("inbox", table, f"{one}.json")
            body = self.objects.get(self.bucket, key)
            return Manifest.from_json(body, f"s3://{self.bucket}/{key}") if body is not None else None

        return [manifest for manifest in parallel(read, ids) if manifest]

    def delete_manifests(self, table: str, ids: Iterable[str]) -> None:
        """Delete exactly these manifests."""
        self.objects.delete(self.bucket, [self.key("inbox", table, f"{one}.json") for one in ids])

    # Batches

    def batch_uri(self, table: str, n: int) -> str:
        """``s3a://`` URI of batch n."""
        return self.uri("batches", table, f"{n:020d}.json")

    def batch(self, table: str, n: int) -> Batch | None:
        """Batch n, or None if it was not decided yet.

        Raises:
            ValueError: the object is no valid batch.
        """
        key = self.key("batches", table, f"{n:020d}.json")
        body = self.objects.get(self.bucket, key)
        return Batch.from_json(body, f"s3://{self.bucket}/{key}") if body is not None else None

    def is_decided(self, table: str, n: int) -> bool:
        """Whether batch n was decided; True also where S3 does not say."""
        return not isinstance(self.objects.head(self.bucket, self.key("batches", table, f"{n:020d}.json")), Gone)

    def void_batches(self, table: str, after: int) -> set[int]:
        """Numbers of the batches after ``after`` that landed void; all of them that the ledger has recorded.

        ``add_files`` puts the void object before it says that a batch landed so, and only then it is recorded.
        """
        folder = self.key("batches", table, "")
        listed = self.objects.under(self.bucket, folder, after=f"{folder}{after:020d}.void")
        return {int(item.key[len(folder) : -len(".void")]) for item in listed if item.key.endswith(".void")}

    def decide(self, batch: Batch) -> Batch:
        """Put batch n if there is none; the batch that stands, which may be another writer's."""
        self.objects.put_if_absent(
            self.bucket, self.key("batches", batch.table, f"{batch.n:020d}.json"), batch.to_json()
        )
        winner = self.batch(batch.table, batch.n)
        if winner is None:
            raise StoreError(f"batch {batch.n} of {batch.table} vanished: batches must never be deleted")
        return winner

    # Births

    def birth(self, table: str) -> Birth | None:
        """The table's birth record, if it has been born."""
        body = self.objects.get(self.bucket, self.key("tables", f"{table}.json"))
        return Birth(**json.loads(body)) if body is not None else None

    def bear(self, table: str, name: str, registered: bool) -> Birth:
        """Choose the table's generation by put-if-absent; the record that stands."""
        key = TableKey.decode(table)
        location = f"s3a://{key.bucket}/{key.prefix}".rstrip("/") if registered else self.uri("bronze", table)
        birth = Birth(str(uuid.uuid4()), location, name, registered)
        self.objects.put_if_absent(self.bucket, self.key("tables", f"{table}.json"), json.dumps(vars(birth)))
        found = self.birth(table)
        if found is None:
            raise StoreError(f"the birth record of {table} vanished right after it was written")
        return found

    def table_births(self) -> list[str]:
        """Keys of every table that was born."""
        start = self.key("tables", "")
        return [item.key[len(start) : -len(".json")] for item in self.objects.under(self.bucket, start)]

    def table_keys(self) -> set[str]:
        """Keys of every table that was born or has hints waiting."""
        return {*self.table_births(), *self.objects.folders(self.bucket, self.key("inbox", ""))}

    # Intake log and quarantine

    def log_intake(self, counters: dict[str, int], rows: list[dict[str, Any]]) -> None:
        """Write what a tick received that is no table's event."""
        day = datetime.now(UTC).strftime("%Y-%m-%d")
        self.objects.put(
            self.bucket,
            self.key("intake", day, f"{ULID()}.json"),
            json.dumps({"format": 1, "counters": counters, "rows": rows}, ensure_ascii=False),
        )

    def intake_log(self) -> Iterator[dict[str, Any]]:
        """Every entry of the intake log."""
        keys = [item.key for item in self.objects.under(self.bucket, self.key("intake", ""))]
        for body in parallel(lambda key: self.objects.get(self.bucket, key), keys):
            if body is not None:
                yield json.loads(body)

    def quarantine_message(self, event_id: str, body: str, reason: str) -> str:
        """Keep a message, or one record of it, that cannot be understood; its ``s3://`` address."""
        key = self.key("quarantine", "messages", f"{event_id.replace('#', '-')}.json")
        self.objects.put(
            self.bucket,
            key,
            json.dumps({"event_id": event_id, "reason": reason, "body": body}, ensure_ascii=False),
        )
        return f"s3://{self.bucket}/{key}"
