"""Adoption: a Delta table that others made below a table's prefix becomes its registered table.

One batch takes the table over: batch 1 of a new generation, without files. Its ledger rows are of all objects that the
log or the prefix has. They can be a million, so they are not in the batch object, but in a folder that it names.

    list    the prefix, into Parquet below `staging/`          this changes nothing
    seed    the ledger rows, next to the ledger                no batch names them yet
    retire  no run of the generation before decides a batch
    decide  batch 1, and whether objects enter that the log does not name
    birth   from here on, any run continues with batch 1: commit, record

What died before `decide` begins again. Afterwards the repetition continues with the batch that was decided, if the
table still has the version that it takes over.
"""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

import pyarrow as pa
from pyarrow.parquet import write_table
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from ulid import ULID

from tidegate.platform.bronze.decide import table_properties
from tidegate.platform.bronze.options import RunOptions
from tidegate.platform.bronze.reconcile.listing import LISTED_AT_ONCE, is_source
from tidegate.platform.bronze.record import finish
from tidegate.platform.bronze.removal_guard import require_bucket
from tidegate.platform.bronze.run import land
from tidegate.platform.catalog import sync_table
from tidegate.platform.core.bronze.adoption import adoption_refusals, kept_lines
from tidegate.platform.core.bronze.batch import Adopt, Batch
from tidegate.platform.core.bronze.birth import Birth
from tidegate.platform.core.bronze.ledger import Cause, Status
from tidegate.platform.core.errors import DataError
from tidegate.platform.core.keys.file_format import FORMATS, format_of
from tidegate.platform.core.keys.log_paths import OWN_FOLDER
from tidegate.platform.core.keys.s3_address import S3Address
from tidegate.platform.core.schema.sql_literal import delta_table
from tidegate.platform.core.seams import seam
from tidegate.platform.core.table_properties import require_known_properties
from tidegate.platform.core.wording import first_texts
from tidegate.platform.lake.lake import Lake, Table
from tidegate.platform.lake.spark.results import SERVED_FEATURES, LoggedFiles, TableState
from tidegate.platform.lake.spark.temporary_view import temporary_view

#: The seams of an adoption, in order. Each is right after the step of its name. Those of a run follow.
SEAMS = ("adopt-list", "adopt-seed", "adopt-retire", "adopt-decide", "adopt-birth")

#: A commit that is younger may be of a writer that continues.
_RECENT_SECONDS = 15 * 60
_LIVE, _ELSEWHERE, _MISSING, _CHANGED, _LEFT, _GONE, _AGAIN, _OTHER = (
    "live", "elsewhere", "missing", "changed", "left", "gone", "again", "other"
)  # fmt: skip
_OUTSIDE = (
    "not in the log of the table when it was adopted: it may be of a commit that failed, or have left so long ago that "
    "the log forgot it, and its rows be in the table already. If they are not, `tidegate redrive --key` registers it"
)
_BACK = (
    "put after its rows had left the table, or with another size, before the table was adopted. If its rows are not in "
    "the table, `tidegate redrive --key` registers it"
)
#: Columns of the listing: `fits` of an object that a registered table can have.
_LISTING: dict[str, pa.DataType] = {
    "key": pa.string(),
    "etag": pa.string(),
    "bytes": pa.int64(),
    "modified": pa.float64(),
    "is_source": pa.bool_(),
    "fits": pa.bool_(),
}


@dataclass(frozen=True)
class Share:
    """Some of the objects that a prefix or a log has.

    Attributes:
        objects: their number.
        size: bytes.
        rows: that readers of the table see, by statistics of the log.
        uncounted: number of live files among them without statistics, whose rows are not known.
        fitting: number of objects among them that a registered table can have.
        examples: their first and last key.
    """

    objects: int = 0
    size: int = 0
    rows: int = 0
    fitting: int = 0
    examples: tuple[str, ...] = ()
    uncounted: int = 0


