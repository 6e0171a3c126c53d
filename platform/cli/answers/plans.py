"""The plans of commands for programs: what would change, and nothing has been changed."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field, RootModel

from tidegate.platform.cli.answers.answer import Answer
from tidegate.platform.cli.errors import CommandError
from tidegate.platform.core.keys.file_format import Mode


class ResetAnswer(Answer):
    """The plan of a reset."""

    table: str
    """SQL name of the table before the reset."""
    key: str
    """Table key."""
    new_name: str
    """SQL name after the reset."""
    mode: Mode
    """Mode of the new table."""
    mode_before: Mode
    """Mode of the table before the reset."""
    location: str
    """URI of the new table."""
    objects: int
    """Number of objects that the next run reads again."""
    batches: int
    """Number of batches of the old ledger."""
    committed: int
    """Number of objects whose rows are in the table."""
    rows: int
    """Number of their rows."""
    live_files: int
    """Number of files that leave the table."""
    lost: tuple[str, ...]
    """Keys of committed objects whose bytes S3 no longer has. Their rows do not come back."""
    lost_rows: int
    """Number of these rows. Unless it is 0, a reset needs `--accept-loss`."""


class AdoptShareAnswer(Answer):
    """Some of the objects that the prefix or the log has."""

    objects: int
    """Number of objects."""
    bytes: int
    """Their bytes."""
    rows: int
    """Rows of them that readers of the table see, by the statistics of the log."""
    fitting: int
    """Number of objects among them that a registered table can have."""
    uncounted: int
    """Number of live files among them without statistics, whose rows are not known."""


class AdoptAnswer(Answer):
    """The plan of an adoption."""

    table: str
    """SQL name of the table afterwards."""
    key: str
    """Table key."""
    location: str
    """URI of the Delta table."""
    version: int
    """Its version."""
    adopted: bool
    """Whether the lake has the table already, so that nothing is left to do."""
    features: tuple[str, ...]
    """Features of its protocol."""
    columns: str
    """Its columns, as in SQL."""
    partition_columns: tuple[str, ...]
    """Columns whose values come from folders."""
    properties: dict[str, str]
    """Its properties."""
    refusals: tuple[str, ...]
    """Why it cannot be adopted, each with the remedy. Empty if it can."""
    kept: tuple[str, ...]
    """What stays as it is."""
    live: AdoptShareAnswer
    """Live files: events of them are duplicates afterwards."""
    left: AdoptShareAnswer
    """Objects whose rows left the table: they never enter again with these bytes."""
    gone: AdoptShareAnswer
    """Files that only the log still names."""
    again: AdoptShareAnswer
    """Objects that were put again after their rows had left, with as many bytes. They are quarantined."""
    others: AdoptShareAnswer
    """Objects that the log does not name. They are quarantined, or enter with `--enter`."""
    recent_commits: int
    """Number of commits of the last 15 minutes."""


class BronzeRebuildAnswer(Answer):
    """The plan of a rebuild of a loaded table."""

    layer: Literal["bronze"] = "bronze"
    """What is rebuilt."""
    table: str
    """SQL name of the table."""
    key: str
    """Table key."""
    batch: int
    """Last batch before the rebuild. Files that are read again get a later batch."""
    files: int
    """Number of files whose rows are in the table and are replaced."""
    other_files: int
    """Number of files that are not in the table and are tried."""
    bytes: int
    """Size of all these files."""
    kept: tuple[str, ...]
    """Keys of files that S3 no longer has, or has with other bytes. Their rows stay as they are."""
    kept_rows: int
    """Number of these rows."""
    waiting: int
    """Number of files of an earlier rebuild that still wait."""


class SilverRebuildAnswer(Answer):
    """The plan of a rebuild of a silver table."""

    layer: Literal["silver"] = "silver"
    """What is rebuilt."""
    table: str
    """SQL name of the table."""
    key: str
    """Key of the bronze table."""
    batch: int
    """Last batch of bronze that silver will have."""
    from_batch: int
    """Only keys with a row of this batch or later are computed again. 1: those of the whole table."""
    files: int
    """Number of files of bronze that are read."""
    replaced_files: int
    """Number of files of silver that are replaced."""


class RebuildAnswer(RootModel[Annotated[BronzeRebuildAnswer | SilverRebuildAnswer, Field(discriminator="layer")]]):
    """The plan of a rebuild."""


class RedriveEntry(Answer):
    """An object or a message that would be retried."""

    of: str
    """Key of its table; name of its route or dead-letter queue; empty for messages that could not be parsed."""
    key: str
    """Key of the object, or id of the message. Of a dead letter, the first key in it."""
    reason: str
    """Why it is in quarantine."""
    partly: bool
    """Whether some of its rows are in the table."""
    refused: bool
    """Whether a redrive refuses it, because nothing can replace its good rows."""


class RedriveAnswer(Answer):
    """What would be retried."""

    kind: Literal["objects", "messages", "route", "dead letters"]
    """What is looked at."""
    entries: tuple[RedriveEntry, ...]
    """All that would be retried. Of dead letters, those among the messages that were read."""
    dead_letters: Mapping[str, int]
    """Number of messages in each dead-letter queue, if they are looked at."""
    undeliverable: Mapping[str, int]
    """Number of messages of each route that only `redrive --route` retries."""


class ListedWithoutTable(Answer):
    """Objects of a list that belong to no table for one reason."""

    why: str
    """The reason."""
    objects: int
    """Number of the objects."""
    first: str
    """Address of the first one."""


class IngestAnswer(Answer):
    """What the objects of a list would become."""

    lines: int
    """Number of the last line of the list."""
    tables: Mapping[str, int]
    """Number of objects of each table, by table key."""
    new_tables: tuple[str, ...]
    """Keys of tables among them that do not exist yet."""
    without_table: tuple[ListedWithoutTable, ...]
    """Objects that belong to no table. They are left out."""


class MaintainedTable(Answer):
    """What maintenance would do for a Delta table or a folder of the lake root."""

    table: str
    """SQL name of the table, or name of the folder."""
    merged: int
    """Number of files that would be written again."""
    checkpoint: bool
    """Whether its log would get a checkpoint."""
    files: int
    """Number of objects that would be deleted, as far as a plan knows them."""
    bytes: int
    """Size of these objects."""
    source: str
    """Where files that no version needs were looked for, if `maintain.inventory` is given and the table is large: the
    inventory, or why the folder was listed."""


class Unmaintained(Answer):
    """A table that cannot be maintained now."""

    table: str
    """Table key, or `silver.<name>`."""
    busy: bool
    """Whether it is only being written. Otherwise maintenance fails, and so does the command."""
    why: str
    """The reason."""


class MaintainAnswer(Answer):
    """What maintenance would do."""

    tables: tuple[MaintainedTable, ...]
    """The tables and folders."""
    left_out: tuple[Unmaintained, ...]
    """The tables that cannot be maintained now."""


class EnabledSetting(Answer):
    """A setting of S3 that differs from lake.yaml."""

    of: str
    """The policy of the destination, or the inventory configuration of a bucket."""
    differences: tuple[str, ...]
    """A line for each difference."""


class EnableAnswer(Answer):
    """What differs from `inventories` of lake.yaml."""

    buckets: int
    """Number of buckets that were compared."""
    changes: tuple[EnabledSetting, ...]
    """The settings that would be written."""
    refused: tuple[str, ...]
    """What S3 did not let the command read, or is of another region. Unless it is empty, the command fails."""
    elsewhere: tuple[str, ...]
    """Buckets that patterns choose, in other regions than the destination. S3 delivers no inventory from there."""


class DroppedInventory(Answer):
    """The newest inventory of a bucket and configuration."""

    bucket: str
    """Name of the bucket."""
    configuration: str
    """Name of the inventory configuration."""
    newest: datetime
    """When S3 began the inventory, or when it was dropped."""
    dropped: bool
    """Whether it was dropped before. Then nothing would be written."""


class DropAnswer(Answer):
    """What would leave the table of inventories."""

    inventories: tuple[DroppedInventory, ...]
    """Those of the buckets, by name."""


class CatalogEntryAnswer(Answer):
    """An entry of the Glue Data Catalog that is not as the table says."""

    entry: str
    """Database and name, or the key of a table that cannot be read."""
    what: str
    """What would be done, or why nothing can be."""
    failed: bool
    """Whether it needs a person."""


class CatalogSyncAnswer(Answer):
    """What differs in the Glue Data Catalog. With an entry that failed, the command fails."""

    entries: int
    """Number of entries that the tables should have."""
    changes: tuple[CatalogEntryAnswer, ...]
    """The entries that would be changed, and those that cannot be."""


class FoundOfPersons(Answer):
    """What a table, and what belongs to it, has of persons."""

    table: str
    """SQL name of the table."""
    bronze_rows: int
    """Number of rows in bronze."""
    bronze_files: int
    """Number of data files that have them."""
    bronze_bytes: int
    """Size of these files."""
    sources: int
    """Number of objects of producers that the rows came from. They stay as they are."""
    silver_rows: int
    """Number of rows and tombstones in silver."""
    kept: Mapping[str, int]
    """Number of lines and messages in objects of the lake, by folder."""


class ForgetRequestAnswer(Answer):
    """A request to forget persons. It has no identity of a person."""

    id: str
    """Id of the request."""
    by: str
    """Who made it."""
    subjects: int
    """Number of persons."""
    state: Literal["open", "waits for vacuum", "done"]
    """What became of it."""
    files_may_go: datetime | None
    """When the files that had the rows may be deleted. null before the rows have left."""
    until: datetime
    """When it must be done."""
    late: bool
    """Whether it should be done, and is not."""


class ForgetAnswer(Answer):
    """What the lake has of persons, or the requests to forget persons."""

    found: tuple[FoundOfPersons, ...] | None
    """What each table has of the given persons. null without persons."""
    exports: tuple[str, ...]
    """Folders with exports of these tables. They are not searched, and stay."""
    requests: tuple[ForgetRequestAnswer, ...] | None
    """Every request. null with persons."""


def refuse_to_apply(*, as_json: bool, yes: bool) -> None:
    """Raise CommandError if a plan for programs is requested together with the change."""
    if as_json and yes:
        raise CommandError("--json prints a plan, and --yes makes the change: give one of them")
