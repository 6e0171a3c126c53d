"""`tidegate check` runs every check of a lake and prints what to do about failures."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path

from botocore.exceptions import NoCredentialsError, NoRegionError
from rich.console import Console
from rich.text import Text

from tidegate.platform.cli.answers.answer import print_answer
from tidegate.platform.cli.check.after_load import check_after_load
from tidegate.platform.cli.check.buckets import check_bucket, check_logs
from tidegate.platform.cli.check.findings import Failed, Finding, findings_answer, make_finding, show
from tidegate.platform.cli.check.forget import check_forget
from tidegate.platform.cli.check.glue import check_glue
from tidegate.platform.cli.check.inventory import check_inventories, check_inventory
from tidegate.platform.cli.check.known_checks import Check
from tidegate.platform.cli.check.lake import (
    check_born,
    check_discovered,
    check_foreign,
    check_output,
    check_registered,
    check_registered_by_discovery,
    check_root,
    check_spark,
    folders_above,
    registered_tables,
)
from tidegate.platform.cli.check.metrics import check_metrics
from tidegate.platform.cli.check.queues import CheckedQueue, check_queue
from tidegate.platform.cli.check.routes import check_routes
from tidegate.platform.cli.check.runs import check_runs
from tidegate.platform.cli.check.silver import check_silver
from tidegate.platform.cli.check.webhooks import check_webhooks
from tidegate.platform.cli.environment import Client, client
from tidegate.platform.cli.errors import CommandError
from tidegate.platform.cloud.roles.roles import find_permission
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.config.load import LakeConfigError
from tidegate.platform.core.keys.s3_address import S3Address
from tidegate.platform.core.keys.table_key import TableKey
from tidegate.platform.core.routing.route import Routed, route
from tidegate.platform.lake.aws.bucket_inventories import BucketInventories
from tidegate.platform.lake.aws.clients import Aws
from tidegate.platform.lake.aws.s3 import ObjectStore
from tidegate.platform.lake.lake_root.births import Births
from tidegate.platform.lake.lake_root.store import LakeStore
from tidegate.platform.lake.settings import LAKE
from tidegate.platform.operations.event_routes import ForwardingTrace, trace_forwarding

#: What a start of the local platform creates, or sets, as lake.yaml says.
_LOCAL_PLATFORM_CHECKS = (
    Check.BUCKET_REACHABLE,
    Check.BUCKET_NOTIFICATIONS,
    Check.LAKE_REACHABLE,
    Check.QUEUE_REACHABLE,
    Check.QUEUE_POLICY,
)
_NEEDS_A_START = "On this machine: stop `tidegate dev` and start it again, which creates what lake.yaml names now"


def run_check(
    console: Console, lake: Path | None, home: Path | None, address: str | None, *, as_json: bool = False
) -> bool:
    """Check a lake and print the findings.

    Args:
        lake: the lake.yaml; None takes that of the local platform, else TIDEGATE_LAKE, else `lake.yaml`.
        home: home of a running local platform; None takes a running default one if it runs this lake, else the
            environment.
        address: `s3://bucket/key`; the output then names the table that takes this object.
        as_json: print only one JSON list of all findings, at the end.

    Returns:
        Whether every check is ok.

    Raises:
        CommandError: nothing runs on the home, a variable of the environment is wrong, the address is not valid, or
            an address is given together with `as_json`.
    """
    if address and as_json:
        raise CommandError("--json prints checks and no address: leave one of them out")
    target = parse_address(address) if address else None
    wanted = lake.resolve() if lake else None
    using = client(home, wanted, lambda info: wanted is None or info.environ.get(LAKE) == str(wanted))
    config, configured = _load_configuration(using)
    known: set[TableKey] = set()
    every = chain(configured, _check_reached_lake(using, config, known, target) if config else ())
    if as_json:
        found = list(every)
        print_answer(console, findings_answer(found))
        for hint in _hints(using, found):
            print(hint, file=sys.stderr)
    else:
        on = f" on the local platform of {using.home}" if using.home else ""
        console.print(f"Checking {using.settings.lake_yaml}{on}", highlight=False)
        found = []
        for finding in every:
            show(console, finding)
            found.append(finding)
        for hint in _hints(using, found):
            console.print(Text(hint))
        if config is not None and target is not None:
            objects = ObjectStore(using.settings.aws.client("s3"))
            births = LakeStore(objects, config.lake.root).births
            _explain(console, config, known, births, trace_forwarding(config, *target, objects.tags), *target)
        conclude(console, found)
    return all(finding.ok for finding in found)


def _hints(using: Client, found: Sequence[Finding]) -> list[str]:
    """Return what to do if the lake was not reached: it may need a local platform that does not run."""
    first = (Check.CONFIGURATION, Check.AWS_CREDENTIALS)
    return using.platform_hints if any(not each.ok and each.check in first for each in found) else []


def _load_configuration(using: Client) -> tuple[LakeConfig | None, list[Finding]]:
    """Return the configuration, None if it is wrong, and its finding or one finding for each problem."""
    check, path = Check.CONFIGURATION, str(using.settings.lake_yaml)
    try:
        config = using.settings.config()
    except LakeConfigError as error:
        return None, [Finding(check, path, False, problem) for problem in error.problems]
    summary = f"{len(config.tables)} tables, {len(config.every_queue)} queues"
    return config, [Finding(check, path, True, summary)]


def _check_reached_lake(
    using: Client, config: LakeConfig, known: set[TableKey], target: tuple[str, str] | None
) -> Iterator[Finding]:
    """Run every check except that of the configuration. Without region or credentials, only that is reported."""
    reached = make_finding(Check.AWS_CREDENTIALS, "AWS", lambda: _check_clients(using.settings.aws))
    yield reached
    if reached.ok:
        yield from findings(using, config, known, target)
        silver = [spec.name for spec in config.tables if spec.silver]
        yield from check_runs(using.home, config.lake.name or "", {key.encode() for key in known}, silver)


def conclude(console: Console, found: Sequence[Finding]) -> None:
    """Print how many findings need a person, with the ids of their checks."""
    failed = [finding for finding in found if not finding.ok]
    warnings = [finding for finding in found if finding.ok and finding.warning]
    console.print()
    if failed:
        console.print(Text(f"{_format_count(failed, 'check')} failed: {_join_ids(failed)}", style="red"))
    if warnings:
        console.print(Text(f"{_format_count(warnings, 'warning')}: {_join_ids(warnings)}", style="yellow"))
    if not failed and not warnings:
        console.print(Text("all checks ok", style="green"))


def _format_count(found: Sequence[Finding], noun: str) -> str:
    return f"{len(found)} {noun if len(found) == 1 else f'{noun}s'}"


def _join_ids(found: Sequence[Finding]) -> str:
    return ", ".join(dict.fromkeys(finding.check.id for finding in found))


def findings(
    using: Client, config: LakeConfig, known: set[TableKey], target: tuple[str, str] | None = None
) -> Iterator[Finding]:
    """Yield every finding of a lake whose configuration is valid.

    A finding about a missing permission names the statement of `tidegate policy` that has it.

    Args:
        using: the lake and its endpoints.
        config: the configuration of the lake.
        known: takes the tables that the lake has.
        target: bucket and key of the object whose table is asked for.
    """
    for finding in _findings(using, config, known, target):
        given = find_permission(config, *finding.missing) if finding.missing else None
        if given:
            role, statement = given
            hint = f"; statement {statement.sid} of `tidegate policy {role}` gives it"
            finding = replace(finding, detail=f"{finding.detail}{hint}")
        if using.home and not finding.ok and finding.check in _LOCAL_PLATFORM_CHECKS:
            finding = replace(finding, detail=f"{finding.detail}. {_NEEDS_A_START}")
        yield finding


def _findings(
    using: Client, config: LakeConfig, known: set[TableKey], target: tuple[str, str] | None
) -> Iterator[Finding]:
    aws = using.settings.aws
    s3 = aws.client("s3")
    queues: list[CheckedQueue] = []
    for queue in config.every_queue:
        yield from check_queue(aws.queues(queue.region), queue, queues)
    yield from check_webhooks(config.webhooks, queues, os.environ)
    yield from check_routes(config, aws)
    store = LakeStore(ObjectStore(s3), config.lake.root)
    # Events in a row queue would be rows of its table.
    of_events = [queue for queue in queues if config.table_of_rows(queue.name) is None] if config.queues else None
    for bucket in config.buckets:
        tables = [spec for spec in config.tables if spec.table_key.bucket == bucket]
        about = list(check_bucket(s3, bucket, tables, of_events))
        yield from about
        if about[0].ok:
            asked = folders_above(target[1]) if target and target[0] == bucket else []
            yield from check_logs(s3, bucket, config)
            yield check_foreign(store, bucket, dict.fromkeys([*(spec.table_key.prefix for spec in tables), *asked]))
    reachable = True
    for finding in check_root(s3, store):
        yield finding
        reachable = reachable and finding.ok
    for spec in registered_tables(config):
        yield from check_registered(s3, spec)
    for spec in config.tables:
        if spec.after_load != "keep":
            yield check_after_load(s3, spec)
        if spec.output_root:
            yield check_output(s3, spec, spec.output_root)
        if spec.inventory:
            yield check_inventory(store.objects, spec)
        if spec.inventories:
            yield check_inventories(BucketInventories(s3), store.objects, spec, aws.account)
    if reachable:
        yield from check_forget(config, store, os.environ)
        yield make_finding(Check.LAKE_TABLES, config.lake.root, lambda: _join_names(store.table_keys(), known))
        yield make_finding(Check.LAKE_STRAYS, config.lake.root, lambda: _check_strays(store))
        for spec in config.tables:
            yield check_born(store, spec)
        yield check_discovered(config, known)
        yield check_registered_by_discovery(store, config, known)
    if config.metrics == "cloudwatch":
        yield check_metrics(aws.client("cloudwatch"))
    yield from _check_server(using, config, store, reachable=reachable)


def _check_server(using: Client, config: LakeConfig, store: LakeStore, *, reachable: bool) -> Iterator[Finding]:
    """Yield the findings of each Spark server and of what only one knows. A server without work is not started."""
    server = using.settings.spark_server(config)
    try:
        remotes = server.find()
        if not remotes:
            detail = f"{server.describe()}. What only Spark knows was not checked"
            yield Finding(Check.SPARK_START, "Spark", True, detail)
            return
        usable = []
        for remote in remotes:
            spark = list(check_spark(remote, store, using.explain, config.lake.commits))
            yield from spark
            usable += [remote] if all(finding.ok for finding in spark) else []
        if reachable and usable:
            yield from check_silver(usable[0], store, config.tables)
            if config.catalog:
                with replace(using, settings=replace(using.settings, spark=usable[0])).open_lake() as opened:
                    yield from check_glue(opened, config.catalog, using.settings.aws.quick_client("glue"))
    finally:
        server.release()


def _check_clients(aws: Aws) -> str:
    """Check that clients can be created. No request is sent to AWS.

    Raises:
        BotoCoreError: there is no region, or there are not credentials.
    """
    session = aws.session()
    if session.region_name is None:
        raise NoRegionError
    if session.get_credentials() is None:
        raise NoCredentialsError
    return session.region_name


def _join_names(found: set[str], known: set[TableKey]) -> str:
    known.update(TableKey.decode(table_key) for table_key in found)
    return f"{len(known)} in the lake"


def _check_strays(store: LakeStore) -> str:
    strays = [*store.births.describe_strays(), *store.inbox.contents().strays, *store.gathered.strays()]
    if strays:
        raise Failed("; ".join(strays))
    return "inbox and tables"


def parse_address(text: str) -> tuple[str, str]:
    """Return bucket and key of `s3://bucket/key`.

    Raises:
        CommandError: the text is not such an address.
    """
    try:
        bucket, key = S3Address.parse(text)
    except ValueError as error:
        raise CommandError(f"{error}; for example s3://landing/flights/part-0.parquet") from None
    if not key:
        raise CommandError(f"{text!r} names a bucket, not an object; for example s3://{bucket}/flights/part-0.parquet")
    return bucket, key


def _explain(
    console: Console,
    config: LakeConfig,
    known: set[TableKey],
    births: Births,
    events: ForwardingTrace | None,
    bucket: str,
    key: str,
) -> None:
    found = route(bucket, key, config, known)
    console.print(Text(f"\n{S3Address(bucket, key)}"))
    if isinstance(found, Routed):
        # A table keeps the mode of its birth.
        birth = births.read(found.table.encode()) if found.table in known else None
        mode = birth.mode if birth else found.spec.mode
        how = "registered where it is" if mode == "register" else f"loaded as {found.spec.format}"
        console.print(Text(f"  goes to bronze.{found.spec.name} ({found.table.encode()}), {how}", style="bold"))
    else:
        console.print(Text("  goes to no table", style="bold"))
    console.print(Text(f"  because {found.why}"))
    if events:
        console.print(Text(f"  event type: {events.type}\n  routes: {events.routes}"))
