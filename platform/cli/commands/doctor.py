"""`tidegate doctor` checks how the lake's commits are coordinated, and what dead writers left in its logs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path

from botocore.exceptions import BotoCoreError, ClientError
from pyspark.errors import PySparkException
from rich.console import Console
from rich.text import Text

from tidegate.platform.cli.answers.answer import print_answer
from tidegate.platform.cli.aws_errors import explain_aws
from tidegate.platform.cli.check.findings import Failed, Finding, Warned, findings_answer, make_finding, show
from tidegate.platform.cli.check.jars import check_jars
from tidegate.platform.cli.check.known_checks import Check
from tidegate.platform.cli.check.lake import check_commits
from tidegate.platform.cli.check.runs import check_runs
from tidegate.platform.cli.commands.doctor_logs import LogDoctor
from tidegate.platform.cli.environment import client
from tidegate.platform.cloud.commit_table import CommitTable as WantedTable
from tidegate.platform.core.config.commits import Commits, commits_of_class, log_store_class
from tidegate.platform.core.wording import first_line
from tidegate.platform.lake.aws.clients import Aws, caller
from tidegate.platform.lake.aws.commit_table import CommitTable
from tidegate.platform.lake.aws.s3 import StoreError
from tidegate.platform.lake.lake import Lake
from tidegate.platform.lake.spark.delta import Delta
from tidegate.platform.lake.spark.log_stores import LOG_STORE_CLASS, LOG_STORE_S3, LOG_STORE_S3A
from tidegate.platform.lake.spark.remote import SparkRemote
from tidegate.platform.lake.spark.server_errors import SparkUnreachable
from tidegate.platform.lake.spark.session import isolated_session, probe
from tidegate.platform.lake.spark.value_settings import VALUE_SETTINGS, other_values, server_settings

_CLASSIC = "io.delta.storage.S3DynamoDBLogStore"
_FAST_LISTING = "delta.enableFastS3AListFrom"
#: How S3A reads objects.
_STREAM = "fs.s3a.input.stream.type"


def run_doctor(console: Console, lake: Path | None, home: Path | None, *, repair: bool, as_json: bool = False) -> bool:
    """Examine the log of every table of the lake and print the findings.

    Args:
        lake: the lake.yaml; None takes that of the local platform, else TIDEGATE_LAKE, else `lake.yaml`.
        home: home of a running local platform; None takes a running default one, else the environment.
        repair: first settle pending commits, close what dead writers left open and delete old staged commits.
        as_json: print only one JSON list of all findings, at the end.

    Returns:
        Whether nothing is wrong.

    Raises:
        CommandError: nothing runs on the home, or no Spark server answers.
    """
    using = client(home, lake)
    found = []
    with using.open_lake() as opened:
        if repair:
            opened.store.operations.put("doctor --repair", caller(using.settings.aws))
        runs = check_runs(using.home, opened.config.lake.name or "", *_tables(opened))
        for finding in chain(_examine_tables(opened, using.settings.aws, repair=repair), runs):
            found.append(finding)
            if not as_json:
                show(console, finding, "PROBLEM ")
    failed = sum(not finding.ok for finding in found)
    if as_json:
        print_answer(console, findings_answer(found))
    else:
        verdict = f"{failed} problems" if failed else "nothing is wrong"
        console.print(Text(f"\n{verdict}", style="red" if failed else "green"))
    return not failed


def _tables(opened: Lake) -> tuple[list[str], list[str]]:
    """Return the keys of the tables, and the names of the silver tables."""
    return opened.store.births.tables(), [spec.name for spec in opened.config.tables if spec.silver]


def _examine_tables(opened: Lake, aws: Aws, *, repair: bool) -> Iterator[Finding]:
    yield from _examine_servers(opened)
    uses = uses_commit_table(opened.delta)
    about, entries = _find_commit_table(opened.delta, aws) if uses else _look_for_commit_table(opened, aws)
    yield about
    doctor = LogDoctor(opened.store.objects, entries, used=uses)
    for found in locations(opened):
        if isinstance(found, Finding):
            yield found
            continue
        name, location = found
        if repair:
            settle = partial(settle_newest, opened.delta, doctor, location, used=uses)
            yield make_finding(Check.LOG_REPAIR, name, partial(_repair, doctor, location, settle))
        yield from doctor.examine(name, location)


def _examine_servers(opened: Lake) -> Iterator[Finding]:
    """Yield the findings of each Spark server of the lake, first of the one that is used for the logs."""
    buckets, commits = [*opened.config.buckets, opened.store.bucket], opened.config.lake.commits
    own = opened.delta.remote
    yield from _examine_server(opened.delta, buckets, commits)
    for remote in opened.delta.server.find():
        if remote != own:
            yield from _examine_other_server(remote, buckets, commits)


def _examine_server(delta: Delta, buckets: Sequence[str], commits: Commits) -> Iterator[Finding]:
    server = str(delta.remote)
    yield make_finding(Check.SPARK_LOG_STORE, server, lambda: check_store(delta, buckets, commits))
    yield make_finding(Check.SPARK_COMMITS, server, lambda: check_commits(delta, commits))
    yield make_finding(Check.SPARK_LISTING, server, lambda: check_listing(delta))
    yield make_finding(Check.SPARK_SETTINGS, server, lambda: check_settings(server_settings(delta.remote)))
    yield make_finding(Check.SPARK_STREAM, server, lambda: check_stream(delta))
    yield make_finding(Check.SPARK_JARS, server, lambda: check_jars(delta, probe(delta.remote)))


def _examine_other_server(remote: SparkRemote, buckets: Sequence[str], commits: Commits) -> Iterator[Finding]:
    try:
        with isolated_session(remote) as session:
            yield from _examine_server(Delta(remote, lambda: session), buckets, commits)
    except SparkUnreachable as error:
        yield Finding(Check.SPARK_ANSWERS, str(remote), False, str(error))


def _find_commit_table(delta: Delta, aws: Aws) -> tuple[Finding, CommitTable | None]:
    """Return the table that the server's log store uses, and whether it can be used."""
    try:
        entries = commit_table(delta, aws)
    except Failed as problem:
        return Finding(Check.SPARK_COMMIT_TABLE, str(delta.remote), False, str(problem)), None
    return make_finding(Check.COMMIT_TABLE_STATE, entries.name, partial(check_table, entries)), entries


