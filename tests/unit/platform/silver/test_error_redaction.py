"""No value of a row of a table with personal columns is in an error or a check that Dagster keeps."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import dagster as dg
import pytest
from pyspark.errors import PySparkException

from tidegate.assets.silver import comparison_check as check
from tidegate.platform.core.errors import DataError
from tidegate.platform.silver.error_redaction import discreet_errors

PERSONAL, PLAIN = (SimpleNamespace(name="orders", personal=personal) for personal in (object(), None))
TIE = 'silver.orders: two different rows have the key ["CANARY"] and an equal `order`: add a column'


@pytest.mark.parametrize(("text", "why"), [(TIE, "two different rows have one key"), ("'CANARY' is no INT", "Spark")])
def test_spark_s_text_is_left_out(text: str, why: str) -> None:
    spec: Any = PERSONAL
    with pytest.raises(DataError, match=why) as failed, discreet_errors(spec):
        raise PySparkException(text)
    assert "CANARY" not in str(failed.value)
    assert failed.value.__suppress_context__


def test_the_error_of_another_table_is_spark_s() -> None:
    spec: Any = PLAIN
    with pytest.raises(PySparkException, match="CANARY"), discreet_errors(spec):
        raise PySparkException(TIE)


def test_the_comparison_with_bronze_names_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    some = SimpleNamespace(paths=(), size=0, is_whole=True)
    found = SimpleNamespace(wrong=[("mail=CANARY",)], keys=9, suspects=1, left_out=0, bronze=some, silver=some)
    monkeypatch.setattr(check, "compare", lambda *_: found)
    lake: Any = None
    for spec, shown in ((PERSONAL, False), (PLAIN, True)):
        given: Any = spec
        with dg.DagsterInstance.ephemeral() as instance:
            result = check.equals_bronze(lake, given, dg.AssetKey(["silver", "orders"]), instance)
        assert ("CANARY" in f"{result.description} {result.metadata}") is shown
        assert "1 of 9 keys differ" in (result.description or "")
