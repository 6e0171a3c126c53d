"""What the doctor says of the server's jars, and of the table of entries that it uses."""

from __future__ import annotations

from importlib.metadata import version
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.errors import AnalysisException

from tidegate.platform.cli.doctor import DYNAMODB_STORE, check_jars, check_store, commit_table
from tidegate.platform.cli.findings import Failed
from tidegate.resources.commit_table import CommitTableAddress

pytestmark = pytest.mark.unit

GOOD = {"Tidegate": f"tidegate-jvm-{version('tidegate')}.jar", "Delta": "delta-spark_4.2_2.13-4.4.0.jar"}


_NAMES = {
    "spark.delta.logStore.s3a.impl": "impl",
    "spark.hadoop.fs.s3a.performance.flags": "flags",
    "spark.hadoop.fs.s3a.bucket.landing.performance.flags": "flags_of_landing",
}


class Settings:
    """A Spark server as far as the check of its log store needs it."""

    def __init__(self, **settings: str) -> None:
        self.session = SimpleNamespace(
            conf=SimpleNamespace(get=lambda key, default: settings.get(_NAMES.get(key, ""), default))
        )


def test_a_store_of_ours_may_have_performance_flags() -> None:
    assert check_store(Settings(impl=DYNAMODB_STORE, flags="*"), ["landing"]) == DYNAMODB_STORE  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({}, f"none is set, so drivers overwrite each other's commits: spark.delta.logStore.s3a.impl={DYNAMODB_STORE}"),
        ({"flags": "delete, create"}, "fs.s3a.performance.flags=create,delete: a commit overwrites another's"),
        ({"impl": "org.acme.Store", "flags_of_landing": "create"}, r"org\.acme\.Store with .*flags=create"),
        ({"impl": "org.acme.Store", "flags": "*"}, r"org\.acme\.Store with fs\.s3a\.performance\.flags=\*"),
        (
            {"impl": "io.delta.storage.S3DynamoDBLogStore"},
            "Delta's own store loses commits beside writers",
        ),
    ],
)
def test_a_store_that_loses_commits_is_a_problem(settings: dict[str, str], why: str) -> None:
    with pytest.raises(Failed, match=why):
        check_store(Settings(**settings), ["lake", "landing"])  # type: ignore[arg-type]


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
