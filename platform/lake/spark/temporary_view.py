"""A temporary view of a Spark session, which is gone after its use."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

import grpc
from pyspark.errors import PySparkException
from pyspark.errors.exceptions.connect import SparkConnectGrpcException
from pyspark.sql import DataFrame, SparkSession
from ulid import ULID

from tidegate.platform.lake.spark.server_errors import SparkUnreachable


@contextmanager
def temporary_view(session: SparkSession, purpose: str, rows: DataFrame | None = None) -> Iterator[str]:
    """Yield the name of a view that no other view of the session has. Afterwards the session has no such view.

    Args:
        session: of the view.
        purpose: first part of the name, a word that errors and plans of Spark then show.
        rows: of the view. None: a procedure makes the view in this context.
    """
    view = f"{purpose}_{ULID()}".lower()
    try:
        if rows is not None:
            rows.createOrReplaceTempView(view)
        yield view
    except BaseException as error:
        if not _is_lost(error):
            # The first error says what happened. An error of the session's end would replace it.
            with suppress(PySparkException):
                session.catalog.dropTempView(view)
        raise
    session.catalog.dropTempView(view)


def _is_lost(error: BaseException) -> bool:
    """Return whether the server is gone, with its views. PySpark would try ten minutes to reach it."""
    if isinstance(error, SparkConnectGrpcException):
        return error._grpc_status_code is grpc.StatusCode.UNAVAILABLE
    return isinstance(error, SparkUnreachable)