@dataclass(frozen=True)
class AdoptionPlan:
    """The plan of an adoption.

    Attributes:
        table: as it is now.
        location: `s3a://` URI.
        state: of the Delta table.
        adopted: whether the lake owns the table already.
        unfinished: whether the ledger of such a table has no record of that yet.
        refusals: why it cannot be adopted, a sentence with the remedy for each reason.
        kept: what stays as it is, a line each.
        shares: the objects, by what becomes of them.
        recent_commits: number of commits of the last 15 minutes.
        whole_log: whether the log has every commit, so that no file left it without a trace.
        entered: whether objects that the log does not name enter, as the batch says; None if it is not decided.
    """

    table: Table
    location: str
    state: TableState
    adopted: bool = False
    unfinished: bool = False
    refusals: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    shares: dict[str, Share] = field(default_factory=dict)
    recent_commits: int = 0
    whole_log: bool = True
    entered: bool | None = None

    def share(self, kind: str) -> Share:
        """Return the objects of a kind."""
        return self.shares.get(kind, Share())

    def all_refusals(self, *, enter: bool) -> tuple[str, ...]:
        """Return why the table cannot be adopted, if objects that its log does not name are to enter."""
        if not enter or self.whole_log or not self.others.objects:
            return self.refusals
        return (
            *self.refusals,
            f"--enter: the log has lost its first commits, so some of {self.others.objects} objects that it does not "
            "name may have left the table, and their rows would come back. Leave it out, then redrive those that are "
            "new by --key",
        )

    @property
    def live(self) -> Share:
        """Live files of the table, as S3 has them."""
        return self.share(_LIVE)

    @property
    def left(self) -> Share:
        """Objects whose rows left the table, and that no VACUUM has deleted yet."""
        return self.share(_LEFT)

    @property
    def gone(self) -> Share:
        """Files of which only the log has a tombstone."""
        return self.share(_GONE)

    @property
    def again(self) -> Share:
        """Objects that are younger than their tombstones, and have as many bytes. A person decides on each."""
        return self.share(_AGAIN)

    @property
    def others(self) -> Share:
        """Objects that the log does not name, or with another size than the file that left under their key."""
        return self.share(_OTHER)


def plan_adoption(lake: Lake, table_key: str, log: Callable[[str], None] = lambda _: None) -> AdoptionPlan:
    """Plan the adoption of a table. The table and the lake's records are not changed.

    Args:
        log: called with each line of progress.

    Raises:
        DataError: there is no such Delta table, or `lake.yaml` does not register its files.
        NewerVersionError: a newer version has written to it.
        StoreError: S3 did not answer.
    """
    plan = _open_plan(lake, table_key)
    if plan.adopted:
        return plan
    with _comparison(plan, log) as (plan, _):
        return plan


def adopt_table(
    lake: Lake, table_key: str, *, by: str, enter: bool = False, log: Callable[[str], None] = lambda _: None
) -> AdoptionPlan:
    """Adopt a table. A repetition after a death finishes it; afterwards it does nothing.

    Args:
        by: the user that requests it.
        enter: put objects that the log does not name into the inbox. Otherwise they are quarantined.
        log: called with each line of progress.

    Raises:
        DataError: see `plan_adoption`. Also, if the table cannot be adopted, or changed since it was looked at.
        PySparkException: another commit came in between.
    """
    plan = _open_plan(lake, table_key)
    if not plan.adopted:
        with _comparison(plan, log) as (plan, objects):
            if refused := plan.all_refusals(enter=enter):
                raise DataError(f"{plan.location} cannot be adopted: {'; '.join(refused)}")
            plan = replace(plan, entered=_decide(plan, objects, by, log, enter=enter))
    elif plan.unfinished:
        _renew_birth(plan)
    table = lake.table(table_key)
    if batch := table.batches.read(table.ledger.clock().n + 1):
        land(table, batch, RunOptions(f"adopt by {by}"), log, found=True, begun=time.monotonic())
        sync_table(lake, table_key, log)
    elif (first := table.batches.read(1)) and first.adopt:
        # It may have died after it was recorded, and has no manifests that show it.
        finish(table, first, log, void=False)
    return replace(plan, unfinished=False)


