"""Is a Spark Connect server there? One call with a deadline."""

from __future__ import annotations

import uuid

import grpc
from pyspark.sql.connect.client.core import DefaultChannelBuilder
from pyspark.sql.connect.proto import AnalyzePlanRequest, ReleaseSessionRequest, SparkConnectServiceStub

from tidegate.platform.local.errors import LocalStackError


def probe(remote: str, deadline: float = 5.0) -> str:
    """Ask the server at `remote` for its version.

    PySpark's own client retries a dead server for ten minutes and `getOrCreate` succeeds on a closed port, so
    this is asked first.

    Args:
        remote: `sc://host:port`.
        deadline: Seconds for the whole call.

    Returns:
        The server's Spark version.

    Raises:
        LocalStackError: Nothing listens there, or what listens does not answer in time.
    """
    builder = DefaultChannelBuilder(remote)
    session = str(uuid.uuid4())
    request = AnalyzePlanRequest(session_id=session, spark_version=AnalyzePlanRequest.SparkVersion())
    request.user_context.user_id = "probe"
    release = ReleaseSessionRequest(session_id=session)
    release.user_context.user_id = "probe"
    metadata = list(builder.metadata())
    with builder.toChannel() as channel:
        stub = SparkConnectServiceStub(channel)  # type: ignore[no-untyped-call]
        try:
            reply = stub.AnalyzePlan(request, timeout=deadline, metadata=metadata)
            stub.ReleaseSession(release, timeout=deadline, metadata=metadata)
        except grpc.RpcError as error:
            raise LocalStackError(_say(remote, deadline, error)) from None
        return str(reply.spark_version.version)


def _say(remote: str, deadline: float, error: grpc.RpcError) -> str:
    code, details = error.code(), error.details()
    if code == grpc.StatusCode.UNAVAILABLE:
        return (
            f"no Spark Connect server at {remote}: start one with `tidegate up`, "
            f"or set SPARK_REMOTE to where it is ({details})"
        )
    if code == grpc.StatusCode.DEADLINE_EXCEEDED:
        return (
            f"what listens at {remote} did not answer as a Spark Connect server within {deadline:g} s: "
            "check SPARK_REMOTE, or restart the server"
        )
    return f"the Spark Connect server at {remote} refused a version request ({code.name}: {details})"
