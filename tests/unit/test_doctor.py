"""What the doctor says of the server's jars, and of the table of entries that it uses."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

import pytest
from pyspark.errors import AnalysisException

from tidegate.platform.cli.doctor import check_jars, commit_table
from tidegate.platform.cli.findings import Failed
from tidegate.resources.commit_table import CommitTableAddress

pytestmark = pytest.mark.unit

GOOD = {"Tidegate": f"tidegate-jvm-{version('tidegate')}.jar", "Delta": "delta-spark_4.2_2.13-4.4.0.jar"}


class Server:
    """A Delta resource as far as these checks need it."""

    def __init__(self, answer: Any) -> None:
        self._answer = answer

    def jars(self) -> Any:
        return self._said()

    def commit_table(self) -> Any:
        return self._said()

    def _said(self) -> Any:
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer


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


def test_the_table_of_entries_is_the_server_s_not_this_process_s(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_REGION", "us-west-2")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    address = CommitTableAddress("mine", "eu-central-1", "http://127.0.0.1:2")
    found = commit_table(Server(address))  # type: ignore[arg-type]
    assert (found.name, found.where) == ("mine", "eu-central-1 at http://127.0.0.1:2")


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (CommitTableAddress("mine", None, None), r"nobody says its region: set fs\.s3a\.endpoint\.region"),
        (AnalysisException("told different things\nat …"), "the server does not say which: told different things$"),
    ],
)
def test_a_table_of_entries_that_nobody_can_name_is_a_problem(answer: Any, why: str) -> None:
    with pytest.raises(Failed, match=why):
        commit_table(Server(answer))  # type: ignore[arg-type]
