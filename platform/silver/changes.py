"""The rows of bronze that a merge reads: those of the batches after the mark, or of the whole table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import accumulate

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from tidegate.platform.core.bronze.batch import Batch
from tidegate.platform.core.bronze.birth import Birth
from tidegate.platform.core.bronze.ledger import ENTERED, Status
from tidegate.platform.core.bronze.volume import volume, volume_metadata
from tidegate.platform.core.errors import BadValue, DataError
from tidegate.platform.core.keys.log_paths import COPIES
from tidegate.platform.core.keys.table_key import TableKey
from tidegate.platform.core.silver.audit.dumps import IncompleteDump
from tidegate.platform.lake.lake_root.batches import Batches
from tidegate.platform.lake.spark.delta import Delta
from tidegate.platform.lake.spark.temporary_view import temporary_view
from tidegate.platform.lake.threads import parallel
from tidegate.platform.silver.pending_merge import Aim, PendingMerge, RecordedLedger

#: Limits of one merge, which always takes at least one batch. The next merge continues after its last batch. Batch
#: objects are read whole, and a statement lists their files: Spark Connect refuses 128 MiB, and a character of a path
#: takes up to six bytes there. Rows and the bytes of their files are limited so that one failure does not undo the
#: merge of a large backlog.
_MAX_BYTES = 16 << 20
_MAX_SOURCE_BYTES = 64 << 30
_MAX_ROWS = 50_000_000
_MAX_BATCHES = 1000
#: A first merge of more batches, or of a table with more files, reads no batch objects: it queries the ledger.
_MAX_FIRST_BATCHES = 100
_MAX_FIRST_FILES = 1000
#: Limits of the first step of such a merge. It names no file, and writes rows without a search for their keys, so it
#: is faster than many small steps. Spark writes to disk what memory does not hold. The limits bound what one failure
#: costs, and the disks that the rows need.
_MAX_LEDGER_BATCHES = 10_000
_MAX_LEDGER_FILES = 200_000
_MAX_LEDGER_BYTES = 512 << 30
#: Up to this many files, the map from file to batch is broadcast. Above, rows and files are sorted and joined.
_MAX_BROADCAST_FILES = 200_000
#: The number in the name of a data file. Spark divides a large source file among tasks by its bytes. Each task writes a
#: data file, and later bytes have a higher number.
PART = "substring(_metadata.file_name, 6, 5)"
#: Orders the rows of one file. Delta offers no row index, but within one split these ids increase with the rows.
_PLACE = "_metadata.file_block_start, monotonically_increasing_id()"
_ROW, _STAGED_ROW = f"struct({_PLACE}) AS _tidegate_row", f"struct({PART}, {_PLACE}) AS _tidegate_row"
_FILE = "_metadata.file_path AS _tidegate_path"


@dataclass(frozen=True)
class KnownDumps:
    """What a merge of full dumps knows of them in addition to its rows.

    Attributes:
        dropped: a view of rows of bronze with those that earlier merges left out. None if the changes have them.
        incomplete: the dumps that imply no deletes.
    """

    dropped: str | None = None
    incomplete: tuple[IncompleteDump, ...] = ()


@dataclass(frozen=True)
class StoredForgotten:
    """Views of the silver table that a rebuild from a batch needs if persons were forgotten.

    Attributes:
        theirs: rows whose keys are computed. Of a history those of forgotten persons, whose values may be in other rows
            of the key. Else rows of others that have a value of theirs, or of nobody knows whom.
        others: rows that are not theirs.
    """

    theirs: str
    others: str


@dataclass(frozen=True)
class Changes:
    """A temporary view over rows of bronze, with `_tidegate_*` columns for their order.

    Attributes:
        view: its name.
        n: last batch whose rows it has. It becomes silver's mark when they are merged.
        why_full: why it has the whole bronze table, or the first part of it, instead of the batches after the mark.
            None if it has only batches after the mark.
        batches: number of batches that are merged.
        volume: files, rows and bytes of these batches, as metadata.
        read_rows: rows that all batches brought of which the view has rows. None: those of `volume`.
        is_reread: older rows left bronze: a redrive or a rebuild read files of a loaded table again, or its rows follow
            files that were overwritten or removed.
        statistics: Delta statistics of every file whose rows it has, as JSON texts. None if they were not read.
        dumps: what is known of full dumps.
        with_forgotten: a view that has rows of forgotten persons, too. None if nobody was forgotten.
        stored: what silver has of forgotten persons. None except of a rebuild from a batch, if somebody was forgotten.
    """

    view: str
    n: int
    why_full: str | None
    batches: int
    volume: dict[str, int | float]
    read_rows: int | None = None
    is_reread: bool = False
    statistics: tuple[str, ...] | None = None
    dumps: KnownDumps = field(default_factory=KnownDumps)
    with_forgotten: str | None = None
    stored: StoredForgotten | None = None

    @property
    def rows(self) -> int:
        """How many rows the view has at most."""
        return int(self.volume["rows"]) if self.read_rows is None else self.read_rows


@contextmanager
def gather_changes(delta: Delta, work: PendingMerge) -> Iterator[Changes]:
    """Yield a view of the rows to merge: of all pending batches, or of the first of them if there are many.

    Raises:
        DataError: a batch object is gone.
        ValueError: it is not known in which batches bronze's rows came, and a rebuild from a batch needs that.
    """
    with ExitStack() as views:
        yield _select_changes(delta, work, views)


def _select_changes(delta: Delta, work: PendingMerge, views: ExitStack) -> Changes:
    birth = work.table.birth
    if birth is None:
        raise AssertionError("a table with batches has been born")
    if work.aim is Aim.REBUILD:
        return _join_ledger(delta, work, birth, views, 0, _REBUILD)
    if work.since is not None:
        since = f"a rebuild from batch {work.since} was requested"
        return _join_ledger(delta, work, birth, views, 0, since, counted_after=work.since - 1)
    mark = work.mark or 0
    if work.aim is Aim.REREAD:
        return _join_ledger(delta, work, birth, views, 0, _DUMPS, counted_after=mark)
    first = _FIRST if work.mark is None else None
    if first and (work.n > _MAX_FIRST_BATCHES or work.bronze.files > _MAX_FIRST_FILES):
        return _join_ledger(delta, work, birth, views, 0, first, upto=_first_step(delta, work))
    n, batches = _step(work.table.batches, work.table.table_key, mark, work.n)
    if first and (n < work.n or any(batch.adopt for batch in batches)):
        return _join_ledger(delta, work, birth, views, 0, first, upto=_first_step(delta, work))
    # A batch without hints took persons' rows out of bronze. The rows that it wrote again came with earlier batches.
    removed = first is None and any(batch.removes and batch.rows and batch.n > work.settled for batch in batches)
    if not birth.registered:
        if removed:
            return _join_ledger(delta, work, birth, views, 0, _REPLACED, counted_after=mark)
        view = _view(delta, views, _loaded_rows(delta, birth, mark, n))
        return Changes(view, n, first, len(batches), volume(batches), statistics=_statistics(batches))
    if removed and work.spec.on_removed == "full":
        return _join_ledger(delta, work, birth, views, 0, _REMOVED)
    paths = {batch.n: [add.path for add in batch.adds] for batch in batches if batch.adds}
    view = _view(delta, views)
    missing = delta.batch_view(birth.location, paths, view)
    explained = {remove.path for batch in batches for remove in batch.removes}
    why = _describe_missing(len([path for path in missing if path not in explained]))
    if why and n < work.n:
        # A later batch may have removed or replaced these files. The ledger knows all batches.
        if work.spec.on_removed == "full" and _has_removed_files(delta, work):
            return _join_ledger(delta, work, birth, views, 0, _REMOVED)
        return _join_ledger(delta, work, birth, views, mark, upto=n)
    if why:
        read = int(_volume(delta, work.ledger, 0, n)[1]["rows"])
        return Changes(
            _view(delta, views, _all_rows(delta, birth)), n, first or why, len(batches), volume(batches), read
        )
    return Changes(view, n, first, len(batches), volume(batches), statistics=_statistics(batches))


_FIRST = "silver holds nothing of this bronze table as it is now"
_REPLACED = "rows of files were replaced in bronze, or left it"
_REBUILD = "a rebuild was requested"
_DUMPS = "rows of a dump that silver has went into quarantine, or left it"
_REMOVED = "files were removed from bronze, and on_removed is full"


def waiting_batch_replaces_rows(work: PendingMerge) -> bool:
    """Return whether a batch after the mark replaced rows in bronze, or removed some. Only a few batches may wait."""
    mark = work.mark or 0
    sizes = work.table.batches.sizes(mark)
    numbers = [n for n in range(mark + 1, work.n + 1) if sizes.get(n, 0) is not None]
    return any(batch.removes and batch.rows for batch in _batches(work.table.table_key, work.table.batches, numbers))


def _step(decided: Batches, table_key: str, mark: int, last: int) -> tuple[int, tuple[Batch, ...]]:
    """Return the number of the last batch of this merge, and its batches without void ones."""
    sizes = decided.sizes(mark)
    numbers = [n for n in range(mark + 1, last + 1) if sizes.get(n, 0) is not None]
    taken = count_within([sizes.get(n) or 0 for n in numbers[:_MAX_BATCHES]], _MAX_BYTES)
    batches = _batches(table_key, decided, numbers[:taken])
    taken = min(
        count_within([sum(row.rows or 0 for row in batch.rows) for batch in batches], _MAX_ROWS),
        count_within([sum(row.size or 0 for row in batch.rows if row.rows) for batch in batches], _MAX_SOURCE_BYTES),
    )
    return (last if taken == len(numbers) else numbers[taken - 1]), batches[:taken]


def _first_step(delta: Delta, work: PendingMerge) -> int:
    """Return the number of the last batch of the first step of a merge that queries the ledger.

    A merge that takes rows out of silver has one step: readers would miss the rows of the other batches meanwhile.
    """
    if work.spec.on_removed == "full" and work.silver.files > 0:
        return work.n
    brought = _batch_sizes(delta, work.ledger)
    taken = min(
        count_within([files for _, files, _ in brought], _MAX_LEDGER_FILES),
        count_within([size for _, _, size in brought], _MAX_LEDGER_BYTES),
    )
    return brought[taken - 1][0]


def _batch_sizes(delta: Delta, ledger: RecordedLedger) -> list[tuple[int, int, int]]:
    """Return the numbers of the first batches in the ledger, each with the files and bytes that it brought."""
    committed = F.expr(ENTERED)
    batches = ledger.rows(delta, 0).groupBy("n").agg(
        F.count_if(committed).alias("files"), F.sum(F.when(committed, F.col("size"))).alias("bytes")
    )  # fmt: skip
    found = batches.orderBy("n").limit(_MAX_LEDGER_BATCHES).collect()
    return [(row["n"], row["files"], row["bytes"] or 0) for row in found]


def _statistics(batches: Sequence[Batch]) -> tuple[str, ...]:
    return tuple(add.stats for batch in batches for add in batch.adds)


def count_within(amounts: Sequence[int], limit: int) -> int:
    """Return how many of the first amounts have a sum of at most `limit`, but at least 1 if there is an amount."""
    sums = accumulate(amounts)
    return sum(1 for place, amount in enumerate(sums) if place == 0 or amount <= limit)


def _batches(table_key: str, batches: Batches, numbers: Sequence[int]) -> tuple[Batch, ...]:
    found = list(parallel(batches.read, numbers))
    missing = [n for n, batch in zip(numbers, found, strict=True) if batch is None]
    if missing:
        raise DataError(
            f"batch {missing[0]} of {table_key} is gone from {batches.uri(missing[0])}; "
            "batches must never be deleted: restore the object"
        )
    return tuple(batch for batch in found if batch)


def _join_ledger(
    delta: Delta,
    work: PendingMerge,
    birth: Birth,
    views: ExitStack,
    after: int,
    why: str | None = None,
    counted_after: int | None = None,
    upto: int | None = None,
) -> Changes:
    """Create the view from one scan of bronze and the ledger's batch of each file, for any number of batches.

    Args:
        birth: the birth of the bronze table.
        views: drops the view.
        after: rows of the batches after this one are merged.
        why: why the whole table is merged, if it is.
        counted_after: batches after this one are counted. None: the merged ones.
        upto: the last of the batches. All of them are merged if files are missing. None: the last in the ledger.
    """
    n, counted = work.n if upto is None else upto, after if counted_after is None else counted_after
    if birth.registered:
        rows, missing = _registered_rows(delta, work, birth, views, after, n)
        if missing and work.since is not None:
            raise BadValue(
                f"silver.{work.table.spec.name}: {missing}, so it is not known which rows came in batch {work.since} "
                "or later: rebuild the whole table, without a first batch"
            )
        if missing:
            n, why, after = work.n, why or missing, 0
    else:
        # A rebuild of chosen keys reads one version, as it reads bronze twice.
        rows = _loaded_rows(delta, birth, after, n, None if work.since is None else work.bronze.version)
    # Rows of a registered table may be in silver although their file has left bronze.
    is_reread = why == _REPLACED or (why == _DUMPS and not birth.registered)
    view = _view(delta, views, rows)
    batches, brought = _volume(delta, work.ledger, counted, n)
    read = brought if counted == after else _volume(delta, work.ledger, after, n)[1]
    return Changes(view, n, why, batches, brought, int(read["rows"]), is_reread=is_reread)


def _registered_rows(
    delta: Delta, work: PendingMerge, birth: Birth, views: ExitStack, after: int, upto: int
) -> tuple[DataFrame, str | None]:
    """Return rows of a registered table, and why they are the whole table, or None if they are not."""
    # The rows read this view when theirs is made.
    name = views.enter_context(temporary_view(delta.session, "live"))
    version = delta.live_view(birth.location, name)
    live = delta.session.table(name)
    gone = _count_gone_files(delta, work, live, after)
    if gone:
        return _all_rows(delta, birth), _describe_missing(gone)
    files = work.ledger.state_changes(delta, after).where(ENTERED)
    # A later batch may have added a key again that was removed.
    numbers = files.select(_places(work.table.key), "n").groupBy("_tidegate_key").agg(F.max("n").alias("_tidegate_n"))
    numbers = numbers.where(F.col("_tidegate_n") <= upto)
    paths = numbers.join(live, "_tidegate_key").select("_tidegate_path", "_tidegate_n")
    if work.bronze.files <= _MAX_BROADCAST_FILES:
        paths = F.broadcast(paths)
    # The version whose files were compared with the ledger. A later version may have files of other writers.
    return _scan(delta, birth, version).join(paths, "_tidegate_path"), None


def _view(delta: Delta, views: ExitStack, rows: DataFrame | None = None) -> str:
    return views.enter_context(temporary_view(delta.session, "changes", rows))


def _loaded_rows(delta: Delta, birth: Birth, after: int, upto: int, version: int | None = None) -> DataFrame:
    number = F.col("_batch")
    return (
        _table(delta, birth, version)
        .where((number > after) & (number <= upto))
        .selectExpr("*", "_batch AS _tidegate_n", "_source_path AS _tidegate_path", _STAGED_ROW)
    )


def _scan(delta: Delta, birth: Birth, version: int | None = None) -> DataFrame:
    return _table(delta, birth, version).selectExpr("*", _FILE, _ROW)


def _table(delta: Delta, birth: Birth, version: int | None) -> DataFrame:
    """Return the bronze table at a version. None: the latest."""
    table = delta.session.read.format("delta")
    if version is not None:
        table = table.option("versionAsOf", version)
    return table.load(birth.location)


def _all_rows(delta: Delta, birth: Birth) -> DataFrame:
    return _scan(delta, birth).withColumn("_tidegate_n", F.lit(0).cast("bigint"))


def _describe_missing(files: int) -> str | None:
    return f"{files} files of its batches are no longer in bronze (rewritten, or removed since)" if files else None


def _count_gone_files(delta: Delta, work: PendingMerge, live: DataFrame, after: int) -> int:
    """Return how many files of the batches are not live although they are committed in the ledger."""
    last = F.max_by(F.struct("kind", "status", "cause", "etag", "n"), F.struct("n", "position")).alias("last")
    decided = work.ledger.state_changes(delta, 0).groupBy("key").agg(last).select("key", "last.*")
    wanted = decided.where(ENTERED).where(F.col("n") > after)
    here = wanted.select("key", _places(work.table.key)).join(live, "_tidegate_key")
    return wanted.join(here, "key", "left_anti").count()


def _has_removed_files(delta: Delta, work: PendingMerge) -> bool:
    left = F.col("status").isin(str(Status.REMOVED), str(Status.QUARANTINED))
    return not work.ledger.state_changes(delta, max(work.mark or 0, work.settled)).where(left).isEmpty()


def _places(key: TableKey) -> Column:
    """Return a row for each key that the file of a ledger row may have: the object itself, and its copy."""
    itself = F.substring("key", len(key.prefix) + 1, 1024)
    copy = F.concat(F.lit(f"{COPIES}/"), itself, F.lit("/"), F.col("etag"), F.lit(".parquet"))
    return F.explode(F.array(itself, copy)).alias("_tidegate_key")


def _volume(delta: Delta, ledger: RecordedLedger, after: int, upto: int) -> tuple[int, dict[str, int | float]]:
    """Return the number of committed batches after `after` up to `upto`, and what they brought, as metadata."""
    committed = F.expr(ENTERED)
    landed = (F.col("kind") == "header") & (F.col("outcome") == "committed")
    (sums,) = (
        ledger.rows(delta, after, upto)
        .agg(
            F.count_if(landed).alias("batches"),
            F.count_if(committed).alias("files"),
            F.sum(F.when(committed, F.col("rows"))).alias("rows"),
            F.sum(F.when(committed, F.col("size"))).alias("bytes"),
            F.min(F.when(committed, F.col("event_time"))).cast("double").alias("oldest"),
        )
        .collect()
    )
    oldest = None if sums["oldest"] is None else datetime.fromtimestamp(sums["oldest"], UTC)
    return sums["batches"], volume_metadata(sums["files"], sums["rows"] or 0, sums["bytes"] or 0, oldest)