def _open_plan(lake: Lake, table_key: str) -> AdoptionPlan:
    table = lake.table(table_key)
    location = S3Address(table.key.bucket, table.key.prefix).s3a.rstrip("/")
    if table.birth and not table.birth.registered:
        raise DataError(
            f"{table_key} was born as a table whose files are not below {table.key.uri}, and `tidegate reset` does not "
            "change that while another table is there. Move that Delta table as a whole (aws s3 mv --recursive: its "
            "log has relative paths) to a prefix that no table of this lake has, and adopt it there"
        )
    if table.spec.registers is False or table.spec.output_mode:
        raise DataError(
            f"{table.key.uri} is not registered by lake.yaml: only a table with `mode: register`, whose files are "
            "below its prefix, is adopted. Set that, or give the Delta table another prefix"
        )
    state = lake.delta.table_state(location)
    if not state.exists:
        raise DataError(f"there is no Delta table at {location}, so there is nothing to adopt")
    require_known_properties(state.properties, location)
    owner = state.properties.get("tidegate.lake")
    if owner == lake.id:
        generation = state.properties.get("tidegate.generation")
        if table.birth is None or generation != table.birth.generation:
            if _find_adoption(table, generation) is None:
                raise DataError(f"{location} is of another generation of this lake: finish its `tidegate reset`")
            return AdoptionPlan(table, location, state, adopted=True, unfinished=True)
        first = table.batches.first_batch()
        unfinished = first is not None and first.adopt is not None and table.ledger.clock().n < 1
        return AdoptionPlan(table, location, state, adopted=True, unfinished=unfinished)
    if owner is not None or "tidegate.generation" in state.properties:
        raise DataError(
            f"{location} belongs to lake {owner or 'unknown'}, this is lake {lake.id}: take the prefix out of that "
            f"lake, and ALTER TABLE {delta_table(location)} UNSET TBLPROPERTIES IF EXISTS ('tidegate.lake', "
            "'tidegate.generation')"
        )
    clock = table.ledger.clock()
    # Batches that only refused files have made no table.
    if (last := table.ledger.header(clock.version, clock.n)) and last.bronze_version >= 0:
        raise DataError(
            f"{table_key} has batches already, and {location} is another table that no lake owns: it was dropped and "
            "made again. Move that table away"
        )
    return AdoptionPlan(table, location, state)


@contextmanager
def _comparison(plan: AdoptionPlan, log: Callable[[str], None]) -> Iterator[tuple[AdoptionPlan, DataFrame]]:
    """Yield the plan with the objects, and a query of them, each with its kind."""
    table, delta, store = plan.table, plan.table.delta, plan.table.lake.store
    folder = store.uri("staging", table.table_key, f"adopt-{ULID()}")
    try:
        _list(table, f"{folder}/listing", log)
        seam("adopt-list")
        with temporary_view(delta.session, "logged") as view:
            files = delta.logged_view(plan.location, view)
            if files.version != plan.state.version:
                raise _busy_error(plan.location)
            listing, compared = delta.session.read.parquet(f"{folder}/listing"), f"{folder}/compared"
            # They are read several times.
            _objects(delta.session.table(view), listing, table.key.prefix).write.parquet(compared)
            objects = delta.session.read.parquet(compared)
            log("the listing is compared with the log")
            yield _with_objects(plan, files, objects), objects
    finally:
        store.remove_folder(folder)


