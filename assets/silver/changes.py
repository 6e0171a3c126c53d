"""What a merge takes from bronze: the rows of the batches since the mark, or of the whole table."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import accumulate

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from tidegate.assets.presentation.volume import as_volume, volume
from tidegate.assets.silver.pending import Pending
from tidegate.platform.core.bronze.batch import Batch
from tidegate.platform.core.bronze.birth import Birth
from tidegate.platform.core.bronze.ledger import Status
from tidegate.platform.core.keys.own_paths import COPIES
from tidegate.resources.lake import Table
from tidegate.resources.ledger import tells_a_state
from tidegate.resources.spark.delta import Delta
from tidegate.resources.threads import parallel

#: What one merge takes at most of what waits, and one batch at least; the next merge goes on behind it. Batch objects
#: are read whole, and their files are named in a statement: Spark Connect refuses 128 MiB, and a character of a path
#: takes up to six there. Rows are bounded so that what is merged is not lost with one failure.
_MOST_BYTES = 16 << 20
_MOST_ROWS = 50_000_000
_MOST_BATCHES = 1000
#: Of more batches than these a first merge reads no objects, nor of a table of more files: the ledger tells in a query.
_MOST_FIRST_BATCHES = 100
_MOST_FIRST_FILES = 1000
#: Files whose batches are sent to every task, rather than that the rows are sorted by file.
_MOST_SENT = 200_000
#: Orders the rows of one file: Delta offers no row index, but within one split these ids grow in the rows' order.
_ROW = "struct(_metadata.file_block_start, monotonically_increasing_id()) AS _tidegate_row"
_FILE = "_metadata.file_path AS _tidegate_path"


@dataclass(frozen=True)
class Changes:
    """A temporary view over rows of bronze, with ``_tidegate_*`` columns for their order.

    Attributes:
        view: its name.
        n: the last batch whose rows it holds: silver's mark, once they are merged.
        why_full: why it is the whole bronze table instead of the batches since the mark; None if it is not.
        batches: how many batches it holds.
        volume: what those brought, as metadata.
        replaced: rows of a loaded table left it, since a redrive or a rebuild read their file again.
    """

    view: str
    n: int
    why_full: str | None
    batches: int
    volume: dict[str, int | float]
    replaced: bool = False


def gather(delta: Delta, work: Pending) -> Changes:
    """Make a view of what there is to merge: all that waits, or the first part of it where that is much.

    Raises:
        RuntimeError: a batch is gone that must never be deleted.
    """
    view = f"changes_{uuid.uuid4().hex}"
    birth = work.table.birth
    if birth is None:
        raise AssertionError("a table with batches has been born")
    mark = work.mark or 0
    first = _FIRST if work.mark is None else None
    if first and (work.n > _MOST_FIRST_BATCHES or work.bronze.files > _MOST_FIRST_FILES):
        return _by_ledger(delta, work, birth, view, 0, first)
    n, batches = _step(work, mark)
    if first and n < work.n:
        return _by_ledger(delta, work, birth, view, 0, first)
    removed = first is None and any(batch.removes for batch in batches)
    if not birth.registered:
        if removed:
            return _by_ledger(delta, work, birth, view, 0, _REPLACED, told=mark)
        _loaded(delta, birth, mark, n).createOrReplaceTempView(view)
        return Changes(view, n, first, len(batches), volume(batches))
    if removed and work.spec.on_removed == "full":
        return _by_ledger(delta, work, birth, view, 0, _REMOVED)
    paths = {batch.n: [add.path for add in batch.adds] for batch in batches if batch.adds}
    missing = delta.batch_view(birth.location, paths, view)
    explained = {remove.path for batch in batches for remove in batch.removes}
    why = _missing(len([path for path in missing if path not in explained]))
    if why and n < work.n:
        # Perhaps a batch behind these says why, which the ledger knows.
        if work.spec.on_removed == "full" and _removed(delta, work):
            return _by_ledger(delta, work, birth, view, 0, _REMOVED)
        return _by_ledger(delta, work, birth, view, mark)
    if why:
        _whole(delta, birth).createOrReplaceTempView(view)
    return Changes(view, n, first or why, len(batches), volume(batches))


_FIRST = "silver holds nothing of this bronze table as it is now"
_REPLACED = "files were read again, and their rows in bronze replaced"
_REMOVED = "files were removed from bronze, and on_removed is full"


def _step(work: Pending, mark: int) -> tuple[int, tuple[Batch, ...]]:
    """The batches that this merge takes of those that wait, without void ones, and the number of the last one."""
    sizes = work.table.batches.sizes(mark)
    numbers = [n for n in range(mark + 1, work.n + 1) if sizes.get(n, 0) is not None]
    taken = within([sizes.get(n) or 0 for n in numbers[:_MOST_BATCHES]], _MOST_BYTES)
    batches = _batches(work.table, numbers[:taken])
    taken = within([sum(row.rows or 0 for row in batch.rows) for batch in batches], _MOST_ROWS)
    return (work.n if taken == len(numbers) else numbers[taken - 1]), batches[:taken]


def within(amounts: Sequence[int], most: int) -> int:
    """How many of these together are no more than ``most``, from the first one on; one at least, if there is one."""
    sums = accumulate(amounts)
    return sum(1 for place, amount in enumerate(sums) if place == 0 or amount <= most)


def _batches(table: Table, numbers: Sequence[int]) -> tuple[Batch, ...]:
    found = list(parallel(table.batches.read, numbers))
    missing = [n for n, batch in zip(numbers, found, strict=True) if batch is None]
    if missing:
        raise RuntimeError(
            f"batch {missing[0]} of {table.text} is gone from {table.batches.uri(missing[0])}; "
            "batches must never be deleted: restore the object"
        )
    return tuple(batch for batch in found if batch)


def _by_ledger(
    delta: Delta, work: Pending, birth: Birth, view: str, after: int, why: str | None = None, told: int | None = None
) -> Changes:
    """The rows of all batches that wait, however many: one scan of bronze, whose files find their batch in the ledger.

    Args:
        delta: the door to tables.
        work: the merge.
        birth: bronze's.
        view: name of the view.
        after: the batches behind this one are merged.
        why: why it is the whole table.
        told: the batches behind this one are counted; None for those that are merged.
    """
    if birth.registered:
        missing = _registered(delta, work, birth, view, after)
        why = why or missing
    else:
        _loaded(delta, birth, after, work.n).createOrReplaceTempView(view)
    counted, brought = _told(delta, work, after if told is None else told)
    return Changes(view, work.n, why, counted, brought, replaced=why == _REPLACED)


def _registered(delta: Delta, work: Pending, birth: Birth, view: str, after: int) -> str | None:
    """Make the view of a registered table; why it is all of it, if it is."""
    version = delta.live_view(birth.location, f"live_{view}")
    live = delta.session.table(f"live_{view}")
    gone = _gone(delta, work, live, after)
    if gone:
        rows = _whole(delta, birth)
    else:
        files = _decided(delta, work, after).where(F.col("status") == str(Status.COMMITTED))
        # A key that was removed may be there once more, by a later batch.
        numbers = files.select(_places(work), "n").groupBy("_tidegate_key").agg(F.max("n").alias("_tidegate_n"))
        paths = numbers.join(live, "_tidegate_key").select("_tidegate_path", "_tidegate_n")
        if work.bronze.files <= _MOST_SENT:
            paths = F.broadcast(paths)
        # Of the version whose files are all known: those of a later one might be somebody else's.
        rows = _scan(delta, birth, version).join(paths, "_tidegate_path")
    rows.createOrReplaceTempView(view)
    delta.session.catalog.dropTempView(f"live_{view}")
    return _missing(gone)


def _loaded(delta: Delta, birth: Birth, after: int, upto: int) -> DataFrame:
    number = F.col("_batch")
    return (
        delta.session.read.format("delta")
        .load(birth.location)
        .where((number > after) & (number <= upto))
        .selectExpr("*", "_batch AS _tidegate_n", "_source_path AS _tidegate_path", _ROW)
    )


def _scan(delta: Delta, birth: Birth, version: int | None = None) -> DataFrame:
    table = delta.session.read.format("delta")
    if version is not None:
        table = table.option("versionAsOf", version)
    return table.load(birth.location).selectExpr("*", _FILE, _ROW)


def _whole(delta: Delta, birth: Birth) -> DataFrame:
    return _scan(delta, birth).withColumn("_tidegate_n", F.lit(0).cast("bigint"))


def _missing(files: int) -> str | None:
    return f"{files} files of its batches are no longer in bronze (rewritten, or removed since)" if files else None


def _gone(delta: Delta, work: Pending, live: DataFrame, after: int) -> int:
    """How many files of the batches are not live, though the ledger says so."""
    last = F.max_by(F.struct("status", "etag", "n"), F.struct("n", "position")).alias("last")
    decided = _decided(delta, work, 0).groupBy("key").agg(last).select("key", "last.*")
    wanted = decided.where((F.col("status") == str(Status.COMMITTED)) & (F.col("n") > after))
    here = wanted.select("key", _places(work)).join(live, "_tidegate_key")
    return wanted.join(here, "key", "left_anti").count()


def _removed(delta: Delta, work: Pending) -> bool:
    left = F.col("status").isin(str(Status.REMOVED), str(Status.QUARANTINED))
    return not _decided(delta, work, work.mark or 0).where(left).isEmpty()


def _decided(delta: Delta, work: Pending, after: int) -> DataFrame:
    """The ledger's decisions that change a key's state, of the batches after ``after``."""
    return _ledger(delta, work, after).where(tells_a_state())


def _ledger(delta: Delta, work: Pending, after: int) -> DataFrame:
    found = delta.session.read.format("delta").option("versionAsOf", work.recorded).load(work.table.ledger.location)
    return found.where((F.col("n") > after) & (F.col("n") <= work.n))


def _places(work: Pending) -> Column:
    """A row for each place where the file of a decision may be: the object itself, and its copy."""
    itself = F.substring("key", len(work.table.key.prefix) + 1, 1024)
    copy = F.concat(F.lit(f"{COPIES}/"), itself, F.lit("/"), F.col("etag"), F.lit(".parquet"))
    return F.explode(F.array(itself, copy)).alias("_tidegate_key")


def _told(delta: Delta, work: Pending, after: int) -> tuple[int, dict[str, int | float]]:
    committed = (F.col("kind") == "row") & (F.col("status") == str(Status.COMMITTED))
    landed = (F.col("kind") == "header") & (F.col("outcome") == "committed")
    (told,) = (
        _ledger(delta, work, after)
        .agg(
            F.count_if(landed).alias("batches"),
            F.count_if(committed).alias("files"),
            F.sum(F.when(committed, F.col("rows"))).alias("rows"),
            F.sum(F.when(committed, F.col("size"))).alias("bytes"),
            F.min(F.when(committed, F.col("event_time"))).cast("double").alias("oldest"),
        )
        .collect()
    )
    oldest = None if told["oldest"] is None else datetime.fromtimestamp(told["oldest"], UTC)
    return told["batches"], as_volume(told["files"], told["rows"] or 0, told["bytes"] or 0, oldest)
