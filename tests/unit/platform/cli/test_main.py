"""The command ends on a signal, also as a background job of a shell."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from tests.support.servers.child import ending_with_us

_WAITS = """
import signal, sys, time
signal.signal(signal.SIGINT, signal.SIG_IGN)  # as a shell starts a background job
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


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_background_job_ends_in_order(number: signal.Signals) -> None:
    command = ending_with_us(sys.executable, "-c", _WAITS)
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(number)
        assert process.wait(30) != 0
        assert process.stdout.read() == "tidied up\n"
