"""Runs a proof end to end: resources, races, files, workers that are killed, the comparison, and the end of it all."""

from __future__ import annotations

import json
import os
import platform
import secrets
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib import metadata
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml
from botocore.exceptions import BotoCoreError, ClientError
from pyspark.errors import PySparkException
from rich.console import Console

from tidegate.platform.core.config.commits import Commits
from tidegate.platform.core.config.load import load_lake
from tidegate.platform.core.costs.usage import Usage
from tidegate.platform.core.errors import TidegateError, UnavailableError
from tidegate.platform.core.wording import first_line, number_of
from tidegate.platform.demo.progress import Stages
from tidegate.platform.lake.settings import LAKE, Settings
from tidegate.platform.lake.spark.remote import REMOTE, SparkRemote
from tidegate.platform.lake.spark.session import probe
from tidegate.platform.lake.spark.token_source import TOKEN, TOKEN_COMMAND, TOKEN_FILE
from tidegate.platform.local.process.process import Process, spawn
from tidegate.platform.local.spark.conf import SMALL_DATA
from tidegate.platform.local.spark.deployment_server import DeployedSettings, default_memory
from tidegate.platform.prove.budget import batch_requests, dollars_of, plan_requests
from tidegate.platform.prove.claims import Claim
from tidegate.platform.prove.comparison import drop_names, ledger_claims, read_lake, table_claims
from tidegate.platform.prove.locks import held_run, remove_run
from tidegate.platform.prove.names import RunNames
from tidegate.platform.prove.oracle import Oracle
from tidegate.platform.prove.outcomes import Awaited, Outcomes, read_logged_events, read_outcomes
from tidegate.platform.prove.plan import PERSON, WAVES, Operation, make_plan
from tidegate.platform.prove.producers import Producers
from tidegate.platform.prove.races import FULL, QUICK, Races, RaceSize
from tidegate.platform.prove.report import Report
from tidegate.platform.prove.requests import (
    Meter,
    MeteredAws,
    billed_requests,
    counts_by_service,
    percentile,
    server_requests,
)
from tidegate.platform.prove.resources import Left, Resources
from tidegate.platform.prove.server import (
    GivenCredentials,
    ProofServer,
    commit_table_setting,
    s3_endpoint_settings,
)
from tidegate.platform.prove.tables import SECRET, lake_body
from tidegate.platform.prove.worker import AWAITED, GAVE_UP, MISSING, marker_file

#: The seams at which workers die in the first wave, and while a person is forgotten.
SEAMS = ("intake-stored", "prepare", "decide", "commit", "record-ledger", "record-manifests", "silver-merge")
QUICK_SEAMS = ("decide", "commit")
FORGET_SEAM = "forget-bronze"
_WORKER_SECONDS, _SPARK_SECONDS = 1800.0, 180.0
#: Seconds between two sums of what a run has spent.
_BUDGET_SECONDS = 15.0
_MAX_MEMORY = 4096
_KILLED = 128 + 9
#: Variables that name a Spark server, or its token.
_SPARK_VARIABLES = (REMOTE, TOKEN, TOKEN_FILE, TOKEN_COMMAND)
_VERSIONS = ("tidegate", "boto3", "pyspark", "pyarrow")


@dataclass(frozen=True)
class ProofOptions:
    """What a person chose.

    Attributes:
        files: number of files.
        quick: fewer kills, smaller races, and a Spark server with settings for little data.
        keep: leave everything at the end.
        with_names: whether the report may name buckets and the account.
        folder: folder of the runs' local files.
        remote: a Spark server that runs; None for one of the run's own.
        commits: how the commits of the run's lake are coordinated.
    """

    files: int
    quick: bool
    keep: bool
    with_names: bool
    folder: Path
    remote: SparkRemote | None
    commits: Commits = "dynamodb"

    @property
    def race_size(self) -> RaceSize:
        """How much is raced."""
        return QUICK if self.quick else FULL

    @property
    def has_commit_table(self) -> bool:
        """Whether the run makes a table of commits. A server that runs already has its own."""
        return self.remote is None and self.commits == "dynamodb"

    @property
    def seams(self) -> tuple[str, ...]:
        """The seams at which workers die."""
        return QUICK_SEAMS if self.quick else SEAMS

    @property
    def kills(self) -> int:
        """How many workers die: one at each seam, and one while a person is forgotten."""
        return len(self.seams) + 1

    @cached_property
    def planned(self) -> Usage:
        """The requests that are announced: the run stops when it has spent their price."""
        return plan_requests(self.files, self.kills, self.race_size, self.commits)


