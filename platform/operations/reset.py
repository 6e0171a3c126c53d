"""Reset: a table starts over as a new generation, after a wrong birth or a batch that can never commit.

Before a reset changes anything, a few files show whether a new table could be created.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from heapq import nsmallest

from ulid import ULID

from tidegate.platform.bronze.decide import table_properties
from tidegate.platform.bronze.look import probes
from tidegate.platform.bronze.prepare.prepare import prepare_as_born
from tidegate.platform.bronze.reconcile.listing import list_generation, list_prefix, own_objects, replace_known_etags
from tidegate.platform.core.bronze.birth import Birth
from tidegate.platform.core.bronze.hint import Hint
from tidegate.platform.core.bronze.ledger import Status
from tidegate.platform.core.bronze.plan import BatchDraft, PlannedHint, make_plan
from tidegate.platform.core.completion.signal_name import SignalName
from tidegate.platform.core.config.after_load import move_target, removes_source
from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.core.errors import DataError
from tidegate.platform.core.forgetting.subject_columns import forgotten_records
from tidegate.platform.core.keys.file_format import Mode, OutputMode, format_of, mode_of
from tidegate.platform.core.keys.s3_address import S3Address
from tidegate.platform.core.keys.table_key import TableKey
from tidegate.platform.core.schema.sql_literal import delta_table
from tidegate.platform.core.seams import seam
from tidegate.platform.lake.aws.s3 import Listed
from tidegate.platform.lake.lake import Lake, Table
from tidegate.platform.lake.lake_root.store import LakeStore
from tidegate.platform.lake.ledger import Reading
from tidegate.platform.lake.spark.delta import Delta

#: The seams of a reset, in order. Each is right after the step that it is named for.
SEAMS = ("retire", "empty", "renew", "birth", "list")

#: Generation recorded at a location that the table has left, because its new mode stores it elsewhere.
_LEFT = "retired"

#: Number of tried files, the smallest with content. If all of them fail, the first batch would mostly fail, too.
_MAX_TRIED_FILES = 10


@dataclass(frozen=True)
class ResetPlan:
    """The plan of a reset.

    Attributes:
        table: the table before the reset.
        birth: its birth record before the reset.
        n: last batch of its ledger before the reset.
        registered: whether the new table is registered, by `lake.yaml` or else by its first file.
        output: the mode of the new table if it is an output.
        location: `s3a://` URI of the new table.
        objects: number of objects under the prefix, which the next run decides again.
        committed: number of objects that are committed in the ledger.
        rows: number of their rows.
        lost: keys of committed objects whose bytes S3 no longer has. Their rows do not come back.
        lost_rows: number of these rows.
        live_files: number of live files of the table before the reset.
        to_try: some of the objects, for a trial of the new birth.
    """

    table: Table
    birth: Birth
    n: int
    registered: bool
    output: OutputMode | None
    location: str
    objects: int
    committed: int
    rows: int
    lost: tuple[str, ...]
    lost_rows: int
    live_files: int
    to_try: tuple[Listed, ...] = ()

    @property
    def mode(self) -> Mode:
        """The mode of the new table."""
        return replace(self.birth, registered=self.registered, output=self.output).mode

    @property
    def renamed(self) -> str | None:
        """What happens to the table's SQL names if `lake.yaml` renames it. None if it does not."""
        was, now = self.birth.name, self.table.spec.name
        if was == now:
            return None
        return (
            f"the table is bronze.{now} from now on, by lake.yaml; bronze.{was} and ledger.{was} remain names of the "
            "old table. Once no query needs these names: DROP TABLE, which deletes no file. To keep the name, set it "
            "in lake.yaml before the reset"
        )


def plan_reset(lake: Lake, table_key: str) -> ResetPlan:
    """Plan the reset of a table. Nothing is changed.

    Raises:
        DataError: there is nothing to reset, the table was adopted, or there is a table at the new location that is
            not the lake's.
    """
    table = lake.table(table_key)
    if table.birth is None:
        raise DataError(
            f"{table.key.uri} has no table yet, so there is nothing to reset: its next file creates the table"
        )
    if table.birth.adopted:
        raise DataError(
            f"{table.key.uri} was adopted, and is not reset: rows that a DELETE or a compaction took out of its files "
            "before would come back. To start over, give another table of lake.yaml an empty prefix, and write there "
            f"what {delta_table(table.birth.location)} shows"
        )
    clock = table.ledger.clock()
    committed = table.ledger.committed_readings(clock.version)
    present, lost = _find_lost(table, committed)
    registered = _registers(table.spec, table.birth, present)
    output = table.spec.output_mode
    location = (
        _prefix(table.key) if registered else _own_folder(table.table_key, table.lake.store, output=output is not None)
    )
    state = lake.delta.table_state(location)
    if state.exists and state.properties.get("tidegate.lake") != lake.id:
        adopt = "adopt it (tidegate adopt), " if table.birth.registered else ""
        raise DataError(
            f"{location} is a Delta table that this lake does not own: {adopt}move it away, or give the table another "
            "mode or prefix in lake.yaml"
        )
    return ResetPlan(
        table,
        table.birth,
        clock.n,
        registered,
        output,
        location,
        objects=len(present),
        committed=len(committed),
        rows=sum(reading.rows for reading in committed),
        lost=tuple(reading.key for reading in lost),
        lost_rows=sum(reading.rows for reading in lost),
        live_files=lake.delta.table_state(table.birth.location).files,
        to_try=to_try(item for item in present if not _is_signal(table.spec, item.key)),
    )