def _look_for_commit_table(opened: Lake, aws: Aws) -> tuple[Finding, CommitTable | None]:
    """Return the table that the server's settings name, if it exists and can be read: others may commit through it.

    The server itself does not need it, so nothing fails if it cannot be read. It is a warning if a setting names it.
    """
    name = opened.delta.conf(f"spark.{log_store_class('dynamodb')}.ddb.tableName")
    try:
        # So that a network without a way to DynamoDB delays the command for seconds, not minutes.
        entries = commit_table(opened.delta, replace(aws, max_attempts=1))
        state = entries.state()
        if state is not None:
            # A role may describe the table and not read its items.
            entries.newest_entry(opened.store.uri("_tidegate-check"))
    except (Failed, ClientError, BotoCoreError) as error:
        why = str(error) if isinstance(error, Failed) else explain_aws(error)
        found = f"not looked into, so writers that commit through it would not be seen: {why}"
        return Finding(Check.COMMIT_TABLE_OTHERS, name or "of the server", True, found, warning=bool(name)), None
    if state is None:
        return Finding(Check.COMMIT_TABLE_OTHERS, entries.name, True, f"there is none in {entries.where}"), None
    found = f"looked into for entries of other writers, in {entries.where}"
    return Finding(Check.COMMIT_TABLE_OTHERS, entries.name, True, found), entries


def settle_newest(delta: Delta, doctor: LogDoctor, location: str, *, used: bool) -> None:
    """Let the server settle what the newest entry of a table promises.

    Args:
        used: whether the server commits through the DynamoDB table. Otherwise it may have no permission for it, so it
            is asked only if there is something to settle.
    """
    if not used:
        if doctor.has_pending(location):
            delta.settle_commits(location)
        return
    # Opening a log settles what its newest entry promises. The first open after a commit by the server itself may not
    # read the entries.
    for _ in range(2):
        delta.table_state(location)


