"""Operations as Dagster jobs: the functions that the command line calls, with a typed config."""

from typing import Any

import dagster as dg
from pydantic import Field

from tidegate.assets.keys import REBUILD_JOB, LakeNames
from tidegate.assets.presentation.check_events import evaluation_event
from tidegate.assets.presentation.failure_summary import readable_failure
from tidegate.assets.presentation.run_log import RunLog
from tidegate.assets.runs.executor import run_executor
from tidegate.assets.runs.held_tables import REBUILD_OP
from tidegate.assets.runs.long_runs import long_run
from tidegate.assets.silver.asset import silver_report
from tidegate.assets.silver.comparison_check import equals_bronze
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.errors import DataError
from tidegate.platform.core.times import parse_time
from tidegate.platform.lake.aws.batch_calls import each_queue
from tidegate.platform.lake.aws.clients import caller
from tidegate.platform.operations.dead_letters import DeadLetters, dead_letter_queues, peek, redrive_dead_letters
from tidegate.platform.operations.rebuild import plan_rebuild, rebuild_table
from tidegate.platform.operations.redrive import (
    RATE,
    Choice,
    RedriveRequest,
    quarantined_messages,
    quarantined_objects,
    redrive_messages,
    redrive_objects,
    redrive_route,
    undeliverable_messages,
)
from tidegate.platform.operations.silver_rebuild import (
    is_silver,
    only_silver_since,
    plan_silver_rebuild,
    rebuild_silver,
)
from tidegate.platform.silver.error_redaction import discreet_errors
from tidegate.resources.lake_resource import LakeResource, with_lake

#: Dead letters of a queue that are shown before a redrive.
MAX_PEEKED = 100


class RedriveConfig(dg.Config):
    """Selects objects, messages or dead letters to try again."""

    table: str = Field("", description="Table key (the partition). Empty: every table.")
    messages: bool = Field(False, description="Messages that could not be understood, instead of objects.")
    dead_letters: bool = Field(False, description="Messages of dead-letter queues, instead of objects.")
    route: str = Field("", description="Messages that the destination of this route did not take, instead of objects.")
    queue: str = Field("", description="Queue, or dead-letter queue, of the dead letters. Empty: every queue.")
    reason: str = Field("", description="Part of the reason.")
    key: str = Field("*", description="Glob over object keys, or over event ids of messages.")
    since: str = Field("", description="Quarantined at or after, ISO 8601.")
    until: str = Field("", description="Quarantined before, ISO 8601.")
    rate: int = Field(RATE, ge=1, description="Hints or messages per second.")
    dry_run: bool = Field(True, description="Only show what would be redriven.")


@long_run
@readable_failure()
def _redrive(context: dg.OpExecutionContext, config: RedriveConfig, lake: LakeResource) -> None:
    """Redrive what the config selects."""
    handles = lake.open()
    since, until = (parse_time(text) if text else None for text in (config.since, config.until))
    choice = Choice(config.reason, config.key, since, until)
    log = RunLog(context.log).info
    request = RedriveRequest(_requester(context, lake), choice, config.rate, log)
    if config.dead_letters:

        def redrive(letters: DeadLetters) -> None:
            name = letters.queue.name
            log(f"{name}: {letters.queue.depth()[0]} messages")
            for letter in peek(handles.config, handles.store, letters, MAX_PEEKED):
                if letter.is_chosen(choice):
                    log(f"{name}: {letter.keys[0]}: {letter.reason}")
            if not config.dry_run:
                log(redrive_dead_letters(handles.config, handles.store, letters, request))

        chosen = dead_letter_queues(handles.config, handles.queues, config.queue or None)
        _, trouble = each_queue(redrive, chosen, lambda letters: letters.queue.name, RunLog(context.log).error)
        if trouble:
            raise trouble
        return
    if config.route:
        undeliverable = undeliverable_messages(handles.store.outbox, config.route, choice)
        for kept in undeliverable[:20]:
            log(f"{kept.message.id}: {kept.reason}")
        if undeliverable and not config.dry_run:
            log(redrive_route(handles.store.outbox, handles.store.operations, config.route, undeliverable, request))
        return
    counts: dict[str, int] = {}
    partly = 0
    if config.messages:
        messages = quarantined_messages(handles.store.quarantine, choice)
        counts["messages"] = len(messages)
        if messages and not config.dry_run:
            redrive_messages(handles, messages, request)
    for table_key in [] if config.messages else [config.table] if config.table else handles.store.births.tables():
        objects = quarantined_objects(handles, table_key, choice)
        counts[table_key] = len(objects)
        partly += sum(found.partly for found in objects)
        for found in objects[:20]:
            log(f"{found.key}{', rows of it' if found.partly else ''}: {found.reason_and_folder}")
        if objects and not config.dry_run:
            redrive_objects(handles, table_key, objects, request)
    context.add_output_metadata(
        {"dry_run": config.dry_run, "redriven": counts, "objects": sum(counts.values()), "partly": partly}
    )


