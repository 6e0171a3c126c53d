"""A table with completion signals in memory, for tests of what enters with which batch."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from pyspark.errors import PySparkException

from tests.support.lakes.objects import Objects
from tidegate.platform.bronze.completion.datasets import plan_datasets
from tidegate.platform.bronze.completion.incomplete_datasets import failures, record_entering_signals, withdraw
from tidegate.platform.bronze.prepare.read_timeouts import keep_first_part, limit_reading
from tidegate.platform.bronze.prepared_batch import PreparedBatch
from tidegate.platform.core.bronze.hint import Event, Hint, HintCause
from tidegate.platform.core.bronze.ledger import LastState, LedgerRow, Status
from tidegate.platform.core.bronze.manifest import Manifest
from tidegate.platform.core.bronze.object_state import Probe, S3Found, S3Gone, S3Unavailable
from tidegate.platform.core.bronze.plan import Plan, PlannedHint
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.errors import UnavailableError
from tidegate.platform.lake.aws.s3 import Listed
from tidegate.platform.lake.capacity import TooLarge
from tidegate.platform.lake.lake_root.store import LakeStore
from tidegate.platform.lake.ledger import Clock

BAD = b"bad"


@dataclass
class World:
    """S3, the ledger and the table of one table with signals. The table has the etag of each key that entered.

    Attributes:
        seconds: that the server reads a file, by key. Nothing else takes time. A test that sets them lets `late_reads`
            use `limit_call_time` of the session, which is this object.
        reads: how long the read of each run took. A read that is ended changes nothing, as its run fails.
        noted: the notes of reads that were ended, the newest first.
    """

    completion: str
    registered: bool = False
    now: int = 0
    objects: dict[str, tuple[bytes, int]] = field(default_factory=dict)
    silent: set[str] = field(default_factory=set)
    states: dict[str, LastState] = field(default_factory=dict)
    rows: list[LedgerRow] = field(default_factory=list)
    table: dict[str, str] = field(default_factory=dict)
    n: int = 0
    limit: float = 0.0
    run_seconds: float = 3300.0
    inbox: list[Hint] = field(default_factory=list)
    events: int = 0
    seconds: Mapping[str, float] = field(default_factory=dict)
    reads: list[float] = field(default_factory=list)
    noted: list[Hint] = field(default_factory=list)

    def __post_init__(self) -> None:
        config = LakeConfig.model_validate(
            {
                "lake": {"root": "s3://lake/root"},
                "queues": [{"name": "events"}],
                "buckets": ["landing"],
                "tables": [{"name": "t", "prefix": "s3://landing/t/", "format": "json", "completion": self.completion}],
            }
        )
        (spec,) = config.tables
        store = LakeStore(Objects(), "s3://lake/root")  # type: ignore[arg-type]
        self.fake: Any = SimpleNamespace(
            table_key="landing.t",
            inbox=SimpleNamespace(put=self._note),
            delta=SimpleNamespace(session=self),
            spec=spec,
            key=spec.table_key,
            lake=SimpleNamespace(config=config),
            ledger=SimpleNamespace(memory=lambda _version, _n, keys: (None, self.known(keys))),
            waiting_signals=store.waiting_signals("landing.t"),
            source=SimpleNamespace(
                name="landing",
                list_under=self.list_under,
                head=self.head,
                head_many=lambda keys: {key: self.head(key) for key in keys},
                objects=SimpleNamespace(get=self.get),
            ),
        )

    def known(self, keys: Sequence[str]) -> dict[str, LastState]:
        return {key: self.states[key] for key in keys if key in self.states}

    def head(self, key: str) -> Probe:
        if key in self.silent:
            return S3Unavailable("503")
        if key not in self.objects:
            return S3Gone()
        body, at = self.objects[key]
        return S3Found(hashlib.md5(body).hexdigest(), len(body), at * 1000)

    def get(self, _bucket: str, key: str, max_bytes: int) -> bytes | None:
        body = self.objects.get(key, (None,))[0]
        if len(body or b"") > max_bytes:
            raise TooLarge
        return body

    def list_under(self, prefix: str, after: str = "") -> Iterator[Listed]:
        for key, (body, at) in sorted(self.objects.items()):
            if key.startswith(prefix):
                yield Listed(key, hashlib.md5(body).hexdigest(), len(body), at)

    def put(self, key: str, body: bytes = b"{}") -> Hint:
        self.now += 1
        self.objects[key] = (body, self.now)
        return self.hint(key)

    def manifest(self, key: str, *named: str) -> Hint:
        return self.put(key, json.dumps({"files": [{"key": name} for name in named]}).encode())

    def hint(self, key: str, cause: HintCause | None = None) -> Hint:
        self.events += 1
        return Hint(key, cause or Event(f"m#{self.events}"))

    def run(self, *hints: Hint) -> Plan:
        """Take hints and those of the inbox as one batch, up to its record."""
        self.inbox += hints
        taken = [PlannedHint(hint, "m") for hint in (*self.noted, *self.inbox)]
        plan, _states, _probes = plan_datasets(
            self.fake,
            Clock(1, self.n),
            taken,
            self.known([item.hint.key for item in taken]),
            self._probe,
            registered=self.registered,
        )
        keep_first_part(plan)
        self.reads.append(0.0)
        within = (
            limit_reading(self.fake.table_key, self.fake.inbox, self.fake.delta, plan, self.run_seconds)
            if self.seconds
            else nullcontext()
        )
        with suppress(UnavailableError), within:
            self._record(plan, self._whole(plan))
        return plan

    @contextmanager
    def limit_call_time(self, limit: float) -> Iterator[Callable[[], bool]]:
        """Replace the function of the same name: the server's time is that of `seconds`."""
        self.limit = limit
        yield lambda: self.reads[-1] >= limit

    def _note(self, manifests: Sequence[Manifest]) -> None:
        self.noted = [*(hint for manifest in manifests for hint in manifest.hints), *self.noted]

    def _whole(self, plan: Plan) -> PreparedBatch:
        prepared = self._prepare(plan)
        while failed := failures(plan, prepared):
            for failure in failed:
                withdraw(plan, failure)
            prepared = self._prepare(plan)
        record_entering_signals(plan, prepared)
        return prepared

    def _record(self, plan: Plan, prepared: PreparedBatch) -> None:
        self.n += 1
        decided = [*plan.rows, *prepared.rows]
        for row in decided:
            if row.status is not Status.DUPLICATE:
                self.states[row.key] = LastState(row.status, row.etag, self.n, row.reason, size=row.size)
            if row.status is Status.COMMITTED:
                self.table[row.key] = row.etag or ""
        self.rows += decided
        self.fake.waiting_signals.update(self.n, plan.signals)
        self.inbox, self.noted = [*plan.deferred, *prepared.deferred], []

    def _probe(self, keys: Sequence[str], *_others: Mapping[str, Any]) -> dict[str, Probe]:
        return {key: self.head(key) for key in keys}

    def _prepare(self, plan: Plan) -> PreparedBatch:
        self.reads[-1] += sum(self.seconds.get(candidate.key, 0.0) for candidate in plan.candidates)
        if self.seconds and self.reads[-1] > self.limit:
            self.reads[-1] = self.limit
            raise PySparkException("[OPERATION_CANCELED]")
        prepared = PreparedBatch(plan)
        for candidate in plan.candidates:
            if self.objects[candidate.key][0] == BAD:
                prepared.quarantine(candidate, "it is bad")
            else:
                prepared.commit(candidate, rows=1)
        return prepared

    def status(self, key: str) -> str:
        return str(self.states[key].status)

    def reason(self, key: str) -> str:
        return self.states[key].reason or ""
