"""The command ends on a signal, also as a shell's background job."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from tests.child import end_with_parent

pytestmark = pytest.mark.unit

_WAITS = """
import sys, time
from dagster._utils.interrupts import capture_interrupts
from tidegate.platform.cli.main import app, main

@app.command()
def wait() -> None:
    with capture_interrupts():  # as every run of Dagster in this process does
        pass
    try:
        print("ready", flush=True)
        time.sleep(60)
    finally:
        print("tidied up", flush=True)

sys.argv = ["tidegate", "wait"]
main()
"""


def _as_background_job() -> None:
    end_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_background_job_ends_in_order(number: signal.Signals) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", _WAITS], stdout=subprocess.PIPE, text=True, preexec_fn=_as_background_job
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(number)
        assert process.wait(30) != 0
        assert process.stdout.read() == "tidied up\n"
