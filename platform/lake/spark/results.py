"""Arguments and results of the calls of `Delta`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tidegate.platform.core.bronze.batch import Remove
from tidegate.platform.core.errors import DataError
from tidegate.platform.core.schema.table_schema import TableSchema

#: Features of the protocol of tables to which Tidegate commits. Delta itself serves most of them in each commit. Others
#: give commits to a catalog, or bind the content of data files, which Tidegate registers and stages by itself.
SERVED_FEATURES = frozenset(
    {
        "allowColumnDefaults",
        "appendOnly",
        "changeDataFeed",
        "checkConstraints",
        "checkpointProtection",
        "clustering",
        "columnMapping",
        "deletionVectors",
        "domainMetadata",
        "generatedColumns",
        "identityColumns",
        "inCommitTimestamp",
        "inCommitTimestamp-preview",
        "invariants",
        "rowTracking",
        "timestampNtz",
        "typeWidening",
        "typeWidening-preview",
        "v2Checkpoint",
        "vacuumProtocolCheck",
        "variantShredding",
        "variantShredding-preview",
        "variantType",
        "variantType-preview",
    }
)


@dataclass(frozen=True)
class LiveEntry:
    """A live file of a table.

    Attributes:
        remove: the entry, ready to be removed.
        rows: number of rows that readers see, by the log's statistics. None: these do not say it.
    """

    remove: Remove
    rows: int | None


@dataclass(frozen=True)
class TableState:
    """The state of a table in its log.

    Attributes:
        version: Delta version, -1 if there is no table.
        txn: last transaction version of the requested application, or None.
        table_id: Delta's own id of the table.
        schema: its columns.
        files: number of live files.
        features: names of the features of its protocol.
        refusal: why its live files may not be read, or None.
    """

    version: int
    txn: int | None
    table_id: str | None
    properties: dict[str, str]
    schema: TableSchema
    files: int
    features: tuple[str, ...] = ()
    refusal: str | None = None

    def require_own_files(self) -> None:
        """Refuse a table whose log has files of elsewhere: its rows may be those of another table.

        Raises:
            DataError: it has such a file. The message says what to do.
        """
        if self.refusal:
            raise DataError(f"[TIDEGATE_OWNERSHIP] {self.refusal}")

    def require_served_features(self, table: str, starting_over: str) -> None:
        """Refuse a table with a feature that Tidegate's commits do not serve: its rules would be broken silently.

        Args:
            table: its SQL name.
            starting_over: how its rows get another table, in the imperative.

        Raises:
            DataError: it has such a feature. The message names it, and says what to do.
        """
        if others := sorted(set(self.features) - SERVED_FEATURES):
            raise DataError(
                f"{table} has the table feature {others[0]}, whose rules Tidegate's commits do not serve: ALTER TABLE "
                f"{table} DROP FEATURE '{others[0]}', or {starting_over}. Nothing is lost: files wait until then"
            )

    @property
    def exists(self) -> bool:
        """Whether there is a table."""
        return self.version >= 0

    @property
    def has_columns(self) -> bool:
        """Whether the table has columns. A table that was reset has none until its first file."""
        return bool(self.schema.fields)


@dataclass(frozen=True)
class LoggedFiles:
    """What a view of the files of a log shows.

    Attributes:
        version: of the table.
        schema: Spark's JSON of its columns, as the log has it.
        commit_times: of the commits that the log still has, in milliseconds since 1970 by S3's clock.
        whole: whether these are all commits.
    """

    version: int
    schema: Mapping[str, Any]
    commit_times: Sequence[int]
    whole: bool


@dataclass(frozen=True)
class BatchRefusal:
    """What the server cannot read of a batch.

    Attributes:
        part: field of the batch, as `adds` or `rows`. Empty if it is the batch as a whole.
        place: place in the field, from 0. None if the field is not a list.
        problem: the reason, with the name of the field.
    """

    part: str
    place: int | None
    problem: str


@dataclass(frozen=True)
class CommitResult:
    """What the commit of a batch did, as the commit records it.

    Attributes:
        version: Delta version of the commit.
        outcome: `committed` or `void`.
        digest: digest of the batch that landed.
        reason: why a void commit is void.
        replayed: whether it had landed before this call.
    """

    version: int
    outcome: str
    digest: str
    reason: str | None
    replayed: bool


#: Columns that the query of a merge may have, and that are counted and not written: whether the row came after a newer
#: row of its key, and whether another row of its key has its order.
LATE, TIED = "_tidegate_late", "_tidegate_tied"
#: Where a table has a row: its file, its number there, and whether readers of the table see it.
PLACE = ("_tidegate_file", "_tidegate_file_row", "_tidegate_file_shown")


@dataclass(frozen=True)
class Merging:
    """Rows that are merged into a table by key.

    Attributes:
        rows: a query of the table's columns. No two of its rows have equal keys.
        keys: columns or nested fields that identify a row, quoted for SQL.
        hiding: columns of the table that hide a row from its readers where they are true.
        newer: a condition over a row `s` and the table's row `t` of its key: `s` replaces `t`. None if the merge does
            more than that, which only the statement expresses, or if the number of rows is unknown.
        max_rows: how many rows of bronze the query reads at most. If there are too many, the statement is run at once.
            The query may have more rows, such as deletes that dumps imply: they are counted. Without effect if `newer`
            is None.
        statement: an equivalent MERGE statement, for tables and amounts of rows that the fast path does not support.
        stored: the temporary view as which `rows` reads the table; None if it does not. The merge makes the view, of
            the version that it merges into. The view has `PLACE` of each row, and so has `rows`: of the row of the
            table that a row replaces, NULL for a row that is added.
        mixed: a condition over a row `s` and the table's row `t` of its key: their values may mix, which only the
            statement can do. None if no row does.
        provided: properties that the table must have, and keep until the commit, by name. Empty texts for those that it
            must lack. If it has others, the merge fails as if another commit came first.
    """

    rows: str
    keys: Sequence[str]
    hiding: Sequence[str]
    newer: str | None
    max_rows: int
    statement: str
    stored: str | None = None
    mixed: str | None = None
    provided: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Merge:
    """What a merge did.

    Attributes:
        inserted: rows that it added.
        updated: rows that it replaced.
        deleted: rows that it deleted.
        late: rows that came after a newer row of their key. None if they were not counted.
        tied: rows whose order another row of their key has. None if they were not counted.
        version: the table's version afterwards.
        txn: the last txn of its application afterwards.
        shown: the rows that readers of the table see afterwards.
    """

    inserted: int
    updated: int
    deleted: int
    late: int | None
    tied: int | None
    version: int
    txn: int | None
    shown: int


@dataclass(frozen=True)
class CompactionResult:
    """What a compaction did.

    Attributes:
        added: number of data files.
        removed: number of data files.
        left: bytes of files that it may write again, and left for the next one.
    """

    added: int
    removed: int
    left: int = 0


@dataclass(frozen=True)
class ServerJar:
    """A jar of the server.

    Attributes:
        name: its file name.
        sha256: of its bytes, in hexadecimal; None if the server does not say it.
    """

    name: str
    sha256: str | None = None
