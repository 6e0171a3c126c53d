"""A session of its own, without a server."""

from __future__ import annotations

import select
import socket
import subprocess
import sys
from threading import Event
from typing import Any
from unittest.mock import MagicMock

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.connect.session import SparkSession as ConnectSession

from tidegate.platform.lake.spark import session
from tidegate.platform.lake.spark.remote import SparkRemote
from tidegate.platform.lake.spark.server_errors import SparkUnreachable


def test_functions_of_pyspark_need_no_jvm_where_a_session_of_its_own_is_the_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SPARK_CONNECT_MODE_ENABLED", "1")
    monkeypatch.delenv("SPARK_CONNECT_MODE_ENABLED")
    monkeypatch.setattr(session, "probe", lambda *_: "4.2.0")
    monkeypatch.setattr(session, "_OwnSession", MagicMock())
    with pytest.raises(AssertionError):
        F.lit(1)
    with session.isolated_session(SparkRemote.parse("sc://127.0.0.1:1", None)):
        assert isinstance(F.lit(1), Column)


def test_a_query_is_not_sent_before_its_rows_are_asked_for() -> None:
    """This session has no client."""
    unopened: Any = object.__new__(ConnectSession)
    frame: Any = session.select(unopened, "SELECT 1 AS n")
    assert frame._plan._query == "SELECT 1 AS n"
    classic = MagicMock()
    assert session.select(classic, "SELECT 2") is classic.sql.return_value


class _Calls:
    """A session whose server ends a call at the third request to do so: before, the call has not begun there."""

    def __init__(self) -> None:
        self.tags, self.asked, self.ended = list[str](), list[str](), Event()

    def addTag(self, tag: str) -> None:  # noqa: N802
        self.tags.append(tag)

    def removeTag(self, tag: str) -> None:  # noqa: N802
        self.tags.remove(tag)

    def interruptTag(self, tag: str) -> None:  # noqa: N802
        self.asked.append(tag)
        if len(self.asked) == 1:
            raise PySparkException("the server is busy")
        if len(self.asked) == 3:
            self.ended.set()


def test_what_takes_too_long_is_ended_again_and_again_and_nothing_after_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "_INTERRUPT_RETRY_SECONDS", 0.001)
    calls: Any = _Calls()
    with session.limit_call_time(calls, 0.0) as is_late:
        (tag,) = calls.tags
        assert calls.ended.wait(20)
        assert is_late()
    assert calls.tags == []
    assert {*calls.asked} == {tag}
    others: Any = _Calls()
    with pytest.raises(KeyboardInterrupt), session.limit_call_time(others, 3_600) as is_late:
        raise KeyboardInterrupt
    assert (others.tags, others.asked, is_late()) == ([], [], False)


@pytest.mark.parametrize(("host", "directly"), [("127.0.0.1", True), ("localhost", True), ("spark.internal", False)])
def test_a_server_of_this_machine_is_not_asked_by_way_of_a_proxy(host: str, directly: bool) -> None:
    builder = session.channel_builder(SparkRemote.parse(f"sc://{host}:15002", "secret"))
    assert (("grpc.enable_http_proxy", 0) in builder._channel_options) is directly


#: Opens a channel to a port, calls it, closes it, and prints the threads that are left a second later.
CLOSES = """
import sys, time
from pathlib import Path
from tidegate.platform.lake.spark.remote import SparkRemote
from tidegate.platform.lake.spark.session import channel_builder
with channel_builder(SparkRemote(f"sc://localhost:{sys.argv[1]}/;token=secret")).toChannel() as channel:
    try:
        channel.unary_unary("/any/method")(b"", timeout=10)
    except Exception as error:
        assert "UNAVAILABLE" in str(error), error
time.sleep(1)
print(*((thread / "comm").read_text().strip() for thread in Path("/proc/self/task").iterdir()))
"""


def test_no_channel_that_is_closed_is_the_last_of_its_process() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        asked = [sys.executable, "-c", CLOSES, str(closed.getsockname()[1])]
        left = subprocess.run(asked, stdout=subprocess.PIPE, text=True, timeout=60, check=True).stdout
    assert "event_engine" in left.split(), "the process waited for gRPC's threads, with the GIL"


def test_a_proxy_that_leads_to_everything_is_not_asked_for_loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as proxy, socket.create_server(("127.0.0.1", 0)) as server:
        for name in ("http_proxy", "HTTP_PROXY", "grpc_proxy"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.getsockname()[1]}")
        for name in ("no_proxy", "NO_PROXY"):
            monkeypatch.delenv(name, raising=False)
        with pytest.raises(SparkUnreachable):
            session.probe(SparkRemote.parse(f"sc://127.0.0.1:{server.getsockname()[1]}", "secret"), 0.5)
        asked = select.select([proxy, server], [], [], 0)[0]
    assert asked == [server]