def reset_table(
    lake: Lake, table_key: str, *, by: str, accept_loss: bool = False, log: Callable[[str], None] = lambda _: None
) -> ResetPlan:
    """Start a table over: an empty table, an empty ledger, batch 1 next, and every file of its prefix in the inbox.

    First, the retirement is put at the place of the old generation's next batch. From then on, a run of the old
    generation can neither decide nor commit a batch. Repeating a reset that died completes it.

    Args:
        by: the user or run that requests it.
        accept_loss: reset the table even if rows will not come back, and without a trial of files.
        log: called with each line of progress.

    Raises:
        DataError: see `plan_reset`. Also, if rows would not come back, or are lost during the reset, or if all tried
            files would be refused.
    """
    plan = plan_reset(lake, table_key)
    if plan.lost and not accept_loss:
        raise DataError(_would_lose(plan.table.spec, plan.table.key, plan.lost, plan.lost_rows))
    if plan.renamed:
        log(f"WARNING: {plan.renamed}")
    if not _is_new(plan):
        as_wanted = replace(plan.birth, registered=plan.registered, output=plan.output, location=plan.location)
        if not accept_loss and (why := why_no_birth(plan.table, as_wanted, plan.to_try)):
            raise DataError(f"{why}. The table was not changed: fix that first, or accept the loss")
        _begin(lake.delta, lake.id, lake.store, plan, by, log)
    table = lake.table(table_key)
    clock = table.ledger.clock()
    listed = list_generation(table, clock, log)
    if listed is None:  # A reset that is repeated after its listing came to its end.
        listed = list_prefix(table, clock)
    seam("list")
    if lost := _readings_lost_since_plan(plan):
        way_back = _recovery_text(plan.table.spec, plan.table.key)
        # By the after-load of a run that was removing a group of files when its generation ended.
        log(
            f"WARNING: {len(lost)} objects with {sum(reading.rows for reading in lost)} rows were lost during the "
            f"reset, such as {lost[0].key}. {way_back}. Their rows can be read in "
            f"the versions of {plan.birth.location} before the reset"
        )
    log(f"{listed} objects are in the inbox; the next run reads them")
    return plan


def _find_lost(table: Table, committed: Sequence[Reading]) -> tuple[list[Listed], list[Reading]]:
    """Return the objects under the prefix in key order, and the readings whose bytes are no longer there."""
    # The rows of a registered table are in its files, which a reset does not touch.
    kept = [] if table.birth is not None and table.birth.registered else committed
    present = replace_known_etags(table.source, list(own_objects(table.source, table.key, table.lake.config)), kept)
    etags = {item.key: item.etag for item in present}
    return present, [reading for reading in kept if etags.get(reading.key) != reading.etag]


def _would_lose(spec: TableSpec, key: TableKey, keys: Sequence[str], rows: int) -> str:
    return (
        f"{rows} rows came from {len(keys)} objects, such as {keys[0]}, whose bytes S3 no longer has, and would not "
        f"come back. {_recovery_text(spec, key)}, or accept the loss"
    )


def _readings_lost_since_plan(plan: ResetPlan) -> list[Reading]:
    """Return readings that were lost since the plan: until the old generation ends, a run may remove files."""
    # Rows that a run has recorded since the plan count, too.
    committed = plan.table.ledger.committed_readings(plan.table.ledger.clock().version)
    known = set(plan.lost)
    return [reading for reading in _find_lost(plan.table, committed)[1] if reading.key not in known]


def _recovery_text(spec: TableSpec, key: TableKey) -> str:
    after_load, prefix = spec.after_load, key.uri
    if folder := move_target(after_load):
        return (
            f"after_load moved them to {folder}: set it to `keep`, move them back "
            f"(aws s3 mv --recursive {folder} {prefix}), and repeat the reset"
        )
    if removes_source(after_load):
        return "after_load deleted them: set it to `keep`, and restore them first"
    return "Restore them under new keys first"