def _list(table: Table, folder: str, log: Callable[[str], None]) -> None:
    """Write the objects below the prefix as Parquet, a part at a time."""
    require_bucket(table.key, table.table_key, table.source)
    bucket, start = S3Address.parse_s3a(folder)
    own = tuple(f"{table.key.prefix}{name}/" for name in ("_delta_log", OWN_FOLDER))
    rows: list[tuple[str, str, int, float, bool, bool]] = []
    listed = parts = 0

    def write() -> None:
        nonlocal parts
        columns = [pa.array([row[place] for row in rows], kind) for place, kind in enumerate(_LISTING.values())]
        buffer = io.BytesIO()
        write_table(pa.Table.from_arrays(columns, names=list(_LISTING)), buffer)
        table.lake.store.objects.put(bucket, f"{start}/{parts:06d}.parquet", buffer.getvalue())
        parts += 1
        rows.clear()
        log(f"listing {table.key.uri}: {listed} objects")

    for item in table.source.list_under(table.key.prefix):
        if item.key.startswith(own):
            continue
        kind = table.spec.format or format_of(item.key)
        fits = bool(item.size) and kind is not None and "register" in FORMATS[kind].modes
        source = is_source(table.key, table.lake.config, item.key)
        rows.append((item.key, item.etag, item.size, item.modified, source, fits))
        listed += 1
        if len(rows) == LISTED_AT_ONCE:
            write()
    if rows or not parts:
        write()


def _objects(logged: DataFrame, listing: DataFrame, prefix: str) -> DataFrame:
    """Return a row for each object that the log or the prefix has, with what the log says and what S3 has."""
    is_live, removed_at = F.col("_tidegate_live"), F.col("_tidegate_removed_at")
    # A key with another deletion vector before has an entry and a tombstone.
    folder = F.when(F.col("_tidegate_outside"), "").otherwise(prefix)
    files = logged.groupBy(F.concat(folder, "_tidegate_key").alias("key")).agg(
        F.count_if(is_live).alias("entries"),
        F.max(F.when(is_live, F.col("_tidegate_size"))).alias("logged_bytes"),
        F.sum(F.when(is_live, F.col("_tidegate_rows"))).alias("rows"),
        F.max("_tidegate_outside").alias("outside"),
        F.max(removed_at).alias("removed_at"),
        F.max_by("_tidegate_size", removed_at).alias("removed_bytes"),
    )
    entries, stored = F.col("entries"), F.col("bytes")
    # S3 has whole seconds: an object of the tombstone's second may have been put again. In doubt a person decides,
    # because the rows of an object that is wrongly said to have left are lost without a word.
    is_older = (F.floor("modified") + 1) * 1000 <= F.col("removed_at")
    is_same = (entries == 0) & F.coalesce(F.col("removed_bytes") == stored, F.lit(True))
    kind: Column = (
        F.when((entries > 0) & (F.col("outside") | F.col("key").startswith(f"{prefix}{OWN_FOLDER}/")), _ELSEWHERE)
        .when((entries > 0) & stored.isNull(), _MISSING)
        .when((entries > 1) | ((entries == 1) & (stored != F.col("logged_bytes"))), _CHANGED)
        .when(entries == 1, _LIVE)
        .when((entries == 0) & stored.isNull(), _GONE)
        .when(is_same & is_older, _LEFT)
        # A copy of a whole table makes all of them younger than its log.
        .when(is_same, _AGAIN)
        .when(F.col("is_source"), _OTHER)
    )
    return files.join(listing, "key", "full_outer").withColumn("kind", kind).where(F.col("kind").isNotNull())


