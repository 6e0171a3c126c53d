"""The intake and the forwarding of a lake in a process of their own, which tests kill at a seam."""

from __future__ import annotations

import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.support.servers.child import end_with_parent
from tests.support.servers.client import DEADLINE, processes
from tests.support.servers.death import die_at
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.intake import tick
from tidegate.platform.lake.aws.clients import Aws
from tidegate.platform.lake.lake import Lake, open_lake
from tidegate.platform.lake.spark.remote import SparkRemote
from tidegate.platform.routes.forwarder import Forwarder

#: Seconds for which the intake hides what it received: a test waits for it after a kill.
HIDDEN_SECONDS = 3.0
#: Seconds after which the process ends without a signal.
_LIFETIME = 120


def opened(config: Mapping[str, Any], aws: Aws) -> Lake:
    """Return a lake that needs no Spark."""
    return open_lake(LakeConfig.model_validate(config), aws, SparkRemote.parse("sc://localhost:1", None), _no_spark)


def run_until_killed(config: Mapping[str, Any], aws: Aws, seam: str, marker: Path) -> None:
    """Take in and forward in a new process until it is killed at a seam. Fails if it ends otherwise.

    Args:
        config: the lake.
        aws: reaches the local AWS.
        seam: the seam.
        marker: a file that the process writes at the seam.
    """
    process = processes.Process(target=_main, args=(config, aws, (seam, marker)), daemon=True)
    process.start()
    process.join(DEADLINE)
    assert marker.exists(), f"seam {seam} was not reached; exit code {process.exitcode}"
    assert process.exitcode == -signal.SIGKILL


def run_to_the_end(config: Mapping[str, Any], aws: Aws) -> None:
    """Take in and forward in a new process until nothing is left."""
    process = processes.Process(target=_main, args=(config, aws, None), daemon=True)
    process.start()
    process.join(DEADLINE)
    assert process.exitcode == 0


def _main(config: Mapping[str, Any], aws: Aws, death: tuple[str, Path] | None) -> None:
    end_with_parent(signal.SIGKILL)
    signal.alarm(_LIFETIME)
    if death:
        die_at(*death)
    tick.TICK_SECONDS = HIDDEN_SECONDS
    lake, forwarder = opened(config, aws), Forwarder()
    (queue,) = lake.queues
    while any(queue.depth()) or lake.store.outbox.lanes():
        taken = tick.take_in(lake)
        for error in taken.failures.values():
            raise error
        for result in forwarder.tick(lake, lake.store.outbox.lanes()):
            if result.error:
                raise result.error


def _no_spark() -> Any:
    raise AssertionError("forwarding needs no Spark")