def _begin(delta: Delta, lake_id: str, store: LakeStore, plan: ResetPlan, by: str, log: Callable[[str], None]) -> None:
    table, table_key = plan.table, plan.table.table_key
    store.operations.put(
        "reset", by, table=table_key, generation=plan.birth.generation, batches=plan.n, lost_rows=plan.lost_rows
    )
    retirement = table.batches.retire(plan.n, by)
    seam("retire")
    generation = retirement.generation
    log(f"generation {plan.birth.generation} is retired, {generation} follows")
    if lost := _readings_lost_since_plan(plan):
        loss = _would_lose(
            table.spec, table.key, [reading.key for reading in lost], sum(reading.rows for reading in lost)
        )
        raise DataError(
            f"{loss}. They were lost after the reset had been planned. The table still has its rows, but does not "
            "ingest files until the reset is repeated"
        )
    if plan.birth.output:
        # A run that sleeps in its copies finds nothing to copy any more.
        store.remove_folder(f"{plan.birth.location}/{plan.birth.generation}")
        log(f"objects of {plan.birth.name} that have -{plan.birth.generation}. in their name are of the old generation")
    # The list of forgotten persons outlives the table's rows.
    records = forgotten_records(delta.table_state(plan.birth.location).properties) if not plan.birth.output else {}
    for location in {_prefix(table.key), _own_folder(table.table_key, table.lake.store), plan.birth.location} - {
        plan.location
    }:
        if delta.table_state(location).properties.get("tidegate.lake") == lake_id:
            properties = table_properties(
                table.spec, table.table_key, table.lake.id, _LEFT, registered=location == _prefix(table.key)
            )
            delta.renew(location, {**properties, **records}, table.spec.name)
            log(f"{location} was emptied: the table is elsewhere from now on")
    seam("empty")
    version = -1
    if not plan.output:
        properties = table_properties(
            table.spec, table.table_key, table.lake.id, generation, registered=plan.registered
        )
        version = delta.renew(plan.location, {**properties, **records}, table.spec.name)
        log(f"{plan.location} is empty with version {version}")
    seam("renew")
    folder = f"{table_key}..{generation}"  # no table key has two dots in a row
    birth = Birth(generation, plan.location, table.spec.name, plan.registered, folder, version, plan.output)
    store.births.replace(table_key, birth)
    seam("birth")


def _is_new(plan: ResetPlan) -> bool:
    """Return whether a reset died after it wrote the birth record: the new generation is as planned and
    has no batch.
    """
    birth = (plan.birth.registered, plan.birth.output, plan.birth.location)
    as_wanted = birth == (plan.registered, plan.output, plan.location)
    return bool(plan.birth.generation_folder) and as_wanted and plan.n == 0 and not plan.table.batches.is_decided(1)


def _is_signal(spec: TableSpec, key: str) -> bool:
    completion = spec.completion
    return completion is not None and SignalName.parse(completion).matches(key)


def _registers(spec: TableSpec, birth: Birth, present: Sequence[Listed]) -> bool:
    configured = spec.registers
    if configured is not None:
        return configured
    formats = [format for item in present if (format := format_of(item.key))]
    return mode_of(formats[0]) == "register" if formats else birth.registered


def _prefix(key: TableKey) -> str:
    return S3Address(key.bucket, key.prefix).s3a.rstrip("/")


def _own_folder(table_key: str, store: LakeStore, *, output: bool = False) -> str:
    return store.uri("outputs" if output else "bronze", table_key)


def to_try(present: Iterable[Listed]) -> tuple[Listed, ...]:
    """Return the objects of a listing to try."""
    with_content = (item for item in present if item.size)
    return tuple(nsmallest(_MAX_TRIED_FILES, with_content, key=lambda item: (item.size, item.key)))


def why_no_birth(table: Table, birth: Birth, files: Sequence[Listed]) -> str | None:
    """Return why the table would refuse all of these files. None if it would accept one, or if there are no files.

    The files are prepared as for the first batch, but for a table at another location, and everything that is written
    is removed. Other failures, such as those of Spark, are raised, as in the table's first run.

    Args:
        table: the present table.
        birth: the birth record that the reset would write.
        files: the result of `to_try`.

    Raises:
        StoreError: S3 did not answer.
        PySparkException: Spark failed, and the cause is not a file.
    """
    sizes = {item.key: item.size for item in files}
    keys = list(sizes)
    if not keys or table.spec.row_queue:
        return None
    location = table.lake.store.uri("staging", table.table_key, str(ULID()))
    trial = replace(birth, location=location, generation_folder="", after_version=-1)
    taken = [PlannedHint(Hint(key), "trial") for key in keys]
    plan = make_plan(taken, probes(table.spec, table.source, keys, {}, sizes), {}, registered=birth.registered)
    work = BatchDraft(1, trial, None, (), plan, {})
    try:
        prepared = prepare_as_born(table, work)
    finally:
        table.lake.store.remove_folder(location)
    for folder in prepared.folders:
        table.lake.store.remove_folder(folder)
    rows = [*plan.rows, *prepared.rows]
    if (
        prepared.adds
        or prepared.objects
        or not (reasons := [row.reason for row in rows if row.status == Status.QUARANTINED])
    ):
        return None
    return f"none of the {len(keys)} files that were tried would get in, the smallest ones: {reasons[0]}"