def _repair(doctor: LogDoctor, location: str, settle: Callable[[], None]) -> str:
    try:
        settle()
    except PySparkException as error:
        raise Failed(first_line(error)) from None
    return f"settled; {doctor.close(location)} entries closed, {doctor.sweep(location)} staged commits swept"


def commit_table(delta: Delta, aws: Aws) -> CommitTable:
    """Return the table of entries that the server uses, whatever the settings of this process are.

    Raises:
        Failed: the server does not report it completely, or its settings contradict each other.
    """
    try:
        address = delta.commit_table()
    except PySparkException as error:
        raise Failed(f"the server does not report its table: {first_line(error)}") from None
    if delta.log_store == _CLASSIC:
        address = replace(address, region=_classic_region(delta))
    if address.region is None:
        raise Failed(
            "its region is not configured: set fs.s3a.endpoint.region, or the log store's ddb.region, on the server"
        )
    there = aws.with_endpoint(address.region, address.endpoint)
    return CommitTable(there.client("dynamodb"), address)


def _classic_region(delta: Delta) -> str:
    """Return the region of Delta's own store. It ignores S3A's region, which the server's answer falls back to."""
    key = f"{_CLASSIC}.ddb.region"
    return delta.conf(f"spark.{key}") or delta.conf(f"spark.hadoop.{key}") or "us-east-1"


def uses_commit_table(delta: Delta) -> bool:
    """Return whether the server commits through a DynamoDB table."""
    return delta.log_store in (log_store_class("dynamodb"), _CLASSIC)


def check_store(delta: Delta, buckets: Iterable[str], commits: Commits = "dynamodb") -> str:
    """Check which log store commits go through, and that the server's settings are safe with it.

    Args:
        delta: the server.
        buckets: buckets of the tables; S3A also has settings for each bucket.
        commits: the value in lake.yaml, for the remedy.

    Raises:
        Failed: commits may be lost.
    """
    wanted = log_store_class(commits)
    if of_all := delta.conf(LOG_STORE_CLASS):
        _check_of_all(delta, of_all, wanted)
    store = delta.log_store
    scopes = ["fs.s3a", *(f"fs.s3a.bucket.{bucket}" for bucket in buckets)]
    settings = [delta.conf(f"spark.hadoop.{scope}.performance.flags") for scope in scopes]
    flags = {flag.strip() for setting in settings for flag in setting.split(",") if flag.strip()}
    if commits_of_class(store) is None and flags & {"*", "create"}:
        raise Failed(
            f"{store or 'Delta’s own single-driver store'} with fs.s3a.performance.flags={','.join(sorted(flags))}: a "
            f"commit silently overwrites another commit. Set {LOG_STORE_S3A}={wanted}"
        )
    if not store:
        raise Failed(f"none is set, so drivers overwrite each other's commits: {LOG_STORE_S3A}={wanted}")
    if store == _CLASSIC:
        raise Failed(
            "Delta's own store loses commits next to writers that publish conditionally, as ours do: set "
            f"{LOG_STORE_S3A}={wanted}, keep the other settings"
        )
    if not of_all:
        _check_of_s3(delta, store)
    return store


def _check_of_all(delta: Delta, store: str, wanted: str) -> None:
    if delta.conf(LOG_STORE_S3A) or delta.conf(LOG_STORE_S3):
        raise Failed(
            f"Delta opens no table while {LOG_STORE_CLASS} is set together with {LOG_STORE_S3A} or {LOG_STORE_S3}: "
            f"unset {LOG_STORE_CLASS}"
        )
    if commits_of_class(store) is None:
        raise Failed(
            f"{LOG_STORE_CLASS}={store} decides for every scheme: unset it, and set {LOG_STORE_S3A} and {LOG_STORE_S3} "
            f"to {wanted}"
        )


def _check_of_s3(delta: Delta, store: str) -> None:
    other = delta.conf(LOG_STORE_S3)
    # A missing key does no harm if nothing opens s3://.
    if (other or delta.conf("spark.hadoop.fs.s3.impl")) and other != store and commits_of_class(other) is None:
        raise Failed(
            f"{store} for s3a://, {other or 'Delta’s own single-driver store'} for s3://: commits to one table under "
            f"both may overwrite each other. Set {LOG_STORE_S3}={store}"
        )


