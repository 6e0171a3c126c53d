"""Connections to the warm Spark Connect server."""

from __future__ import annotations

import logging
import os
import uuid
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from threading import Event, Thread
from typing import cast

import grpc
import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.connect.client.core import DefaultChannelBuilder
from pyspark.sql.connect.dataframe import DataFrame as ConnectDataFrame
from pyspark.sql.connect.plan import SQL, CachedRelation
from pyspark.sql.connect.proto import AnalyzePlanRequest, ReleaseSessionRequest, SparkConnectServiceStub
from pyspark.sql.connect.session import SparkSession as ConnectSession

from tidegate.platform.lake.spark.remote import REMOTE, SparkRemote
from tidegate.platform.lake.spark.server_errors import SparkSilent, SparkUnreachable, TokenRefused
from tidegate.platform.lake.spark.token_source import TOKEN

#: Seconds after which the server is asked again to end what takes too long.
_INTERRUPT_RETRY_SECONDS = 0.5

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1", "[::1]"})

# PySpark prints every exception before it raises it, as JSON or with both traces: kilobytes before the message of the
# code that catches it. And after a session's release the client's late clean-up calls fail, with warnings.
for _name in ("pyspark.sql.connect.logging", "SQLQueryContextLogger", "DataFrameQueryContextLogger"):
    logging.getLogger(_name).setLevel(logging.CRITICAL)


def channel_builder(remote: SparkRemote) -> DefaultChannelBuilder:
    """Return what connects to a server: one of this machine directly, whatever proxy leads to everything else.

    Raises:
        SparkUnreachable: the token cannot be read now.
    """
    _keep_threads(os.getpid())
    builder = DefaultChannelBuilder(remote.url)
    if builder.host in _LOOPBACK:
        builder.setChannelOption("grpc.enable_http_proxy", 0)
    return builder


@cache
def _keep_threads(_process: int) -> grpc.Channel:
    """Return a channel that is never called and never closed.

    To close the last channel of a process is to wait for gRPC's threads, with the GIL (grpcio 1.85.1). The thread that
    releases the token of a channel that was closed before needs the GIL: the process hangs.
    """
    return grpc.insecure_channel("localhost:1")


def probe(remote: SparkRemote, deadline: float = 5.0) -> str:
    """Ask the server at `remote` for its version.

    PySpark's own client retries a dead server for ten minutes and `getOrCreate` succeeds on a closed port, so
    this call comes first. A token that is refused is read again once, because a newer one may be there by now.

    Args:
        remote: its address.
        deadline: seconds for the whole call.

    Returns:
        The server's Spark version.

    Raises:
        SparkUnreachable: nothing listens there, the listener does not answer in time, or it refuses us.
    """
    try:
        return _ask_version(remote, deadline)
    except grpc.RpcError as error:
        if remote.source is None or error.code() != grpc.StatusCode.UNAUTHENTICATED:
            raise _unreachable(remote, deadline, error) from None
    remote.source.forget()
    try:
        return _ask_version(remote, deadline)
    except grpc.RpcError as error:
        raise _unreachable(remote, deadline, error) from None


def _ask_version(remote: SparkRemote, deadline: float) -> str:
    builder = channel_builder(remote)
    session = str(uuid.uuid4())
    request = AnalyzePlanRequest(session_id=session, spark_version=AnalyzePlanRequest.SparkVersion())
    request.user_context.user_id = "probe"
    release = ReleaseSessionRequest(session_id=session)
    release.user_context.user_id = "probe"
    metadata = list(builder.metadata())
    with builder.toChannel() as channel:
        stub = SparkConnectServiceStub(channel)  # type: ignore[no-untyped-call]
        reply = stub.AnalyzePlan(request, timeout=deadline, metadata=metadata)
        stub.ReleaseSession(release, timeout=deadline, metadata=metadata)
        return str(reply.spark_version.version)


def _unreachable(remote: SparkRemote, deadline: float, error: grpc.RpcError) -> SparkUnreachable:
    kinds = {grpc.StatusCode.UNAUTHENTICATED: TokenRefused, grpc.StatusCode.DEADLINE_EXCEEDED: SparkSilent}
    return kinds.get(error.code(), SparkUnreachable)(_format_error(remote, deadline, error))


def _format_error(remote: SparkRemote, deadline: float, error: grpc.RpcError) -> str:
    code, setting = error.code(), "spark.servers of lake.yaml" if remote.listed else REMOTE
    details = " ".join(remote.hide(error.details() or "").split())
    if code == grpc.StatusCode.UNAVAILABLE:
        return (
            f"no Spark Connect server at {remote}: start one with `tidegate up`, on AWS with `tidegate spark`, "
            f"or set {setting} to where it is ({details})"
        )
    if code == grpc.StatusCode.DEADLINE_EXCEEDED:
        return (
            f"what listens at {remote} did not answer as a Spark Connect server within {deadline:g} s: "
            f"check {setting}, or restart the server"
        )
    if code == grpc.StatusCode.UNAUTHENTICATED:
        where = f"set {TOKEN} to its token" if remote.source is None else f"{remote.source} must have its token"
        return f"the Spark Connect server at {remote} refuses this client ({details}): {where}"
    return f"the Spark Connect server at {remote} refused a version request ({code.name}: {details})"


