"""The doctor's findings about the server's jars and its table of entries."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.errors import AnalysisException

from tidegate.platform.cli.check.findings import Failed, Finding, Warned
from tidegate.platform.cli.check.jars import check_jars
from tidegate.platform.cli.check.known_checks import Check
from tidegate.platform.cli.check.lake import check_commits
from tidegate.platform.cli.commands import doctor
from tidegate.platform.cli.commands.doctor import (
    check_listing,
    check_settings,
    check_store,
    check_stream,
    check_table,
    commit_table,
    settle_newest,
)
from tidegate.platform.core.config.commits import Commits, log_store_class
from tidegate.platform.lake.aws.clients import Aws
from tidegate.platform.lake.aws.commit_table import CommitTableAddress
from tidegate.platform.lake.spark.delta import Delta
from tidegate.platform.lake.spark.remote import SparkRemote
from tidegate.platform.lake.spark.results import ServerJar
from tidegate.platform.lake.spark.server_errors import SparkUnreachable
from tidegate.platform.lake.spark.value_settings import VALUE_SETTINGS
from tidegate.platform.local.spark.jars import OWN_JAR
from tidegate.platform.local.spark.server_settings import LOG_STORE

GOOD = {
    "Tidegate": ServerJar(f"tidegate-jvm-{version('tidegate')}.jar", "aa"),
    "Delta": ServerJar("delta-spark_4.2_2.13-4.4.0.jar", "bb"),
    "S3A": ServerJar("hadoop-aws-3.5.0.jar", "cc"),
}


_NAMES = {
    "spark.delta.logStore.s3a.impl": "impl",
    "spark.delta.logStore.s3.impl": "impl_of_s3",
    "spark.delta.logStore.class": "impl_of_all",
    "spark.hadoop.fs.s3.impl": "s3",
    "spark.hadoop.fs.s3a.performance.flags": "flags",
    "spark.hadoop.fs.s3a.bucket.landing.performance.flags": "flags_of_landing",
    "spark.hadoop.fs.s3a.input.stream.type": "stream",
    "spark.hadoop.delta.enableFastS3AListFrom": "fast_in_hadoop",
    "delta.enableFastS3AListFrom": "fast",
    "spark.io.delta.storage.S3DynamoDBLogStore.ddb.region": "region",
    "spark.hadoop.io.delta.storage.S3DynamoDBLogStore.ddb.region": "region_in_hadoop",
}
CLASSIC = "io.delta.storage.S3DynamoDBLogStore"
CONDITIONAL = "io.tidegate.storage.ConditionalS3LogStore"
S3A = "org.apache.hadoop.fs.s3a.S3AFileSystem"


class Settings(Delta):
    """A Spark server with the parts that the check of its log store needs."""

    def __init__(self, **settings: str) -> None:
        conf = SimpleNamespace(get=lambda key, default: settings.get(_NAMES.get(key, ""), default))
        self.session: Any = SimpleNamespace(conf=conf)


def test_a_store_of_ours_may_have_performance_flags() -> None:
    assert check_store(Settings(impl=LOG_STORE, flags="*"), ["landing"]) == LOG_STORE


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({}, f"none is set, so drivers overwrite each other's commits: spark.delta.logStore.s3a.impl={LOG_STORE}"),
        ({"flags": "delete, create"}, "fs.s3a.performance.flags=create,delete: a commit silently overwrites another"),
        ({"impl": "org.acme.Store", "flags_of_landing": "create"}, r"org\.acme\.Store with .*flags=create"),
        ({"impl": "org.acme.Store", "flags": "*"}, r"org\.acme\.Store with fs\.s3a\.performance\.flags=\*"),
        (
            {"impl": CLASSIC},
            "Delta's own store loses commits next to writers",
        ),
        (
            {"impl": LOG_STORE, "s3": S3A},
            rf"Delta’s own single-driver store for s3://.* Set spark\.delta\.logStore\.s3\.impl={LOG_STORE}",
        ),
        ({"impl": LOG_STORE, "impl_of_s3": CLASSIC}, rf"{CLASSIC} for s3://.* Set spark\.delta\.logStore\.s3\."),
        (
            {"impl_of_all": "org.acme.Store"},
            r"logStore\.class=org\.acme\.Store decides for every scheme: unset it, and",
        ),
        ({"impl_of_all": LOG_STORE, "impl": LOG_STORE}, r"opens no table while .*: unset spark\..*\.class$"),
        ({"impl_of_all": LOG_STORE, "impl_of_s3": LOG_STORE}, r"opens no table while"),
    ],
)
def test_a_store_that_loses_commits_is_a_problem(settings: dict[str, str], why: str) -> None:
    with pytest.raises(Failed, match=why):
        check_store(Settings(**settings), ["lake", "landing"])


@pytest.mark.parametrize(
    "settings",
    [
        {"impl": LOG_STORE},
        {"impl": LOG_STORE, "impl_of_s3": LOG_STORE, "s3": S3A},
        {"impl": LOG_STORE, "impl_of_s3": CONDITIONAL, "s3": S3A},
        {"impl_of_all": LOG_STORE, "s3": S3A, "flags": "*"},
    ],
)
def test_every_scheme_that_is_open_has_a_store(settings: dict[str, str]) -> None:
    assert check_store(Settings(**settings), ["lake"]) == LOG_STORE


@pytest.mark.parametrize(
    ("impl", "commits"),
    [(LOG_STORE, "dynamodb"), (CONDITIONAL, "s3")],
)
def test_the_log_store_of_the_lake_is_right(impl: str, commits: Commits) -> None:
    assert (
        check_commits(Settings(impl=impl), commits) == f"`lake.commits` is {commits}, and so is the server's log store"
    )


@pytest.mark.parametrize(
    ("impl", "commits", "other", "kind", "unless"),
    [
        (LOG_STORE, "s3", "dynamodb", Warned, r"\."),
        (CONDITIONAL, "dynamodb", "s3", Failed, ", unless Delta's own store .* shares a table: then stop this server"),
    ],
)
def test_the_other_log_store_of_ours_is_a_problem_only_where_writers_may_commit_through_dynamodb(
    impl: str, commits: Commits, other: Commits, kind: type[Exception], unless: str
) -> None:
    said = rf"s3a\.impl on the server is {impl}, and `lake\.commits` in lake\.yaml is {commits}: no commit is lost"
    remedy = rf"Set \S+s3a\.impl and \S+s3\.impl to {log_store_class(commits)} on the server"
    with pytest.raises(kind, match=rf"^\S+{said} between the two{unless}.*{remedy}, or write `commits: {other}`"):
        check_commits(Settings(impl=impl), commits)


def test_the_setting_that_decides_is_named_and_comes_off_first() -> None:
    """With both settings Delta opens no table."""
    key = r"\S+logStore\.class"
    said = rf"^{key} on the server is {LOG_STORE}.*Unset {key}, and set \S+s3a\.impl and \S+ to {CONDITIONAL}"
    with pytest.raises(Warned, match=said):
        check_commits(Settings(impl_of_all=LOG_STORE), "s3")


@pytest.mark.parametrize("commits", ["dynamodb", "s3"])
@pytest.mark.parametrize("settings", [{}, {"impl": CLASSIC}, {"impl_of_all": "org.acme.Store"}])
def test_a_log_store_of_others_is_a_problem_that_names_the_lake_s(settings: dict[str, str], commits: Commits) -> None:
    found = next(iter(settings.values()), "not set")
    with pytest.raises(Failed, match=rf"on the server is {found}, .*may be lost\. .* to {log_store_class(commits)} on"):
        check_commits(Settings(**settings), commits)


@pytest.mark.parametrize("settings", [{}, {"impl": CLASSIC}, {"impl_of_all": "org.acme.Store"}])
def test_the_remedy_is_the_log_store_of_the_lake(settings: dict[str, str]) -> None:
    with pytest.raises(Failed, match=CONDITIONAL):
        check_store(Settings(**settings), ["lake"], "s3")


@pytest.mark.parametrize("settings", [{"fast": "true"}, {"fast_in_hadoop": " True"}])
def test_delta_s_fast_listing_is_a_problem(settings: dict[str, str]) -> None:
    with pytest.raises(Failed, match=r"delta\.enableFastS3AListFrom=true: .*Unset it"):
        check_listing(Settings(impl=LOG_STORE, **settings))


def test_a_server_whose_other_clients_see_other_values_is_a_warning() -> None:
    assert "decide values are those" in check_settings(VALUE_SETTINGS | {"spark.sql.session.timeZone": "Etc/UTC"})
    for name, other in (("session.timeZone", "Europe/Berlin"), ("ansi.enabled", "false"), ("caseSensitive", "true")):
        name = f"spark.sql.{name}"
        with pytest.raises(Warned, match=f"^{name} is {other}: .*, set {name}={VALUE_SETTINGS[name]}$"):
            check_settings({**VALUE_SETTINGS, name: other})
    with pytest.raises(Warned, match=r", unset spark\.sql\.legacy\.integerGroupingId$"):
        check_settings({**VALUE_SETTINGS, "spark.sql.legacy.integerGroupingId": "true"})


def test_a_listing_that_delta_does_itself_is_none() -> None:
    said = check_listing(Settings(impl=LOG_STORE, fast_in_hadoop="false"))
    assert said == "delta.enableFastS3AListFrom is off"


@pytest.mark.parametrize(("stream", "said"), [(None, "is not set, and its default"), ("analytics", "is analytics: ")])
def test_a_stream_that_remembers_objects_is_a_warning(stream: str | None, said: str) -> None:
    with pytest.raises(Warned, match=said):
        check_stream(Settings(**({"stream": stream} if stream else {})))


def test_a_stream_that_remembers_nothing_is_right() -> None:
    assert check_stream(Settings(stream="classic")) == "fs.s3a.input.stream.type is classic"


class Server(Settings):
    """A Delta resource with the parts that these checks need."""

    def __init__(self, answer: Any, **settings: str) -> None:
        super().__init__(**settings)
        self._answer = answer

    def component_jars(self) -> Any:
        return self._said()

    def commit_table(self) -> Any:
        return self._said()

    def _said(self) -> Any:
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer


def check(jars: Any, spark: str = "4.2.0") -> str:
    return check_jars(Server(jars), spark)


def test_jars_are_listed() -> None:
    assert check(GOOD) == ", ".join(jar.name for jar in GOOD.values())


@pytest.mark.parametrize(
    ("jars", "why"),
    [
        ({**GOOD, "Delta": None}, "the server has no Delta: put those that `tidegate jars export DIR` writes"),
        (
            {**GOOD, "Delta": ServerJar("delta-spark_4.2_2.13-4.4.1.jar")},
            r"the server has delta-spark_4\.2_2\.13-4\.4\.1\.jar, this Python has delta-spark 4\.4\.0: put",
        ),
        (
            {**GOOD, "Tidegate": ServerJar("tidegate-jvm-0.0.1.jar")},
            rf"the server has tidegate-jvm-0\.0\.1\.jar, this program needs {OWN_JAR}: put those that",
        ),
        (AnalysisException("no procedure jars\nat …"), r"does not know tidegate.system.jars \(no procedure jars\)"),
    ],
)
def test_missing_and_old_jars_say_what_to_do(jars: Any, why: str) -> None:
    with pytest.raises(Failed, match=why) as caught:
        check(jars)
    assert "tidegate jars export" in str(caught.value)


def test_jars_of_another_build_are_found_by_their_hashes(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {jar.name: str(jar.sha256) for jar in GOOD.values()}
    monkeypatch.setattr("tidegate.platform.local.spark.jars.known_jars", lambda: {"4.2": known})
    assert check(GOOD) == ", ".join(known)
    assert check({component: ServerJar(jar.name) for component, jar in GOOD.items()}) == ", ".join(known)
    with pytest.raises(Failed, match=rf"another build of {OWN_JAR} \(SHA-256 dd…\) than this .* \(aa…\): put those"):
        check({**GOOD, "Tidegate": ServerJar(OWN_JAR, "dd")})
    for jar, said in (
        (ServerJar("hadoop-aws-3.4.2.jar", "cc"), "has hadoop-aws-3.4.2.jar instead of hadoop-aws-3.5.0.jar, which"),
        (ServerJar("hadoop-aws-3.5.0.jar", "dd"), r"a hadoop-aws-3.5.0.jar of other bytes \(SHA-256 dd…\) than cc…"),
    ):
        with pytest.raises(Warned, match=said):
            check({**GOOD, "S3A": jar})
    # The SDK in one jar, as another Spark may have it, is not another version of a jar that we know.
    assert check({**GOOD, "AWS SDK for DynamoDB": ServerJar("bundle-2.35.4.jar", "dd")}).endswith("bundle-2.35.4.jar")


def test_the_jars_of_another_spark_are_named_with_the_command_that_builds_them(monkeypatch: pytest.MonkeyPatch) -> None:
    older = {
        **GOOD,
        "Delta": ServerJar("delta-spark_4.1_2.13-4.4.0.jar", "dd"),
        "S3A": ServerJar("hadoop-aws-3.4.2.jar"),
    }
    assert check(older, "4.1.1-amzn-0")
    known = {jar.name: str(jar.sha256) for jar in GOOD.values()}
    monkeypatch.setattr("tidegate.platform.local.spark.jars.known_jars", lambda: {"4.2": known})
    assert check(older, "4.1.1"), "this program was built with jars for another Spark, whose bytes say nothing of these"
    with pytest.raises(
        Failed, match=r"the server is Spark 4\.1\.1 and has delta-spark_4\.2.*jar, which is for Spark 4\.2"
    ):
        check(GOOD, "4.1.1")
    with pytest.raises(Failed, match=r"is for Spark 4\.1: use the jars of `make jars`$"):
        check(older, "4.2.0")
    with pytest.raises(Failed, match=r"use the jars of `make jars SPARK=4\.1`$"):
        check(GOOD, "4.1.1")


def test_the_table_of_entries_is_the_server_s_not_this_process_s(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_REGION", "us-west-2")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    address = CommitTableAddress("mine", "eu-central-1", "http://127.0.0.1:2")
    found = commit_table(Server(address), Aws())
    assert (found.name, found.where) == ("mine", "eu-central-1 at http://127.0.0.1:2")


@pytest.mark.parametrize(
    ("settings", "region"),
    [({}, "us-east-1"), ({"region": "eu-west-1"}, "eu-west-1"), ({"region_in_hadoop": "eu-west-3"}, "eu-west-3")],
)
def test_delta_s_own_store_does_not_look_where_s3a_does(settings: dict[str, str], region: str) -> None:
    of_s3a = CommitTableAddress("mine", "eu-central-1", None)
    found = commit_table(Server(of_s3a, impl=CLASSIC, **settings), Aws())
    assert found.where.startswith(f"{region} at ")


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (CommitTableAddress("mine", None, None), r"its region is not configured: set fs\.s3a\.endpoint\.region"),
        (AnalysisException("two answers\nat …"), "the server does not report its table: two answers$"),
    ],
)
def test_a_table_of_entries_that_nobody_can_name_is_a_problem(answer: Any, why: str) -> None:
    with pytest.raises(Failed, match=why):
        commit_table(Server(answer), Aws())


@pytest.mark.parametrize("pending", [True, False])
def test_a_server_without_dynamodb_settles_only_what_is_pending(pending: bool) -> None:
    """Its role may not have DynamoDB, and the account's table may be another lake's."""
    settled: list[str] = []
    delta: Any = SimpleNamespace(settle_commits=settled.append)
    doctor: Any = SimpleNamespace(has_pending=lambda _: pending)
    settle_newest(delta, doctor, "s3a://lake/t", used=False)
    assert settled == (["s3a://lake/t"] if pending else [])


def test_a_table_of_entries_that_is_being_made_is_not_ready() -> None:
    entries: Any = SimpleNamespace(state=lambda: SimpleNamespace(status="CREATING"))
    with pytest.raises(Failed, match="it is CREATING"):
        check_table(entries)


def test_each_server_of_the_lake_is_examined_and_one_that_is_gone_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    own, other, gone = (SparkRemote.parse(f"sc://{name}:1") for name in ("own", "other", "gone"))

    @contextmanager
    def session(remote: SparkRemote) -> Iterator[Any]:
        if remote == gone:
            raise SparkUnreachable("no Spark Connect server at sc://gone:1")
        yield None

    def examine(delta: Any, *_: Any) -> Iterator[Finding]:
        yield Finding(Check.SPARK_JARS, str(delta.remote), True, "")

    monkeypatch.setattr(doctor, "isolated_session", session)
    monkeypatch.setattr(doctor, "_examine_server", examine)
    server = SimpleNamespace(find=lambda: [other, own, gone])
    opened: Any = SimpleNamespace(
        config=SimpleNamespace(buckets=[], lake=SimpleNamespace(commits="s3")),
        store=SimpleNamespace(bucket="lake"),
        delta=SimpleNamespace(remote=own, server=server),
    )
    found = [(each.check, each.subject, each.ok) for each in doctor._examine_servers(opened)]
    assert found == [
        (Check.SPARK_JARS, "sc://own:1", True),
        (Check.SPARK_JARS, "sc://other:1", True),
        (Check.SPARK_ANSWERS, "sc://gone:1", False),
    ]