def run_proof(settings: Settings, options: ProofOptions, names: RunNames, console: Console) -> Report:
    """Run a proof. Whatever happens, what it made is removed, unless it should be kept.

    Args:
        settings: the account or the endpoint.
        names: of this run.

    Raises:
        UnavailableError: AWS refuses what the run needs.
    """
    meter = Meter()
    settings = replace(settings, aws=MeteredAws.from_aws(settings.aws, meter))
    with held_run(options.folder, names.id) as home:
        report = Proof(settings, options, names, home, meter, console).run()
    if report.ok and not options.keep:
        remove_run(options.folder, names.id)
    return report


@dataclass
class Proof:
    """One run.

    Attributes:
        claims: what was claimed and checked so far.
        numbers: what was measured.
    """

    settings: Settings
    options: ProofOptions
    names: RunNames
    home: Path
    meter: Meter
    console: Console
    claims: list[Claim] = field(default_factory=list)
    numbers: dict[str, Any] = field(default_factory=dict)
    kills: list[str] = field(default_factory=list)
    unreached: list[str] = field(default_factory=list)
    server: ProofServer | None = None
    spark_version: str = ""

    def run(self) -> Report:
        """Run it all, and return the report."""
        begun = time.monotonic()
        self.resources = Resources(self.settings.aws)
        try:
            with Stages(self.console).show_bars() as stages:
                self._prove(stages)
        finally:
            self._end()
        self._note_spending()
        self.numbers["seconds"] = round(time.monotonic() - begun, 1)
        hidden = None if self.options.with_names else self._hidden_texts()
        return Report(self.claims, self.numbers, self._facts(), hidden)

    def _prove(self, stages: Stages) -> None:
        lake_yaml = self.home / "lake.yaml"
        lake_yaml.write_text(yaml.safe_dump(lake_body(self.names, self.options.commits), sort_keys=False))
        own = self.options.has_commit_table
        with ExitStack() as running:
            stage = stages.begin("Making buckets, queues and what commits need, each with a marker")
            config = load_lake(lake_yaml, {})
            self.resources.make(self.names, config, commit_table=own, kept=self.options.keep)
            stage.finish(f"names begin with {self.names.base}")
            stage = stages.begin("Racing the endpoint's conditional writes", 7 if own else 6)
            races = Races(self.resources.s3, self.resources.dynamodb, self.names.lake, self.options.race_size)
            self.claims += races.run(self.names.base if own else None, stage.advance)
            stage.finish(f"{number_of(len(self.claims), 'claim')}, each by many threads")
            if any(claim.id == "create-once" and not claim.held for claim in self.claims):
                self.claims.append(_unchecked_lake())
                return
            try:
                remote = self.options.remote or self._start_server(running, stages)
                settings = self._lake_settings(remote, lake_yaml)
                if self.options.remote is not None:
                    self._require_log_store(settings)
                    running.callback(self._drop_names, settings)
                self._use_lake(stages, settings)
            except (TidegateError, ClientError, BotoCoreError, PySparkException) as error:
                self.claims.append(_failed_run(error))

    def _start_server(self, running: ExitStack, stages: Stages) -> SparkRemote:
        s3, dynamodb = self.resources.s3.meta, self.resources.dynamodb.meta
        commits, endpoint = self.options.commits, self.settings.aws.endpoint_url
        more = commit_table_setting(self.names.base, commits) | (SMALL_DATA if self.options.quick else {})
        if endpoint is None and not is_amazon(s3.endpoint_url):
            more |= s3_endpoint_settings(
                s3.endpoint_url, None if is_amazon(dynamodb.endpoint_url) else dynamodb.endpoint_url
            )
        memory = f"{min(_MAX_MEMORY, int(default_memory()[:-1]))}m"
        wanted = DeployedSettings(s3.region_name, endpoint, memory=memory, more=more, commits=commits)
        credentials = GivenCredentials.from_aws(self.settings.aws)
        if credentials.expire:
            self._print(f"The Spark server gets the credentials of now, which expire at {credentials.expire:%H:%M %Z}")
        self.server = ProofServer(self.home / "spark", wanted, credentials)
        running.callback(self.server.stop)
        stage = stages.begin("Starting a Spark server of its own")
        self.server.start(_SPARK_SECONDS)
        stage.finish("it answers")
        return self.server.remote

    def _lake_settings(self, remote: SparkRemote, lake_yaml: Path) -> Settings:
        # The shell may name the server of another lake, and its token.
        others = {name: value for name, value in self.settings.environ.items() if name not in _SPARK_VARIABLES}
        environ = {**others, **remote.environ, LAKE: str(lake_yaml), SECRET: secrets.token_hex(16)}
        return replace(self.settings, lake_yaml=lake_yaml, spark=remote, environ=environ)

    def _require_log_store(self, settings: Settings) -> None:
        with settings.open_lake() as lake:
            if other := lake.delta.other_log_store(self.options.commits):
                raise UnavailableError(f"--commits {self.options.commits}: {other}")

    def _drop_names(self, settings: Settings) -> None:
        with suppress(TidegateError, PySparkException), settings.open_lake() as lake:
            drop_names(lake, self.names)

    def _use_lake(self, stages: Stages, settings: Settings) -> None:
        self.spark_version = probe(settings.spark, 30.0)
        environ = settings.environ
        operations = make_plan(self.options.files)
        oracle = Oracle()
        url = self.resources.queue_url(self.names)
        notifies = self.resources.no_notifications is None
        producers = Producers(self.resources.s3, self.resources.sqs, self.names.landing, url, notifies=notifies)
        for wave in WAVES:
            self._run_wave(stages, [each for each in operations if each.wave == wave], oracle, producers, environ)
            self._require_budget()
        stage = stages.begin("Comparing every table with the oracle")
        with settings.open_lake() as lake:
            outcomes, found = read_outcomes(lake), read_lake(lake, self.names)
            outcomes.events |= read_logged_events(lake)
        expected = oracle.expect()
        self.claims += table_claims(expected, found.tables)
        self.claims += ledger_claims(expected, outcomes, found, producers.sent)
        self.claims += self._course_claims(len(producers.sent.changed))
        self._note_latencies(outcomes, producers, [each.key for each in operations if each.wave == WAVES[-1]])
        stage.finish(f"{number_of(sum(rows.total() for rows in expected.tables.values()), 'row')} of the oracle")

    def _run_wave(
        self,
        stages: Stages,
        operations: Sequence[Operation],
        oracle: Oracle,
        producers: Producers,
        environ: Mapping[str, str],
    ) -> None:
        wave = operations[0].wave
        for each in operations:
            if each.op == "put":
                oracle.put(each.key, each.body)
            elif each.op == "delete":
                oracle.delete(each.key)
        awaited = self.home / AWAITED
        awaited.unlink(missing_ok=True)
        if wave == WAVES[-1]:
            stage = stages.begin("Single files arrive while a worker runs, some of a forgotten person", len(operations))
            worker = self._spawn(environ)
            try:
                producers.trickle(operations, stage.advance)
                _await_states(oracle, producers).write(awaited)
                self._wait(worker)
            finally:
                worker.stop()
            stage.finish(f"{number_of(len(operations), 'file')} in the tables")
            return
        stage = stages.begin(f"Wave {wave}: files, repeated and late events, bad files", len(operations))
        producers.run(operations, stage.advance)
        stage.finish(number_of(len(operations), "operation"))
        _await_states(oracle, producers).write(awaited)
        seams = self.options.seams if wave == WAVES[0] else ()
        stage = stages.begin(f"Wave {wave}: workers ingest, and are killed", len(seams) + 1)
        for seam in seams:
            self._kill_at(seam, environ)
            stage.advance()
        self._finish_worker(environ)
        stage.finish(f"{number_of(len(self.kills), 'worker')} killed by SIGKILL so far")
        if wave == WAVES[-2]:
            oracle.forget(PERSON)
            stage = stages.begin("Forgetting a person")
            self._kill_at(FORGET_SEAM, environ, "--forget", str(PERSON))
            self._finish_worker(environ, "--forget", str(PERSON))
            stage.finish("erased from bronze and silver")

    def _spawn(self, environ: Mapping[str, str], *more: str) -> Process:
        command = [sys.executable, "-m", "tidegate.platform.prove.worker", str(self.home), *more]
        return spawn("ingest process", command, log=self.home / "worker.log", env=environ, cwd=self.home)

    def _kill_at(self, seam: str, environ: Mapping[str, str], *more: str) -> None:
        """Let a worker die at a seam. One that ends before it reaches the seam has nothing left to do there."""
        if (
            self._wait(self._spawn(environ, "--die-at", seam, *more)) == _KILLED
            and marker_file(self.home, seam).exists()
        ):
            self.kills.append(seam)
        else:
            self.unreached.append(seam)

    def _finish_worker(self, environ: Mapping[str, str], *more: str) -> None:
        self._wait(self._spawn(environ, *more))

    def _wait(self, worker: Process) -> int:
        until = time.monotonic() + _WORKER_SECONDS
        try:
            while worker.alive and (left := until - time.monotonic()) > _BUDGET_SECONDS:
                self._require_budget()
                with suppress(UnavailableError):  # it works
                    worker.wait(min(left, _BUDGET_SECONDS))
            code = worker.wait(_BUDGET_SECONDS)
        finally:
            worker.stop()
        if code not in (0, _KILLED, GAVE_UP):
            raise UnavailableError(f"the ingest process ended with exit code {code}; {worker.log_hint}")
        return code

    def _read_missing(self) -> list[str]:
        """Return what the last worker that ingested waited for in vain."""
        path = self.home / MISSING
        found: list[str] = json.loads(path.read_text()) if path.exists() else []
        return found

    def _course_claims(self, changed: int) -> list[Claim]:
        notifies, missing = self.resources.no_notifications is None, self._read_missing()
        seams = ", ".join(self.kills) or "none"
        more = f"; not reached: {', '.join(self.unreached)}" if self.unreached else ""
        lacking = f", such as {missing[0]}" if missing else ""
        came = f"{changed} changes of the bucket, and {len(missing)} files missing in the ledgers"
        return [
            Claim(
                "notifications",
                "The bucket notifies the queue of every file",
                "a notification of the bucket to the queue, and the events that came",
                notifies and not missing,
                came if notifies else str(self.resources.no_notifications),
                "the run sent the notifications itself. A lake there needs another sender of events, or lists prefixes",
            ),
            Claim(
                "arrived",
                "Every file arrived in its table or in quarantine",
                "the last state of each key in the ledgers",
                not missing,
                f"{len(missing)} missing{lacking}",
                "files wait for events that never came: lists would bring them, with a delay",
            ),
            Claim(
                "killed-workers",
                "Workers that are killed lose nothing and double nothing",
                "SIGKILL of the ingest process after a step, then another process; the rows are compared above",
                not self.unreached and all(claim.held for claim in self.claims if claim.id.startswith("rows-of-")),
                f"killed after: {seams}{more}",
                "a crash could lose or double rows: please report it, with this report",
            ),
        ]

    def _note_latencies(self, outcomes: Outcomes, producers: Producers, keys: Sequence[str]) -> None:
        seconds = [outcomes.recorded[key] - producers.put_at[key] for key in keys if key in outcomes.recorded]
        self.numbers["put_to_row_seconds"] = _shares(seconds)
        self.numbers["batch_seconds"] = _shares(outcomes.batch_seconds)

    def _end(self) -> None:
        """Remove what the run made, unless it should be kept."""
        if self.options.keep:
            self._print(f"Kept: {self.names.base}. `tidegate prove --clean --run {self.names.id}` removes it")
            return
        self._print("Removing what the run made …")
        try:
            found, unasked = self.resources.find_run(self.names)
            left = [*unasked, *self.resources.remove(found)]
            if not left:
                remains = self.resources.remains(self.names)
                left = [Left("resource", name, "it is still there", "tidegate prove --clean") for name in remains]
        except KeyboardInterrupt:
            self._print(f"Interrupted: `tidegate prove --clean --run {self.names.id}` removes the rest")
            raise
        for each in left:
            self._print(f"left: {each.kind} {each.name}: {each.why}. Remove it: {each.command}")
        entries = self.options.remote is not None and self.options.commits == "dynamodb"
        self.claims.append(_removal_claim(len(found), left, entries=entries))

    def _print(self, line: str) -> None:
        # The terminal may be gone: nothing that is removed at the end depends on it. Rich ends a process that writes
        # to a closed pipe.
        with suppress(OSError, SystemExit):
            self.console.print(line, markup=False, highlight=False, soft_wrap=True)

    def _counts(self) -> Counter[str]:
        counts = Counter(self.meter.counts)
        for path in self.home.glob("requests-*.json"):
            counts.update(json.loads(path.read_text()))
        return counts

    def _count_spending(self) -> tuple[Usage, Counter[str], bool]:
        """Return what is billed, the counts, and whether those of the Spark server are counted, not computed."""
        counts = self._counts()
        logged = server_requests(self.server.request_log) if self.server else None
        if logged is None:
            batches = sum(int(path.read_text()) for path in self.home.glob("batches-*[0-9]"))
            return billed_requests(counts) + batch_requests(batches, self.options.commits), counts, False
        return billed_requests(counts + logged), counts + logged, True

    def _require_budget(self) -> None:
        spent, most = dollars_of(self._count_spending()[0]), dollars_of(self.options.planned)
        if spent > most:
            raise UnavailableError(f"stopped: ${spent:.4f} are spent, and at most ${most:.4f} were announced")

    def _note_spending(self) -> None:
        spent, counts, counted = self._count_spending()
        dollars, most = dollars_of(spent), dollars_of(self.options.planned)
        self.numbers |= {
            "requests": counts_by_service(counts),
            "spark_requests": "counted" if counted else "computed from the number of batches",
            "dollars": round(dollars, 6),
            "dollars_at_most": round(most, 6),
            "request_seconds": {name: _shares(each) for name, each in sorted(self.meter.seconds.items())},
        }
        self.claims.append(
            Claim(
                "budget",
                "The run spends at most what it said first",
                "requests, counted by class, at the published prices of us-east-1",
                dollars <= most,
                f"${dollars:.4f} of ${most:.4f}",
                "the plan of requests is wrong: please report it, with this report",
            )
        )

    def _hidden_texts(self) -> set[str]:
        """Return the texts that a report for others does not show."""
        hosts = [urlsplit(each.meta.endpoint_url) for each in self._clients()]
        if self.options.remote is not None:
            hosts.append(urlsplit(self.options.remote.address.partition(";")[0]))
        # A name without a dot may be a word, such as s3.
        named = {host.hostname or "" for host in hosts if "." in (host.hostname or "")}
        folders = {str(self.options.folder), os.path.expanduser("~"), str(Path.cwd())} - {"/", "~"}
        return {self.names.id, *(host.netloc for host in hosts if host.port), *named, *folders}

    def _clients(self) -> tuple[Any, ...]:
        return self.resources.s3, self.resources.sqs, self.resources.dynamodb

    def _facts(self) -> dict[str, Any]:
        s3 = self.resources.s3.meta
        kind = "AWS" if is_amazon(s3.endpoint_url) else self._server_name()
        names = {"names": self.names.base, "endpoint_url": s3.endpoint_url} if self.options.with_names else {}
        return {
            "endpoint": kind,
            "region": s3.region_name,
            "files": self.options.files,
            "versions": {
                **{name: metadata.version(name) for name in _VERSIONS},
                "python": platform.python_version(),
                "spark": self.spark_version,
            },
            **names,
        }

    def _server_name(self) -> str:
        try:
            answer = self.resources.s3.list_buckets(MaxBuckets=1)
        except ClientError as error:
            answer = error.response
        headers = answer["ResponseMetadata"].get("HTTPHeaders", {})
        return str(headers.get("server") or "a server that does not name itself")


