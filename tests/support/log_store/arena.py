"""Processes that run only the log store, on one table's log."""

from __future__ import annotations

import itertools
import json
import uuid
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from tests.support.log_store.delta_log import DeltaLog
from tests.support.log_store.log_store_process import HostedStore, LogStoreProcess
from tests.support.plugins.proxied_aws import ProxiedAws
from tests.support.servers.fault_proxy import FaultProxy

Writer = TypeVar("Writer", HostedStore, LogStoreProcess)
_READY = 150.0


@dataclass
class Arena:
    """Starts processes that end with the test, and whose requests pass the proxy."""

    folder: Path
    services: ProxiedAws
    closing: ExitStack
    host: LogStoreProcess
    ids: Iterator[int] = field(default_factory=itertools.count)

    @property
    def proxy(self) -> FaultProxy:
        return self.services.proxy

    def process(self, log: str, **settings: str) -> LogStoreProcess:
        """Return a process on one log, or on all logs whose names begin with this text."""
        folder = self.folder / f"process-{next(self.ids)}"
        return self.closing.enter_context(LogStoreProcess(folder, log, self.services.environ, **settings))

    def store(self, log: str, **settings: str) -> HostedStore:
        """Return a log store that is neither killed nor paused. All such stores of a session share a process."""
        return self.host.store(uuid.uuid4().hex[:8], log, **settings)

    def begun(self, log: DeltaLog, others: int = 0) -> list[HostedStore]:
        """Log stores on a log, of which the first has made the first commit."""
        found = [self.store(log.location) for _ in range(1 + others)]
        return [self._first(found[0], log), *(store.wait_ready() for store in found[1:])]

    def begun_by_a_process(self, log: DeltaLog, others: int) -> tuple[LogStoreProcess, list[HostedStore]]:
        """Begin as `begun` does, but the first store is a process that may be killed or paused."""
        process, stores = self.process(log.location), [self.store(log.location) for _ in range(others)]
        return self._first(process, log), [store.wait_ready() for store in stores]

    @staticmethod
    def _first(writer: Writer, log: DeltaLog) -> Writer:
        assert writer.wait_ready(_READY).ask("write 0 first") == "ack"
        return writer


def refusal(kind: str) -> bytes:
    """Return a body that DynamoDB sends with status 400."""
    return json.dumps({"__type": f"com.amazonaws.dynamodb.v20120810#{kind}", "message": "refused"}).encode()
