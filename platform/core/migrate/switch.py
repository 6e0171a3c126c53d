"""The order in which a lake takes the place of oxbow, so that no file is lost and none comes twice.

One sentence decides it: at each moment at most one of the two adds files, and every event is kept until one of them has
taken it. The queue stays the same. So nothing between S3 and the queue changes, and what waits in it is not lost.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from tidegate.platform.core.migrate.oxbow import Function
from tidegate.platform.core.migrate.plan import DEFAULT_LOG_TABLE, Migration
from tidegate.platform.core.migrate.terraform import is_unknown, name_of
from tidegate.platform.core.wording import command

#: Seconds of visibility and of retention that aws.md gives a queue, and Lambda's longest invocation in seconds.
_VISIBLE, _KEPT, _LONGEST = 120, 14 * 86400, 900
#: Functions that add files to tables.
_WRITERS = ("oxbow", "sqs-ingest", "file-loader", "webhook")
#: The events that a registered table needs.
_EVENTS = ("s3:ObjectCreated:*", "s3:ObjectRemoved:*", "s3:LifecycleExpiration:*")


@dataclass(frozen=True)
class Step:
    """A step.

    Attributes:
        what: what to do.
        why: why it is here in the order.
        commands: what a shell runs.
    """

    what: str
    why: str
    commands: tuple[str, ...] = ()


def switch_steps(migration: Migration) -> list[Step]:
    """Return the steps, in their order. A command with a name that is not known is left out."""
    steps = [*_prepare(migration), *_stop(migration), *_take_over(migration), *_finish(migration)]
    return [replace(step, commands=tuple(each for each in step.commands if not is_unknown(each))) for step in steps]


def _prepare(migration: Migration) -> Iterator[Step]:
    settings = ""
    if migration.log_table not in ("", DEFAULT_LOG_TABLE):
        setting = f"spark.io.tidegate.storage.DynamoDbLogStore.ddb.tableName={migration.log_table}"
        settings = (
            f". The server needs `--conf {setting}`, and in the printed roles write {migration.log_table} for "
            f"{DEFAULT_LOG_TABLE}"
        )
    yield Step(
        f"Make the lake of this lake.yaml: its bucket, roles and Spark server{settings}. Do it without `tidegate "
        "stack`, which would make the queues again. Start Dagster without its sensors",
        "nothing of Tidegate reads a queue yet, so oxbow works on",
        (command("policy", "dagster"), command("policy", "spark"), command("check")),
    )
    table = migration.deployment.lock_tables.get(migration.log_table)
    if table and not any(each.get("attribute_name") == "expireTime" for each in table.blocks("ttl")):
        yield Step(
            f"Let the items of {migration.log_table} expire",
            "oxbow's Terraform sets no expiry, and `tidegate doctor` asks for one; items that are not complete have "
            "no expireTime and stay",
            (
                _aws("dynamodb", "update-time-to-live", "--table-name", migration.log_table)
                + " --time-to-live-specification Enabled=true,AttributeName=expireTime",
            ),
        )
    new = sorted(
        {each["name"] for each in (*migration.queues, *_row_queues(migration))} - set(migration.deployment.queues)
    )
    if new:
        yield Step(
            f"Make what lake.yaml names and these files do not have: {', '.join(new)}, each with its dead-letter queue",
            "docs/operate/aws.md has attributes and policy of a queue",
        )
    webhooks = [each for each in migration.deployment.functions if each.kind == "webhook"]
    if webhooks:
        yield Step(
            f"Start `tidegate webhook`, and let the senders of {_names(webhooks)} call it",
            "a sender that finds nobody may not repeat its call. The rows wait in the new queue",
        )
    kept = [each["name"] for each in (*migration.queues, *_row_queues(migration)) if each["name"] not in new]
    if kept:
        yield Step(
            "Let messages wait for 14 days",
            "SQS forgets a message after 4 days by default, and they wait from step to step. Change it in Terraform, "
            "too",
            tuple(_attributes(name, f"MessageRetentionPeriod={_KEPT}") for name in kept),
        )


def _stop(migration: Migration) -> Iterator[Step]:
    deployment = migration.deployment
    called = sorted({each.bucket for each in deployment.notices if each.function and each.bucket in migration.buckets})
    if called:
        yield Step(
            f"Let {', '.join(called)} notify the queue of lake.yaml instead of the function",
            "S3 changes all of a bucket's notifications at once, and what Lambda has taken before, it still tries "
            "for six hours: the adoption finds what becomes of nothing",
        )
    writers = [each for each in deployment.functions if each.kind in _WRITERS]
    groups = [each for each in deployment.functions if each.kind == "group-events"]
    first = groups + [each for each in writers if not _is_grouped(migration, each)]
    grouped = [each for each in writers if _is_grouped(migration, each)]
    sources = [name for each in first for name, _ in deployment.sources.get(each.name, ())]
    if any(deployment.sources.get(each.name) for each in first):
        yield Step(
            f"Stop what reads the queues of S3 and of rows first: {_names(first)}",
            "from here on every new message waits in its queue. In Terraform this is `enabled = false`",
            tuple(_disable(each, migration) for each in first if deployment.sources.get(each.name)),
        )
    fifo = [name for each in grouped for name, _ in deployment.sources.get(each.name, ())]
    if grouped:
        yield Step(
            f"Wait until nothing is in flight from {_names(groups)} and {', '.join(fifo)} is empty, then stop "
            f"{_names(grouped)}",
            "events that group-events has passed on are in no other queue. Those that end in the dead-letter queue "
            "are found by the adoption below",
            (
                *(_count_messages(name) for each in groups for name, _ in deployment.sources.get(each.name, ())),
                *(_count_messages(name) for name in fifo),
                *(_disable(each, migration) for each in grouped),
            ),
        )
    yield from _end(migration, writers, sources)


def _end(migration: Migration, writers: Sequence[Function], sources: Sequence[str]) -> Iterator[Step]:
    if writers:
        wait = max(_number(each.resource.values.get("timeout"), _LONGEST) for each in writers)
        yield Step(
            f"Let nothing start these functions again: {_names(writers)}. Wait until "
            f"ApproximateNumberOfMessagesNotVisible is 0 everywhere, and {wait} seconds longer, the longest time of "
            "an invocation",
            "an invocation that runs still commits, and a file that it adds after the adoption would come twice",
            (
                *(
                    _aws("lambda", "put-function-concurrency", "--function-name", each.name)
                    + " --reserved-concurrent-executions 0"
                    for each in writers
                ),
                *(_count_messages(name) for name in sources),
            ),
        )
    if migration.log_table:
        yield Step(
            f"Look for commits that a dead function has claimed in {migration.log_table} and not published",
            "the log store of the lake has the same protocol and publishes them when it first opens the table. Only "
            "know that they are there: the adoption shows their files as live",
            (
                _aws("dynamodb", "scan", "--table-name", migration.log_table, "--filter-expression", "complete = :no")
                + """ --expression-attribute-values '{":no": {"S": "false"}}'""",
            ),
        )


def _take_over(migration: Migration) -> Iterator[Step]:
    yield Step(
        "Put the bucket policy that keeps all others out of the logs",
        "a writer that somebody forgot fails at its commit, and adds no file a second time",
        (command("policy", "buckets"),),
    )
    if migration.adopted:
        lines = [command("adopt", name, *(("--enter",) if enter else ())) for name, enter in migration.adopted.items()]
        yield Step(
            "Look at each table, then adopt it",
            "the ledger begins with every file of the log, so the events that wait are duplicates for them. --enter "
            "takes the files that no commit has, whatever became of their events: those of dead-letter queues, too. If "
            "it is refused because the log has lost its first commits, leave it out, and name what is new afterwards: "
            "tidegate redrive TABLE --key 'FOLDER/*'",
            (*lines, *(f"{line} --yes" for line in lines)),
        )
    elif any(each.kind == "oxbow" for each in migration.deployment.functions):
        yield Step(
            "Adopt each table with `tidegate adopt`: this plan names them as soon as --tables does",
            "the ledger begins with every file of the log, so the events that wait are duplicates for them",
        )
    yield Step(
        "Start Dagster's sensors",
        "what waited in the queues is taken now: a file that the table has is a duplicate, and every other one "
        "enters once",
        tuple(_attributes(name, f"VisibilityTimeout={_VISIBLE}") for name in _queues_of_short_visibility(migration)),
    )

    loaded = [each["name"] for each in migration.tables if each.get("mode") == "load"]
    if loaded:
        yield Step(
            f"Materialize the partition of {', '.join(loaded)} once",
            "that lists the folder, and so the new table gets the rows of files that came before",
        )


def _finish(migration: Migration) -> Iterator[Step]:
    tables = [each["name"] for each in migration.tables]
    yield Step(
        "Look, and bring back what oxbow gave up",
        "a dead letter of a file that the table has changes nothing",
        (
            *(command("sql", f"SELECT status, count(*) FROM ledger.{name} GROUP BY status") for name in tables[:1]),
            *((command("redrive", "--dlq"),) if any("dlq" in each for each in migration.queues) else ()),
        ),
    )
    poor = [
        each
        for each in migration.deployment.notices
        if each.via.startswith(("S3", "the SNS")) and not set(_EVENTS) <= set(each.events)
    ]
    buckets = sorted({each.bucket for each in poor} & set(migration.buckets))
    if buckets:
        yield Step(
            f"Let {', '.join(buckets)} announce {', '.join(_EVENTS)}",
            "a registered table whose file has been deleted or has expired still names it, and queries fail; oxbow "
            "ignored expiry and delete markers",
        )
    functions = [each.resource.address for each in migration.deployment.functions if each.kind != "delta-rs"]
    yield Step(
        "Remove from Terraform what is not needed: the functions, their mappings, permissions and role, and what the "
        f"list above says `nothing` of: {', '.join(functions)}. Keep the queues, their dead-letter queues"
        + (f" and {migration.log_table}" if migration.log_table else ""),
        "a `terraform destroy` of everything would take the queue of the lake with it",
    )
    if migration.log_table:
        yield Step(
            "Later, if no writer of delta-rs or of Delta's own store is left, do without DynamoDB",
            "conditional writes of S3 are enough for Tidegate and for delta-rs from 1.6.1 on",
            (command("commits", "migrate", "--to", "s3"),),
        )
    yield Step(
        "The way back, at any time: stop the sensor `intake`, let the runs end until no hint waits, stop the other "
        "sensors, take the bucket policy away, and enable concurrency and mappings again",
        "the tables are ordinary Delta tables, and files that Tidegate registered are in their logs, so oxbow passes "
        "over them. It never hears of a file that is quarantined: `tidegate status` says whether there are some",
    )


def _names(functions: Sequence[Function]) -> str:
    return ", ".join(each.name for each in functions)


def _row_queues(migration: Migration) -> list[dict[str, str]]:
    return [each["row_queue"] for each in migration.tables if "row_queue" in each]


def _is_grouped(migration: Migration, function: Function) -> bool:
    return any(passed_on for _, passed_on in migration.deployment.entries(function))


def _queues_of_short_visibility(migration: Migration) -> Iterator[str]:
    """Yield the queues whose messages would come back while a tick still works on them."""
    for each in (*migration.queues, *_row_queues(migration)):
        queue = migration.deployment.queues.get(each["name"])
        if queue and _number(queue.resource.values.get("visibility_timeout_seconds"), 30) < _VISIBLE:
            yield queue.name


def _number(value: object, default: int) -> int:
    return int(value) if isinstance(value, int | float) else default


def _aws(*words: str) -> str:
    return shlex.join(["aws", *words])


def _url(queue: str) -> str:
    return f'"$({_aws("sqs", "get-queue-url", "--queue-name", queue)} --output text)"'


def _attributes(queue: str, attributes: str) -> str:
    return f"aws sqs set-queue-attributes --queue-url {_url(queue)} --attributes {attributes}"


def _count_messages(queue: str) -> str:
    return (
        f"aws sqs get-queue-attributes --queue-url {_url(queue)} --attribute-names ApproximateNumberOfMessages "
        "ApproximateNumberOfMessagesNotVisible"
    )


def _disable(function: Function, migration: Migration) -> str:
    lines = []
    for queue, mapping in migration.deployment.sources.get(function.name, ()):
        listed = _aws("lambda", "list-event-source-mappings", "--function-name", function.name)
        arn = f"ends_with(EventSourceArn, ':{name_of(queue)}')"
        found = f"""$({listed} --query "EventSourceMappings[?{arn}].UUID" --output text)"""
        uuid = mapping.text("uuid") or f'"{found}"'
        lines.append(f"aws lambda update-event-source-mapping --no-enabled --uuid {uuid}")
    return "\n".join(lines)
