"""Operations as Dagster jobs: the functions that the command line calls, with typed configuration."""

from datetime import UTC, datetime

import dagster as dg
from pydantic import Field

from tidegate.assets.operations.dead_letters import dead_letter_queues, peek, redrive_dead_letters
from tidegate.assets.operations.rebuild import look_at_rebuild, rebuild_table
from tidegate.assets.operations.redrive import (
    RATE,
    Choice,
    quarantined_messages,
    quarantined_objects,
    redrive_messages,
    redrive_objects,
)
from tidegate.resources.lake_resource import LakeResource

#: Dead letters of a queue that are shown before they are redriven.
MOST_PEEKED = 100


class RedriveConfig(dg.Config):
    """What of the quarantine is looked at again."""

    table: str = Field("", description="Table key (the partition); empty: every table.")
    messages: bool = Field(False, description="Messages that could not be understood, instead of objects.")
    dead_letters: bool = Field(False, description="Messages of dead-letter queues, instead of objects.")
    queue: str = Field("", description="Queue, or dead-letter queue, whose dead letters are meant; empty: every one.")
    reason: str = Field("", description="Part of the reason.")
    key: str = Field("*", description="Glob over object keys, or over event ids of messages.")
    since: str = Field("", description="Quarantined at or after, ISO 8601.")
    until: str = Field("", description="Quarantined before, ISO 8601.")
    rate: int = Field(RATE, ge=1, description="Hints or messages a second.")
    dry_run: bool = Field(True, description="Only show what would be redriven.")


@dg.op(description="Objects or messages in quarantine are looked at again.")
def redrive_op(context: dg.OpExecutionContext, config: RedriveConfig, lake: LakeResource) -> None:
    """Redrive what the configuration says."""
    handles = lake.open()
    choice = Choice(config.reason, config.key, moment(config.since), moment(config.until))
    by, log = f"run {context.run_id}", context.log.info
    if config.dead_letters:
        for letters in dead_letter_queues(handles, config.queue or None):
            name = letters.queue.name
            log(f"{name}: {letters.queue.depth()[0]} messages")
            for letter in peek(handles, letters, MOST_PEEKED):
                if letter.is_meant(choice):
                    log(f"{name}: {letter.keys[0]}: {letter.reason}")
            if not config.dry_run:
                log(redrive_dead_letters(handles, letters, choice, by=by, rate=config.rate, log=log))
        return
    counts: dict[str, int] = {}
    partly = 0
    if config.messages:
        messages = quarantined_messages(handles, choice)
        counts["messages"] = len(messages)
        if messages and not config.dry_run:
            redrive_messages(handles, messages, choice, by=by, rate=config.rate, log=log)
    for text in [] if config.messages else [config.table] if config.table else handles.store.births.tables():
        objects = quarantined_objects(handles, text, choice)
        counts[text] = len(objects)
        partly += sum(one.partly for one in objects)
        for one in objects[:20]:
            log(f"{one.key}{', rows of it' if one.partly else ''}: {one.reason}")
        if objects and not config.dry_run:
            redrive_objects(handles, text, objects, choice, by=by, rate=config.rate, log=log)
    context.add_output_metadata(
        {"dry_run": config.dry_run, "redriven": counts, "objects": sum(counts.values()), "partly": partly}
    )


@dg.job(name="redrive", executor_def=dg.in_process_executor, description="What is in quarantine is looked at again.")
def redrive_job() -> None:
    """The job of one op."""
    redrive_op()


class RebuildConfig(dg.Config):
    """Which table is read again."""

    table: str = Field(description="Table key (the partition) of a loaded table.")
    dry_run: bool = Field(True, description="Only show what would be read again.")


@dg.op(description="Every file of a loaded table is put into its inbox, to be read again.")
def rebuild_op(context: dg.OpExecutionContext, config: RebuildConfig, lake: LakeResource) -> None:
    """Rebuild the table that the configuration says."""
    handles, log = lake.open(), context.log.info
    if config.dry_run:
        found = look_at_rebuild(handles, config.table)
    else:
        found = rebuild_table(handles, config.table, by=f"run {context.run_id}", log=log)
    for one in found.kept[:20]:
        log(f"{one.rows} rows of {one.key} stay as they are: S3 has that file no more, or with other bytes")
    context.add_output_metadata(
        {
            "dry_run": config.dry_run,
            "files": found.again,
            "other_files": found.others,
            "bytes": found.size,
            "kept_files": len(found.kept),
            "kept_rows": found.kept_rows,
            "after_batch": found.n,
        }
    )


@dg.job(
    name="rebuild",
    executor_def=dg.in_process_executor,
    description="Every file of a loaded table is read again, as lake.yaml says today; readers never see it empty.",
)
def rebuild_job() -> None:
    """The job of one op; runs of the table's partition do the work."""
    rebuild_op()


def moment(text: str) -> datetime | None:
    """A time in ISO 8601, in UTC where it has no zone; None for an empty text.

    Raises:
        ValueError: it is none.
    """
    if not text:
        return None
    found = datetime.fromisoformat(text)
    return found if found.tzinfo else found.replace(tzinfo=UTC)
