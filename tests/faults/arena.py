"""Processes that run nothing but the log store, and meet on one table's log."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from tests.delta_log import DeltaLog
from tests.log_store_process import LogStoreProcess
from tests.proxied_aws import ProxiedAws
from tidegate.platform.local.fault_proxy import FaultProxy


@dataclass
class Arena:
    """Where processes that end with the test meet; their requests pass the proxy."""

    folder: Path
    services: ProxiedAws
    closing: ExitStack
    ids: Iterator[int] = field(default_factory=itertools.count)

    @property
    def proxy(self) -> FaultProxy:
        return self.services.proxy

    def process(self, log: str, **settings: str) -> LogStoreProcess:
        """A process on a log, or on all whose names begin so."""
        folder = self.folder / f"process-{next(self.ids)}"
        return self.closing.enter_context(LogStoreProcess(folder, log, self.services.environ, **settings))

    def begun(self, log: DeltaLog, processes: int, deadline: float = 60.0) -> list[LogStoreProcess]:
        """Processes on a log, the first of which has begun it."""
        found = [self.process(log.location) for _ in range(processes)]
        for one in found:
            one.wait_ready(deadline)
        assert found[0].ask("write 0 first") == "ack"
        return found


def refusal(kind: str) -> bytes:
    """What DynamoDB answers with status 400."""
    return json.dumps({"__type": f"com.amazonaws.dynamodb.v20120810#{kind}", "message": "refused"}).encode()
