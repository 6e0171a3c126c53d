"""The answers of commands for programs: what `--json` prints, and the JSON Schema of it.

`python -m tidegate.platform.cli.answers > docs/commands.schema.json` writes the schema again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, RootModel
from pydantic.json_schema import models_json_schema
from rich.console import Console

from tidegate.platform.cli.answer import Answer
from tidegate.platform.cli.costs.answers import CostsAnswer
from tidegate.platform.cli.inventory.answers import (
    AdviceAnswer,
    AuditAnswer,
    CostAnswer,
    ForecastAnswer,
    ManifestAnswer,
    UploadsAnswer,
)
from tidegate.platform.cli.plan_answers import (
    CatalogSyncAnswer,
    EnableAnswer,
    ForgetAnswer,
    MaintainAnswer,
    RebuildAnswer,
    RedriveAnswer,
    ResetAnswer,
)


class FindingAnswer(Answer):
    """The result of one check."""

    id: str
    """The check. It stays the same between versions."""
    subject: str
    """What was checked: the name of a queue, a bucket or a table, the lake root, the Spark server, …"""
    title: str
    """The check and its subject, in words."""
    outcome: Literal["ok", "warning", "failed"]
    """Result of the check."""
    detail: str
    """What was found, or what to do. May be empty."""


class FindingsAnswer(RootModel[tuple[FindingAnswer, ...]]):
    """The results of all checks."""


class ReaderAnswer(Answer):
    """Whether an engine reads a table."""

    reader: str
    """The engine, with the version that was tried."""
    reads: bool
    """Whether it reads the table."""
    forbids: tuple[str, ...]
    """Features of the table's protocol that the engine does not read."""


class TableReadersAnswer(Answer):
    """The engines that read a table."""

    table: str
    """SQL name."""
    readers: tuple[ReaderAnswer, ...]
    """Each engine that is known."""


class ReadersAnswer(Answer):
    """The engines that read each table."""

    tables: tuple[TableReadersAnswer, ...]
    """The tables of bronze and silver that exist."""


class StopAnswer(Answer):
    """A stop on an object's way."""

    at: datetime | None
    """Time of the stop, if it is known."""
    what: str
    """The place, in a word or two."""
    detail: str
    """What is recorded there."""


class TraceAnswer(Answer):
    """The way of an object to its table."""

    address: str
    """The object, as `s3://bucket/key`."""
    stops: tuple[StopAnswer, ...]
    """The stops, in their order."""
    verdict: str
    """Whether the table has the object's present bytes, and what to do if it does not."""
    waits_for: str | None
    """Key of the table whose next run decides the object. null if the object does not wait."""
    last_failure: str | None
    """When and why the last run of that table failed. null if it did not, or if no storage of Dagster is known."""


class WhyRow(Answer):
    """A row of bronze with the key, and what became of it."""

    batch: int | None
    """Number of its batch. null if its file was rewritten, so the batch is not known."""
    fate: Literal[
        "won", "tombstone", "expired", "older", "tie", "truncated", "expectation", "skipped", "truncates", "waits"
    ]
    """What became of it."""
    why: str
    """The fate as a sentence."""
    order: Mapping[str, Any]
    """The parts of its order, `o1`, `o2`, …"""
    values: Mapping[str, Any]
    """The values that silver has or would have."""
    deletes: bool
    """Whether it deletes the key."""
    file: str
    """Its file, as `s3://bucket/key`."""
    event: str
    """The event that announced the file, and the run that read it."""
    recorded_at: datetime | None
    """When its batch was recorded."""


class WhyAnswer(Answer):
    """The rows of bronze with a key, and silver's row of it."""

    table: str
    """The silver table."""
    key: str
    """The key, as `order_id = 42`."""
    is_right: bool
    """Whether silver has what bronze gives."""
    verdict: str
    """What silver has, and why."""
    silver: Mapping[str, Any] | None
    """Silver's row, with its own columns. null if it has none."""
    rows: tuple[WhyRow, ...]
    """The rows of bronze, the newest first."""
    more: bool
    """Whether bronze has more rows, which are older."""
    sql: tuple[str, ...]
    """Queries that show the rows in bronze and in silver."""


class StatusTable(Answer):
    """The backlog of a table."""

    table: str
    """SQL name of a configured table, else the table key."""
    key: str
    """Table key."""
    behind: bool
    """Whether the oldest event has waited for longer than it may."""
    files: int
    """Number of waiting events. A file with two events counts twice."""
    at_least: bool
    """Whether more wait than were listed."""
    bytes: int
    """Size of their files, as far as the events contain it."""
    oldest_seconds: float
    """Age of the oldest waiting event."""
    limit_seconds: int
    """The longest time that an event may wait: `window` and `max_lag`."""
    last_commit: datetime | None
    """When the last run that had something to do ended. null also for tables beyond the most urgent ones."""
    quarantined: int
    """Objects and rows that were quarantined in the last 24 hours."""
    incomplete_dataset_files: int | None
    """Files and signals of incomplete datasets. null without `completion`."""


class StatusQueue(Answer):
    """The messages of a queue."""

    queue: str
    """Name of the queue."""
    waiting: int
    """Messages that can be received."""
    in_flight: int
    """Messages that were received and not deleted yet."""
    dead_letters: int | None
    """Messages in its dead-letter queue. null if there is none, or if it did not answer."""
    missed: Mapping[str, int]
    """Events of the day (UTC) that no table takes, by outcome."""


class StatusRoute(Answer):
    """The messages that wait to be forwarded by a route."""

    route: str
    """Name of the route."""
    behind: bool
    """Whether the oldest message has waited for longer than it may."""
    messages: int
    """Number of waiting messages, at least."""
    oldest_seconds: float
    """Age of the oldest of their events."""
    limit_seconds: int | None
    """`max_lag` of the route. null if `lake.yaml` does not have the route any more."""
    undeliverable: int
    """Messages that the destination never takes, at least."""


