"""What the doctor says of the server's jars."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

import pytest
from pyspark.errors import AnalysisException

from tidegate.platform.cli.doctor import check_jars
from tidegate.platform.cli.findings import Failed

pytestmark = pytest.mark.unit

GOOD = {"Tidegate": f"tidegate-jvm-{version('tidegate')}.jar", "Delta": "delta-spark_4.2_2.13-4.4.0.jar"}


class Server:
    """A Delta resource as far as this check needs it."""

    def __init__(self, jars: dict[str, str | None] | Exception) -> None:
        self._jars = jars

    def jars(self) -> dict[str, str | None]:
        if isinstance(self._jars, Exception):
            raise self._jars
        return self._jars


def check(jars: Any) -> str:
    return check_jars(Server(jars))  # type: ignore[arg-type]


def test_jars_are_listed() -> None:
    assert check(GOOD) == ", ".join(GOOD.values())


@pytest.mark.parametrize(
    ("jars", "why"),
    [
        ({**GOOD, "Delta": None}, "the server has no Delta: put all jars"),
        ({**GOOD, "Tidegate": "tidegate-jvm-0.0.1.jar"}, "the server has tidegate-jvm-0.0.1.jar, this program belongs"),
        (AnalysisException("no procedure jars\nat …"), r"does not know tidegate.system.jars \(no procedure jars\)"),
    ],
)
def test_missing_and_old_jars_say_what_to_do(jars: Any, why: str) -> None:
    with pytest.raises(Failed, match=why) as caught:
        check(jars)
    assert "make jars" in str(caught.value)
