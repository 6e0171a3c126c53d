"""A temporary view is gone after its use, however the use ends."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import grpc
import pytest
from pyspark.errors.exceptions.connect import SparkConnectGrpcException

from tidegate.platform.lake.spark.server_errors import SparkUnreachable
from tidegate.platform.lake.spark.temporary_view import temporary_view

#: What a server that was restarted says of a session.
ENDED = SparkConnectGrpcException("the session is gone", grpc_status_code=grpc.StatusCode.INTERNAL)


class Session:
    """The views of a session, whose server may be lost."""

    def __init__(self) -> None:
        self.views: set[str] = set()
        self.calls_of_a_lost_server = 0
        self.catalog = SimpleNamespace(dropTempView=self._drop)
        self.lost: Exception | None = None

    def rows(self) -> Any:
        return SimpleNamespace(createOrReplaceTempView=self.views.add)

    def _drop(self, view: str) -> None:
        if self.lost:
            self.calls_of_a_lost_server += 1
            raise self.lost
        self.views.discard(view)


def use(session: Session, error: Exception | None = None, lost: Exception | None = None) -> None:
    """Use a view that a procedure makes. Afterwards the server is lost, or the use fails, if errors are given."""
    with temporary_view(session, "orders") as view:  # type: ignore[arg-type]
        session.views.add(view)
        session.lost = lost
        if error:
            raise error


def test_a_view_has_a_name_of_its_own_and_is_gone_afterwards() -> None:
    session = Session()
    views = [temporary_view(session, "orders", session.rows()) for _ in range(2)]  # type: ignore[arg-type]
    with views[0] as text, views[1] as other:
        assert session.views == {text, other}
        assert text.startswith("orders_")
        assert text == text.lower()
    assert session.views == set()


def test_a_view_of_a_procedure_is_gone_after_an_error() -> None:
    session = Session()
    with pytest.raises(ValueError, match="no rows"):
        use(session, ValueError("no rows"))
    assert session.views == set()


def test_an_error_is_not_replaced_by_one_of_the_view() -> None:
    """A server that was restarted knows neither the session nor its views."""
    session = Session()
    with pytest.raises(ValueError, match="no rows"):
        use(session, ValueError("no rows"), ENDED)
    assert session.calls_of_a_lost_server == 1


def test_a_view_that_stays_after_a_success_is_an_error() -> None:
    with pytest.raises(SparkConnectGrpcException):
        use(Session(), lost=ENDED)


@pytest.mark.parametrize(
    "error",
    [
        SparkConnectGrpcException("connection refused", grpc_status_code=grpc.StatusCode.UNAVAILABLE),
        SparkUnreachable("no Spark Connect server at sc://spark:1"),
    ],
    ids=["by PySpark", "by a probe"],
)
def test_a_lost_server_is_not_asked_again(error: Exception) -> None:
    """PySpark would try ten minutes to reach it."""
    session = Session()
    with pytest.raises(type(error)):
        use(session, error, error)
    assert session.calls_of_a_lost_server == 0