def is_amazon(endpoint: str) -> bool:
    """Return whether a URL is one of Amazon's."""
    host = urlsplit(endpoint).hostname or ""
    return host.endswith((".amazonaws.com", ".amazonaws.com.cn", ".api.aws"))


def _await_states(oracle: Oracle, producers: Producers) -> Awaited:
    states = oracle.expect().states
    return Awaited(states, {key: producers.etags[key] for key in states if key in producers.etags})


def _shares(seconds: Sequence[float]) -> dict[str, float | int]:
    """Return the number of some durations, with their median and their 95th percentile in seconds."""
    shares = {name: percentile(seconds, share) for name, share in (("p50", 0.5), ("p95", 0.95))}
    return {"count": len(seconds), **{name: round(value, 4) for name, value in shares.items() if value is not None}}


def _unchecked_lake() -> Claim:
    return Claim(
        "lake",
        "A lake works there",
        "it was not tried, because Tidegate refuses an endpoint without exclusive creations",
        None,
        "not checked",
    )


def _failed_run(error: Exception) -> Claim:
    return Claim(
        "lake",
        "A lake works there",
        "files were landed and ingested, until an error",
        False,
        first_line(error),
        "what follows the error was not checked",
    )


def _removal_claim(count: int, left: Sequence[Left], *, entries: bool) -> Claim:
    """Return the claim that nothing is left.

    Args:
        count: number of resources with the marker of the run.
        entries: whether entries of the run's commits are in a table that the run did not make.
    """
    more = (
        ". Not checked: entries of its commits, which stay in the server's own table until they expire"
        if entries
        else ""
    )
    names = "; ".join(f"{each.kind} {each.name}: {each.why}. {each.command}" for each in left)
    return Claim(
        "removed",
        "Everything that the run made is removed",
        "each resource with the marker of the run, and then a request for each name",
        False if left else None if entries else True,
        (f"left: {names}" if left else number_of(count, "resource")) + more,
        "remove what is left with the commands above, or run `tidegate prove --clean` with more permissions",
    )
