"""Connections to the warm Spark Connect server."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlparse

import grpc
from pyspark.sql import SparkSession
from pyspark.sql.connect.proto import base_pb2, base_pb2_grpc

# A released session makes the client's own late clean-up calls fail, which it reports as warnings.
logging.getLogger("pyspark.sql.connect.logging").setLevel(logging.ERROR)


class SparkUnreachable(RuntimeError):
    """No Spark Connect server answers at the address."""


def probe(remote: str, deadline: float = 10.0) -> str:
    """Ask the server for its Spark version, once.

    A client by itself retries a dead server for ten minutes, so every connection starts here.

    Args:
        remote: ``sc://host:port``.
        deadline: seconds.

    Raises:
        SparkUnreachable: nothing answers in time; the message says what to do.
    """
    address = urlparse(remote)
    target = f"{address.hostname}:{address.port or 15002}"
    request = base_pb2.AnalyzePlanRequest(
        session_id="00000000-0000-4000-8000-000000000000",
        user_context=base_pb2.UserContext(user_id="probe"),
        spark_version=base_pb2.AnalyzePlanRequest.SparkVersion(),
    )
    with grpc.insecure_channel(target) as channel:
        try:
            answer = base_pb2_grpc.SparkConnectServiceStub(channel).AnalyzePlan(request, timeout=deadline)
        except grpc.RpcError as error:
            raise SparkUnreachable(
                f"no Spark Connect server answers at {remote} ({error.code().name}): start one with `tidegate up`, "
                "or set SPARK_REMOTE to yours"
            ) from error
    return str(answer.spark_version.version)


@contextmanager
def session_of_its_own(remote: str) -> Iterator[SparkSession]:
    """A new session, closed afterwards.

    Raises:
        SparkUnreachable: see ``probe``.
    """
    probe(remote)
    session = SparkSession.builder.remote(remote).create()
    try:
        yield session
    finally:
        session.client.release_session()
        session.client.close()
