"""Takes the rows of forgotten subjects out of a bronze table, by batches like any other."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pyspark.sql import functions as F

from tidegate.platform.bronze.decide import decide
from tidegate.platform.bronze.options import RunOptions
from tidegate.platform.bronze.prepare.load.replaced_rows import found_with_entries, stage_rest
from tidegate.platform.bronze.prepare.table_columns import present_schema
from tidegate.platform.bronze.prepared_batch import PreparedBatch
from tidegate.platform.bronze.reconcile.listing import list_generation
from tidegate.platform.bronze.run import continue_decided, land
from tidegate.platform.core.bronze.birth import Birth
from tidegate.platform.core.bronze.plan import BATCH_BYTES, BatchDraft, Plan
from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.core.errors import DataError, UnavailableError
from tidegate.platform.core.forgetting.subject_columns import absent_subject, forgotten_record
from tidegate.platform.core.seams import seam
from tidegate.platform.lake.lake import Table
from tidegate.platform.lake.spark.commit_retry import repeat_call
from tidegate.platform.lake.spark.delta import Delta
from tidegate.platform.lake.spark.properties import set_properties
from tidegate.platform.lake.suppression import SubjectProblem, Suppression

#: Batches of one call. A call that needs more is repeated.
_MAX_BATCHES = 1000


@dataclass(frozen=True)
class HeldFile:
    """A live data file with rows of forgotten subjects.

    Attributes:
        path: relative to the table.
        size: bytes.
        rows: number of such rows in it.
    """

    path: str
    size: int
    rows: int


@dataclass(frozen=True)
class Erased:
    """Rows that left a table.

    Attributes:
        rows: their number.
        files: data files that held them.
        held_bytes: bytes of these files.
        written_bytes: bytes of the files that have their other rows now.
    """

    rows: int = 0
    files: int = 0
    held_bytes: int = 0
    written_bytes: int = 0

    def plus(self, other: Erased) -> Erased:
        """Return the sums."""
        return Erased(*(getattr(self, name) + getattr(other, name) for name in self.__dataclass_fields__))


def held_files(spec: TableSpec, birth: Birth | None, delta: Delta, suppression: Suppression) -> list[HeldFile]:
    """Return the live data files of a bronze table that hold rows of forgotten subjects. Nothing is changed.

    Raises:
        DataError: the table is registered or an output.
        SubjectProblem: no row of the table can name a person.
    """
    if birth is None:
        return []
    _require_loaded(birth)
    state = delta.table_state(birth.location)
    if not state.exists or not state.schema.fields:
        return []
    if why := absent_subject(suppression.subject, state.schema.fields):
        raise SubjectProblem(f"bronze.{spec.name}: {why}")
    rows = delta.session.read.format("delta").load(birth.location)
    rows = rows.withColumns(
        {"_tidegate_path": F.col("_metadata.file_path"), "_tidegate_size": F.col("_metadata.file_size")}
    )
    found = (
        suppression.select_suppressed(rows, state.schema.fields)
        .groupBy("_tidegate_path", "_tidegate_size")
        .count()
        .collect()
    )
    start = f"{birth.location}/"
    return sorted(
        (HeldFile(path.removeprefix(start), size, count) for path, size, count in found), key=lambda file: file.path
    )


def erase_from_bronze(
    table: Table, suppression: Suppression, run_id: str, log: Callable[[str], None] = lambda _: None
) -> Erased:
    """Take the rows of forgotten subjects out of a bronze table.

    The other rows of their data files are written again as they are. At least one batch is decided: a run that prepared
    its batch before the subjects were on the list loses its number to this batch, and prepares again with the list. So
    the table has no such row after the last of these batches, and is not searched again here.

    Args:
        suppression: its list.
        run_id: unique to this call.
        log: called with each line.

    Raises:
        DataError: the table is registered or an output.
        UnavailableError: other writers commit all the time.
    """
    done, options = Erased(), RunOptions(run_id)
    for _ in range(_MAX_BATCHES):
        begun, table = time.monotonic(), table.reopen()
        birth = table.birth
        if birth is None:
            return done
        _require_loaded(birth)
        clock = table.ledger.clock()
        if continue_decided(table, clock, options, log):
            continue
        # The first batch of a generation ends its first listing, and this batch takes no hints.
        list_generation(table, clock, log)
        previous = table.ledger.header(clock.version, clock.n) if clock.n else None
        draft = BatchDraft(clock.n + 1, birth, previous, (), Plan(), {})
        prepared, erasing, is_last = _prepare_erasure(table, suppression, draft)
        seam("forget-prepare")
        batch = decide(table, draft, prepared, run_id)
        seam("forget-decide")
        result = land(table, batch, options, log, found=False, begun=begun)
        if batch.run_id == run_id and result.landed.outcome != "void":
            done = done.plus(erasing)
            log(f"{erasing.rows} rows in {erasing.files} files of bronze.{birth.name} left it with batch {batch.n}")
            if is_last:
                _end(table.spec, table.delta, birth, log)
                return done
    raise UnavailableError(f"the rows could not leave {table.table_key} in {_MAX_BATCHES} batches: run it again")


def _require_loaded(birth: Birth) -> None:
    if birth.registered or birth.output:
        raise DataError(
            f"bronze.{birth.name} was born with mode {birth.mode}, and rows can leave a loaded table only: with `mode: "
            f"load`, {birth.starting_over}"
        )


def _end(spec: TableSpec, delta: Delta, birth: Birth, log: Callable[[str], None]) -> None:
    """Record the subject, and write the files again of which a user's DELETE hides rows by a deletion vector."""
    session, location, personal = delta.session, birth.location, spec.personal
    state = delta.table_state(location)
    if not state.schema.fields or personal is None:
        return
    record = forgotten_record(personal.kind, personal.subject)

    def end() -> None:
        if not record.items() <= state.properties.items():
            set_properties(session, location, record)
        delta.upkeep.purge(location)

    repeat_call(end, lambda _: log("another commit came first, trying again"))


def _prepare_erasure(table: Table, suppression: Suppression, draft: BatchDraft) -> tuple[PreparedBatch, Erased, bool]:
    """Return a batch, what it takes out of the table, and whether nothing is left after it."""
    prepared = PreparedBatch(draft.plan)
    base = present_schema(table.spec, table.batches, table.delta, draft)
    if base is None:
        return prepared, Erased(), True
    prepared.base = prepared.schema = base
    delta, location = table.delta, draft.birth.location
    held: list[HeldFile] = []

    def first_batch() -> list[HeldFile]:
        held[:] = held_files(table.spec, table.birth, table.delta, suppression)
        return _first_batch(held)

    name = f"bronze.{draft.birth.name}"
    files, entries = found_with_entries(delta, location, name, first_batch, lambda file: file.path)
    if not files:
        return prepared, Erased(), True
    adds = stage_rest(
        delta,
        location,
        [file.path for file in files],
        lambda rows: suppression.exclude_suppressed(rows, base.fields),
        base,
    )
    prepared.adds = [add for add in adds if add.records]
    prepared.removes = [entries[file.path].remove for file in files]
    erased = Erased(
        sum(file.rows for file in files),
        len(files),
        sum(file.size for file in files),
        sum(add.size for add in prepared.adds),
    )
    return prepared, erased, len(files) == len(held)


def _first_batch(files: Sequence[HeldFile]) -> list[HeldFile]:
    """Return the files of one batch: those that fit into its bytes, and at least one."""
    taken: list[HeldFile] = []
    size = 0
    for file in files:
        size += file.size
        if taken and size > BATCH_BYTES:
            break
        taken.append(file)
    return taken