def _requester(context: dg.OpExecutionContext, lake: LakeResource) -> str:
    """Return the run, and whose credentials it has. Dagster does not know which person started it."""
    return f"{caller(lake.aws.aws)}, run {context.run_id}"


def redrive_job(config: LakeConfig) -> dg.JobDefinition:
    """Build the job that retries what is in quarantine."""
    names = LakeNames.from_config(config)
    description = "Retries objects or messages in quarantine, or dead letters."
    op = dg.op(name=names.name("redrive_op"), description=description)(with_lake(names.resource)(_redrive))

    @dg.job(
        name=names.name("redrive"),
        executor_def=run_executor,
        description="Retries what is in quarantine.",
    )
    def redrive() -> None:
        op()

    return redrive


class RebuildConfig(dg.Config):
    """Selects the table to read again."""

    table: str = Field(description="Table key (the partition) of a loaded table, or silver.<name> of a silver table.")
    from_batch: int = Field(
        0, ge=0, description="Of a silver table, only keys with a row of this batch or later. 0: all keys."
    )
    dry_run: bool = Field(True, description="Only show what would be read again.")


@long_run
@readable_failure()
def _rebuild(context: dg.OpExecutionContext, config: RebuildConfig, lake: LakeResource) -> None:
    """Rebuild the table that the config selects."""
    handles, log = lake.open(), RunLog(context.log).info
    since = config.from_batch or None
    if is_silver(config.table):
        silver = plan_silver_rebuild(handles, config.table, since)
        for line in silver.lines:
            log(line)
        context.add_output_metadata({"dry_run": config.dry_run, "files": silver.files, "batch": silver.n})
        if not config.dry_run:
            with discreet_errors(silver.spec):
                merged = rebuild_silver(handles, config.table, by=_requester(context, lake), log=log, since=since)
            metadata, checks = silver_report(handles, silver.spec, merged, context.instance)
            asset = LakeNames.from_config(handles.config).silver_table(silver.spec.name)
            context.log_event(dg.AssetMaterialization(asset, metadata=metadata))
            checks.append(equals_bronze(handles, silver.spec, asset, context.instance))
            # Dagster takes evaluations here too, and its types do not say so.
            events: list[Any] = [evaluation_event(check) for check in checks]
            for event in events:
                context.log_event(event)
        return
    if since:
        raise DataError(only_silver_since(config.table))
    if config.dry_run:
        plan = plan_rebuild(handles, config.table)
    else:
        plan = rebuild_table(handles, config.table, by=_requester(context, lake), log=log)
    for reading in plan.kept[:20]:
        log(f"{reading.rows} rows of {reading.key} stay as they are: S3 no longer has these bytes of the file")
    context.add_output_metadata(
        {
            "dry_run": config.dry_run,
            "files": plan.again,
            "other_files": plan.others,
            "bytes": plan.size,
            "kept_files": len(plan.kept),
            "kept_rows": plan.kept_rows,
            "after_batch": plan.n,
        }
    )


def rebuild_job(config: LakeConfig) -> dg.JobDefinition:
    """Build the job that computes a table again. Runs of the table's partition do the work of a bronze table."""
    names = LakeNames.from_config(config)
    description = "Puts every file of a loaded table into its inbox, or computes a silver table again."
    op = dg.op(name=names.name(REBUILD_OP), description=description)(with_lake(names.resource)(_rebuild))

    @dg.job(
        name=names.name(REBUILD_JOB),
        executor_def=run_executor,
        description="Reads every file of a loaded table again, or computes a silver table from bronze again, by "
        "today's lake.yaml. Readers never see the table empty.",
    )
    def rebuild() -> None:
        op()

    return rebuild