def _with_objects(plan: AdoptionPlan, files: LoggedFiles, objects: DataFrame) -> AdoptionPlan:
    counted = objects.groupBy("kind").agg(
        F.count("*").alias("objects"),
        F.sum(F.coalesce("bytes", "logged_bytes")).alias("size"),
        F.sum("rows").alias("rows"),
        F.count_if("fits").alias("fitting"),
        F.array_distinct(F.array(F.min("key"), F.max("key"))).alias("examples"),
        F.count_if((F.col("kind") == _LIVE) & F.col("rows").isNull()).alias("uncounted"),
    )
    shares = {
        row["kind"]: Share(
            row["objects"],
            row["size"] or 0,
            row["rows"] or 0,
            row["fitting"],
            tuple(row["examples"]),
            row["uncounted"],
        )
        for row in counted.collect()
    }
    state, name = plan.state, delta_table(plan.location)
    # Files of elsewhere refuse below, with the way of a table that a lake does not have yet.
    refusals = [state.refusal] if state.refusal and _ELSEWHERE not in shares else []
    refusals += adoption_refusals(name, state.features, SERVED_FEATURES, state.properties, files.schema)
    for kind, text in (
        (
            _ELSEWHERE,
            "files of the table are not its own: they are outside of its folder, as those of a shallow clone, or in "
            f"{OWN_FOLDER}/, as copies that another lake made. Write the table again (CREATE TABLE … AS SELECT), and "
            "adopt that table",
        ),
        (_MISSING, "files of the table are not in S3: readers fail. Restore them first"),
        (_CHANGED, "files of the table have another size in S3 than in the log, or two entries: they were overwritten"),
    ):
        if found := shares.get(kind):
            some = ", ".join(first_texts(found.examples, len(found.examples), found.objects))
            refusals.append(f"{found.objects} {text} ({some})")
    since = (time.time() - _RECENT_SECONDS) * 1000
    return AdoptionPlan(
        plan.table,
        plan.location,
        state,
        refusals=tuple(refusals),
        kept=tuple(kept_lines(state.features, state.properties)),
        shares=shares,
        recent_commits=sum(at > since for at in files.commit_times),
        whole_log=files.whole,
    )


def _decide(plan: AdoptionPlan, objects: DataFrame, by: str, log: Callable[[str], None], *, enter: bool) -> bool:
    """Decide the batch that takes the table over, and give the table the birth record of its generation.

    Returns whether objects that the log does not name enter: the batch of an earlier command may say something else.
    """
    table, store, version = plan.table, plan.table.lake.store, plan.state.version
    generation, folder, found = _current_generation(table, version)
    if found is None:
        seed = store.new_seed(table.table_key)
        count = _write_seed(objects, seed, enter=enter)
        seam("adopt-seed")
        log(f"{count} rows for the ledger are written")
        store.operations.put("adopt", by, table=table.table_key, version=version, rows=count, enter=enter)
        generation, folder, found = _begin_generation(plan, by)
        seam("adopt-retire")
    if found is None:
        properties = table_properties(table.spec, table.table_key, table.lake.id, generation, registered=True)
        batch = Batch(
            lake=table.lake.id,
            table=table.table_key,
            generation=generation,
            n=1,
            location=plan.location,
            after_version=version,
            manifests=(),
            adopt=Adopt(properties, seed, count, enter),
            run_id=f"adopt by {by}",
            decided_at=datetime.now(UTC).isoformat(),
        )
        found = store.batches(folder).decide(batch.seal())
        if not _takes_over(found, version):
            raise DataError(f"{table.key.uri}: another command decided batch 1 meanwhile: repeat this one")
        seam("adopt-decide")
    entered = found.adopt is not None and found.adopt.enter
    if entered is not enter:
        log(f"WARNING: an earlier command decided this {'with' if entered else 'without'} --enter, and that stays")
    _write_birth(plan, generation, folder, version)
    seam("adopt-birth")
    return entered


def _renew_birth(plan: AdoptionPlan) -> None:
    """Let the birth record name the generation that owns the table.

    An adoption that slept, while another one took over a later version, has written the record of its own.
    """
    generation = plan.state.properties["tidegate.generation"]
    if found := _find_adoption(plan.table, generation):
        folder, version = found
        _write_birth(plan, generation, folder, version)


def _find_adoption(table: Table, generation: str | None) -> tuple[str, int] | None:
    """Return the folder of a generation that an adoption began, and the version it took over; None if none did."""
    found = (
        (folder, batch.after_version)
        for name, folder, batch in _generations(table)
        if name == generation and batch and batch.adopt
    )
    return next(found, None)


