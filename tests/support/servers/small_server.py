"""Replaces the Spark server in tests of its process: how it starts, dies, comes back and is stopped.

This Spark Connect server supports its token and its version, but no query. It starts in a second instead of ten. Code
that supervises, kills and restarts servers treats it like the real server, which `test_stack.py` starts once.
"""

from __future__ import annotations

import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from unittest.mock import patch

#: Settings of the Spark server that make the small one misbehave: to end at once, or never to listen.
TOKEN = "SPARK_CONNECT_AUTHENTICATE_TOKEN"
ENDS, NEVER_LISTENS = "test.small.ends", "test.small.never-listens"


def command(properties: Path) -> list[str]:
    """Return the command that starts it, from the properties of the real one."""
    return [sys.executable, __file__, str(properties)]


def small_spark() -> Any:
    """Return a patch. While it is active, every Spark server of this process is a small server."""
    return patch("tidegate.platform.local.spark.server.server_command", lambda spark, properties: command(properties))


def serve(properties: Path) -> None:
    """Answer until the process is ended."""
    given = dict(line.split("=", 1) for line in properties.read_text().splitlines())
    if ENDS in given:
        sys.exit("it was asked to end")
    if NEVER_LISTENS in given:
        time.sleep(300)
    import grpc
    from pyspark.sql.connect.proto import AnalyzePlanResponse, ReleaseSessionResponse, SparkConnectServiceServicer
    from pyspark.sql.connect.proto.base_pb2_grpc import add_SparkConnectServiceServicer_to_server

    class Small(SparkConnectServiceServicer):
        def AnalyzePlan(self, request: Any, context: Any) -> AnalyzePlanResponse:  # noqa: N802
            if ("authorization", f"Bearer {os.environ[TOKEN]}") not in context.invocation_metadata():
                context.abort(grpc.StatusCode.UNAUTHENTICATED, "another token")
            reply = AnalyzePlanResponse(session_id=request.session_id)
            reply.spark_version.version = "4.2.0-small"
            return reply

        def ReleaseSession(self, request: Any, context: Any) -> ReleaseSessionResponse:  # noqa: N802
            return ReleaseSessionResponse(session_id=request.session_id)

    server = grpc.server(ThreadPoolExecutor(2))
    add_SparkConnectServiceServicer_to_server(Small(), server)
    server.add_insecure_port(f"127.0.0.1:{given['spark.connect.grpc.binding.port']}")
    server.start()
    server.wait_for_termination()


if __name__ == "__main__":
    serve(Path(sys.argv[1]))
