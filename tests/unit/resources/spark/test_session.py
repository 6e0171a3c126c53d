"""A session of its own, without a server."""

from __future__ import annotations

from unittest.mock import MagicMock

import pytest
from pyspark.sql import Column
from pyspark.sql import functions as F

from tidegate.resources.spark import session
from tidegate.resources.spark.remote import SparkRemote


def test_functions_of_pyspark_need_no_jvm_where_a_session_of_its_own_is_the_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SPARK_CONNECT_MODE_ENABLED", "1")
    monkeypatch.delenv("SPARK_CONNECT_MODE_ENABLED")
    monkeypatch.setattr(session, "probe", lambda *_: "4.2.0")
    monkeypatch.setattr(session, "ConnectSession", MagicMock())
    with pytest.raises(AssertionError):
        F.lit(1)
    with session.session_of_its_own(SparkRemote.parse("sc://127.0.0.1:1", None)):
        assert isinstance(F.lit(1), Column)