def _write_birth(plan: AdoptionPlan, generation: str, folder: str, version: int) -> None:
    table = plan.table
    birth = Birth(generation, plan.location, table.spec.name, True, folder, version, adopted=True)
    table.lake.store.births.replace(table.table_key, birth)


def _takes_over(batch: Batch | None, version: int) -> bool:
    return batch is not None and batch.adopt is not None and batch.after_version == version


def _current_generation(table: Table, version: int) -> tuple[str, str, Batch | None]:
    """Return the generation that an adoption of this version began, its folder and its batch; None if none did."""
    for generation, folder, batch in _generations(table):
        if _takes_over(batch, version):
            return generation, folder, batch
    return "", "", None


def _generations(table: Table) -> Iterator[tuple[str, str, Batch | None]]:
    """Yield the generations of a table from its birth on, also those that no birth record names yet."""
    birth = table.birth
    generation = birth.generation if birth else ""
    folder = (birth.generation_folder if birth else "") or table.table_key
    while True:
        batches = table.lake.store.batches(folder)
        yield generation, folder, batches.first_batch()
        following = batches.retirement()
        if following is None:
            return
        generation = following.generation
        folder = f"{table.table_key}..{generation}"


def _begin_generation(plan: AdoptionPlan, by: str) -> tuple[str, str, Batch | None]:
    """Return a generation of which no run decides a batch but the adoption, its folder, and the batch if it has one."""
    table, version = plan.table, plan.state.version
    *_, (generation, folder, batch) = _generations(table)
    # Another adoption may have come so far meanwhile. What it has decided, and perhaps committed, must not end.
    if not _takes_over(batch, version) and not (".." in folder and batch is None):
        if table.delta.table_state(plan.location).version != version:
            raise _busy_error(plan.location)
        generation = table.lake.store.batches(folder).retire(0, by, "adopt").generation
        folder, batch = f"{table.table_key}..{generation}", None
    return generation, folder, batch


def _busy_error(location: str) -> DataError:
    return DataError(f"another writer commits to {location}: stop it first, then repeat this command")


def _write_seed(objects: DataFrame, seed: str, *, enter: bool) -> int:
    """Write the ledger rows of the objects, and a row without a status of each that enters. Returns their number."""
    kind = F.col("kind")
    status = (
        F.when(kind.isin(_LIVE, _LEFT), str(Status.PREEXISTING))
        .when(kind == _GONE, str(Status.REMOVED))
        .when((kind == _AGAIN) | ((kind == _OTHER) & F.lit(not enter)), str(Status.QUARANTINED))
    )
    reason = (
        F.when(kind == _LEFT, "its rows had left the table before it was adopted")
        .when(kind == _GONE, "its rows had left the table before it was adopted, and the object is gone")
        .when(kind.isin(_AGAIN, _OTHER) & (F.col("entries") == 0), _BACK)
        .when(kind == _OTHER, _OUTSIDE)
    )
    rows = objects.select(
        "key",
        status.alias("status"),
        reason.alias("reason"),
        F.when(kind == _LEFT, str(Cause.LEFT)).when(kind.isin(_AGAIN, _OTHER), str(Cause.UNLOGGED)).alias("cause"),
        "etag",
        F.col("bytes").alias("size"),
        F.when(kind == _LIVE, F.col("rows")).alias("rows"),
    ).where(F.col("status").isNotNull() | (kind == _OTHER))
    # One task numbers all rows, those of the ledger first. Without a partition Spark warns of that.
    order = Window.partitionBy(F.lit(0)).orderBy(F.col("status").isNull(), "key")
    place = (F.row_number().over(order) - 1).alias("position")
    rows.select("*", place).write.mode("error").parquet(seed)
    return rows.sparkSession.read.parquet(seed).count()