def command(session: SparkSession, text: str) -> list[Row]:
    """Run a SQL command (CALL, DDL, MERGE, …) and return its rows.

    The rows come with the answer to `sql()`, which runs a command at once. `collect()` would send them back to the
    server as a query of its own, which costs as much as a short command.
    """
    frame = session.sql(text)
    plan = getattr(frame, "_plan", None)
    answer = getattr(plan, "_plan", None) if isinstance(plan, CachedRelation) else None
    if answer is None or not answer.HasField("local_relation"):
        return frame.collect()
    if not answer.local_relation.data:
        return []
    with pa.ipc.open_stream(answer.local_relation.data) as stream:
        return [Row(**row) for row in stream.read_all().to_pylist()]


def select(session: SparkSession, text: str) -> DataFrame:
    """Return the rows of a query, which Spark analyzes when they are asked for.

    `sql()` sends the text at once, because it may be a command. The server analyzes a query for that, and again when
    its rows are asked for.
    """
    if isinstance(session, ConnectSession):
        return cast(DataFrame, ConnectDataFrame(SQL(text), session))
    return session.sql(text)


@contextmanager
def override_settings(session: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    """Give a session other settings in this context. Afterwards it has those that it had before."""
    client = cast(ConnectSession, session).client
    before = dict(zip(settings, client.get_config_with_defaults(*((name, None) for name in settings)), strict=True))
    apply_settings(session, settings)
    try:
        yield
    finally:
        apply_settings(session, {name: value for name, value in before.items() if value is not None})
        for name in (name for name, value in before.items() if value is None):
            session.conf.unset(name)


def apply_settings(session: SparkSession, settings: Mapping[str, str]) -> None:
    """Give a session settings, in one call. The server's advice about deprecated ones is not for users of a command."""
    if settings:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", r"The SQL config '.*' has been deprecated", UserWarning)
            cast(ConnectSession, session).conf._set_all(dict(settings), silent=False)


@contextmanager
def limit_call_time(session: SparkSession, seconds: float) -> Iterator[Callable[[], bool]]:
    """Let the server end what this thread asks of it in this context, once some time is over.

    Yields a function that returns whether it is over. From then on each call fails, with the condition
    `OPERATION_CANCELED`.

    Args:
        session: its calls of other threads continue.
        seconds: from now on.
    """
    tag = f"tidegate-{uuid.uuid4()}"
    late, done = Event(), Event()

    def watch() -> None:
        if done.wait(seconds):
            return
        late.set()
        while not done.is_set():  # What has not begun yet is not ended, so it is asked for again.
            with suppress(PySparkException, grpc.RpcError):
                session.interruptTag(tag)
            done.wait(_INTERRUPT_RETRY_SECONDS)

    session.addTag(tag)
    Thread(target=watch, name=tag, daemon=True).start()
    try:
        yield late.is_set
    finally:
        done.set()
        session.removeTag(tag)


@contextmanager
def hide_token_in_errors(remote: SparkRemote) -> Iterator[None]:
    """Make a session in this context. PySpark's errors about an address repeat all of it, with the token.

    Raises:
        SparkUnreachable: PySpark raised an error. The message has no token.
    """
    try:
        yield
    except PySparkException as error:
        raise SparkUnreachable(f"no session at {remote}: {remote.hide(str(error))}") from None


def release(session: SparkSession, remote: SparkRemote, deadline: float = 5.0) -> None:
    """Close a session on the server, then here.

    If the server does not answer in time, give up: it drops idle sessions after an hour.

    Args:
        session: may be closed already.
        remote: its server's address.
        deadline: seconds for the server's answer; PySpark's own call retries for ten minutes.
    """
    connected = cast(ConnectSession, session)
    if connected.client.is_closed:
        return
    request = ReleaseSessionRequest(session_id=connected.session_id)
    request.user_context.user_id = connected.client._user_id or ""
    try:
        builder = channel_builder(remote)
        with builder.toChannel() as channel:
            stub = SparkConnectServiceStub(channel)  # type: ignore[no-untyped-call]
            stub.ReleaseSession(request, timeout=deadline, metadata=list(builder.metadata()))
    except (SparkUnreachable, grpc.RpcError):
        return  # to close it here would wait for the calls that are under way
    connected.release_session_on_close = False
    connected.stop()


class _OwnSession(ConnectSession):
    """A session that its owner closes, and never Python's garbage collector.

    PySpark's own waits for its calls wherever it is collected. In 4.1 that may be the thread of one of these calls,
    which then waits for itself.
    """

    def __del__(self) -> None:
        """Do nothing."""


def own_session(remote: SparkRemote) -> SparkSession:
    """Return a new session, which the caller closes.

    PySpark's `getOrCreate` never returns this session, and finds its active and default sessions as they were. It
    would return a session of this process, which may be one of another server.

    Raises:
        SparkUnreachable: see `hide_token_in_errors`.
    """
    with hide_token_in_errors(remote):
        session = _OwnSession(connection=channel_builder(remote))
    # PySpark's builder sets it. Without it, `pyspark.sql.functions` look for a JVM in this process.
    os.environ["SPARK_CONNECT_MODE_ENABLED"] = "1"
    return cast(SparkSession, session)


@contextmanager
def isolated_session(remote: SparkRemote) -> Iterator[SparkSession]:
    """Yield a session of its own, closed afterwards.

    PySpark's builder would leave a closed session as the active session of this thread, and PySpark replaces no such
    session: each run of this process would open another session and leave it open.

    Raises:
        SparkUnreachable: see `probe`.
    """
    probe(remote)
    session = own_session(remote)
    client = cast(ConnectSession, session).client
    try:
        yield session
    finally:
        # A client whose server was restarted is closed, and one whose server is gone would retry for ten minutes;
        # neither may hide what happened.
        with suppress(SparkUnreachable, PySparkException):
            if not client.is_closed:
                probe(remote)
                client.release_session()
        client.close()