def check_listing(delta: Delta) -> str:
    """Check that logs are listed correctly.

    Raises:
        Failed: Delta's own store for one driver treats keys below folders of `_delta_log` as commits.
    """
    for key in (f"spark.hadoop.{_FAST_LISTING}", _FAST_LISTING):
        if delta.conf(key).strip().lower() == "true":
            raise Failed(
                f"{key}=true: Delta 4.4.0's own store then lists the folders of _delta_log too, and a copy of a commit "
                "in one of them breaks the table. Unset it: Tidegate's log stores list as fast without it"
            )
    return f"{_FAST_LISTING} is off"


def check_settings(found: Mapping[str, str]) -> str:
    """Check that other clients of the server see the values that Tidegate's sessions see.

    Args:
        found: settings of a session of another client.

    Raises:
        Warned: they may see others.
    """
    if others := other_values(found):
        listed = ", ".join(f"{name} is {value or 'not set'}" for name, value in others.items())
        wanted = " ".join(f"{name}={VALUE_SETTINGS[name]}" for name in others if name in VALUE_SETTINGS)
        unset = " ".join(name for name in others if name not in VALUE_SETTINGS)
        ways = [f"set {wanted}" if wanted else "", f"unset {unset}" if unset else ""]
        raise Warned(
            f"{listed}: Tidegate sets what decides a value in its own sessions, and queries of others may give other "
            f"values. On the server, {' and '.join(way for way in ways if way)}"
        )
    return f"the {len(VALUE_SETTINGS)} settings that decide values are those of Tidegate's sessions"


def check_stream(delta: Delta) -> str:
    """Check that S3A reads objects as they are now.

    Raises:
        Warned: its stream remembers objects by name.
    """
    stream = delta.conf(f"spark.hadoop.{_STREAM}").strip()
    if stream.lower() != "classic":
        raise Warned(
            f"{_STREAM} is {stream or 'not set, and its default is analytics'}: queries of registered files may show "
            "an object that was overwritten, and a load asks S3 for the status of each file. Set it to classic"
        )
    return f"{_STREAM} is classic"


def check_table(entries: CommitTable) -> str:
    """Check that the DynamoDB table can be used, and that its server has found no lost commit.

    Raises:
        Failed: it cannot be used, or a commit of another writer is possibly lost.
    """
    found = check_usable(entries)
    if entries.address.possibly_lost:
        raise Failed(
            f"the server has closed {entries.address.possibly_lost} commits of other writers that are in no log, since "
            "it began: the checks of staged commits below list them"
        )
    return found


def check_usable(entries: CommitTable) -> str:
    """Check that the DynamoDB table is active and its items expire.

    Raises:
        Failed: the table is missing or not active, or its items never expire.
    """
    state = entries.state()
    if state is None:
        raise Failed("there is none; the first commit creates it, unless ddb.create=false forbids that")
    if state.status != "ACTIVE":
        raise Failed(f"it is {state.status}")
    if state.ttl != (expiry := WantedTable().expiry):
        raise Failed(f"TTL is not enabled on {expiry}, so its items never expire: enable it")
    return f"{state.billing}, TTL on {expiry}, in {entries.where}"


def locations(opened: Lake) -> Iterator[tuple[str, str] | Finding]:
    """Yield name and location of every Delta table of the lake, or a finding if the location is not known."""
    for table_key in opened.store.births.tables():
        try:
            table = opened.table(table_key)
        except (StoreError, ValueError) as error:
            yield Finding(Check.LOG_LOCATION, table_key, False, str(error))
            continue
        if table.birth is not None:
            if not table.birth.output:
                yield f"bronze.{table.birth.name}", table.birth.location
            yield f"ledger.{table.birth.name}", table.ledger.location
    for spec in opened.config.tables:
        if spec.silver:
            yield f"silver.{spec.name}", opened.store.uri("silver", spec.name)