class StatusFailure(Answer):
    """A table whose last run failed."""

    table: str
    """Table key, or `silver.<name>`."""
    run: str
    """Dagster's id of the run."""
    at: datetime
    """When it ended."""
    why: str
    """First line of the error. Empty if Dagster has none."""


class StatusCheck(Answer):
    """A check of the asset `lake_health`."""

    name: str
    """Name of the check."""
    passed: bool
    """Its result."""
    severity: Literal["error", "warning"]
    """Whether its failure makes the exit code 1."""
    what_to_do: str
    """Empty if the check passed, or if the numbers say it."""


class StatusAnswer(Answer):
    """The health of a lake."""

    at: datetime
    """Time of the measurement."""
    ok: bool
    """Whether the exit code is 0."""
    tables: tuple[StatusTable, ...]
    """Every table, the most urgent first."""
    queues: tuple[StatusQueue, ...]
    """The queues that answered."""
    routes: tuple[StatusRoute, ...]
    """Every route, the most urgent first."""
    failed: tuple[StatusFailure, ...]
    """The tables whose last run failed."""
    checks: tuple[StatusCheck, ...]
    """The checks of `lake_health`."""
    unknown: tuple[str, ...]
    """A sentence for each measurement that failed."""


class NewsAnswer(Answer):
    """Something that happened in the lake. `tidegate tail` prints one such object on each line."""

    at: datetime
    """When it happened, or when it was seen."""
    event: Literal["waiting", "committed", "quarantined", "merged", "failed", "unknown"]
    """What happened. `unknown`: something did not answer."""
    table: str
    """SQL name of a configured table, else the table key; `silver.<name>` of a silver table. May be empty."""
    numbers: Mapping[str, float | int]
    """Numbers of the event, such as `files`, `rows`, `bytes`, `batch` and `delta_version`."""
    key: str | None
    """Key of the quarantined object."""
    detail: str
    """The reason of a quarantine or of a failure. May be empty."""


class SqlColumn(Answer):
    """A column of a query's result."""

    name: str
    """Its name."""
    type: str
    """Its type in Spark SQL."""


class SqlAnswer(Answer):
    """The result of a query."""

    columns: tuple[SqlColumn, ...]
    """The columns, in their order. Empty if the statement has no result."""
    rows: tuple[Mapping[str, Any], ...]
    """The rows, each with its values by the names of the columns. DECIMALs are strings, and BINARY is base64."""
    more: int
    """Number of rows that `--limit` left out."""


class InferredTable(Answer):
    """A table that the files of a folder would become."""

    name: str
    """Its SQL name."""
    prefix: str
    """Its prefix, as `s3://bucket/folder/`."""
    format: str | None
    """Format of the files. null if no file shows it."""
    files: int
    """Number of files."""
    columns: Mapping[str, str]
    """SQL types by the names of columns, as far as files were read."""
    partition_columns: tuple[str, ...]
    """Columns of the folders `k=v`."""
    options: Mapping[str, Any]
    """Options of the format that the files need."""
    problems: tuple[str, ...]
    """A sentence for each problem, with what to do."""
    possible: bool
    """Whether some setting makes these files a table."""


class InferAnswer(Answer):
    """The tables that files suggest."""

    tables: tuple[InferredTable, ...]
    """The tables, by their prefixes."""
    more: bool
    """Whether there are more files than the first ones, which were listed."""
    lake_yaml: str
    """Text of a `lake.yaml` to start from."""


#: What each command prints with `--json`.
ANSWERS: Mapping[str, type[BaseModel]] = {
    "catalog readers": ReadersAnswer,
    "catalog sync": CatalogSyncAnswer,
    "check": FindingsAnswer,
    "cost": CostsAnswer,
    "doctor": FindingsAnswer,
    "forget": ForgetAnswer,
    "infer": InferAnswer,
    "inventory advice": AdviceAnswer,
    "inventory audit": AuditAnswer,
    "inventory cost": CostAnswer,
    "inventory enable": EnableAnswer,
    "inventory forecast": ForecastAnswer,
    "inventory manifest": ManifestAnswer,
    "inventory uploads": UploadsAnswer,
    "maintain": MaintainAnswer,
    "rebuild": RebuildAnswer,
    "redrive": RedriveAnswer,
    "reset": ResetAnswer,
    "sql": SqlAnswer,
    "status": StatusAnswer,
    "tail": NewsAnswer,
    "trace": TraceAnswer,
    "why": WhyAnswer,
}


def print_answer(console: Console, answer: BaseModel, *, lines: bool = False) -> None:
    """Print an answer as JSON. Nothing else of a command with `--json` prints on standard output.

    Args:
        console: takes the output.
        answer: of a class in `ANSWERS`.
        lines: whether the command prints one answer on each line.
    """
    # `console.print` would break lines at the width of a terminal.
    console.out(answer.model_dump_json(indent=None if lines else 2), highlight=False)


def schema_text() -> str:
    """The text of `docs/commands.schema.json`."""
    models: Sequence[tuple[type[BaseModel], Literal["serialization"]]] = [
        (model, "serialization") for model in dict.fromkeys(ANSWERS.values())
    ]
    places, shared = models_json_schema(models)
    commands: dict[str, Any] = {name: places[model, "serialization"] for name, model in ANSWERS.items()}
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "What the commands of tidegate print with --json",
        "description": "Each property is the schema of one command's output; of `tail`, of each line.",
        "type": "object",
        "properties": commands,
        **shared,
    }
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    print(schema_text(), end="")
