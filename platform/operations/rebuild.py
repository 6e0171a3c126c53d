"""Rebuild: every file of a loaded table is read again by the present `lake.yaml`, and its rows are replaced.

A rebuild produces hints, as a listing does. A run replaces the rows of a file as it does after a redrive, so readers
see the old rows of a file until the commit that has the new ones (docs/decisions/0058-rebuild.md).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from math import inf

from tidegate.platform.bronze.reconcile.listing import own_objects, replace_known_etags
from tidegate.platform.core.bronze.birth import Birth
from tidegate.platform.core.bronze.hint import Hint, Rebuild, Replacement
from tidegate.platform.core.bronze.ledger import LastState, Status
from tidegate.platform.core.bronze.manifest import is_rebuild, split_into_manifests
from tidegate.platform.core.bronze.plan import BATCH_BYTES
from tidegate.platform.core.config.drift import drift
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.errors import DataError
from tidegate.platform.core.keys.table_key import TableKey
from tidegate.platform.core.seams import seam
from tidegate.platform.lake.aws.s3 import Listed
from tidegate.platform.lake.lake import Lake, Table
from tidegate.platform.lake.ledger import Reading
from tidegate.platform.lake.spark.delta import Delta

#: Keys of files that an entry of the operations log lists.
_MAX_LISTED = 100


@dataclass(frozen=True)
class RebuildPlan:
    """The plan of a rebuild.

    Attributes:
        table: the present table.
        name: its SQL name.
        n: last batch of the ledger before the rebuild. Files that are read again get a later batch.
        hints: hints of the files to read, in the order in which the files came first.
        others: number of files among them that are not in the table: quarantined, or never announced.
        size: bytes of all files to read.
        kept: readings whose bytes S3 no longer has under their key. Their rows stay as they are.
        waiting: number of files of an earlier rebuild that wait in the inbox.
    """

    table: Table
    name: str
    n: int
    hints: tuple[Hint, ...]
    others: int
    size: int
    kept: tuple[Reading, ...]
    waiting: int

    @property
    def again(self) -> int:
        """Number of files to read whose rows are in the table."""
        return len(self.hints) - self.others

    @property
    def kept_rows(self) -> int:
        """Number of rows that stay as they are."""
        return sum(reading.rows for reading in self.kept)


def plan_rebuild(lake: Lake, table_key: str) -> RebuildPlan:
    """Plan the rebuild of a table. Nothing is changed.

    Raises:
        DataError: there is no table, the table is registered or an output, or its columns differ from those of
            `lake.yaml`.
        StoreError: S3 does not answer.
    """
    table = lake.table(table_key)
    birth = _require_loaded(table.key, table.birth)
    _require_columns(table.key, table.delta, table.lake.config, birth)
    clock = table.ledger.clock()
    states, readings = table.ledger.live_keys(clock.version), table.ledger.committed_readings(clock.version)
    present = replace_known_etags(table.source, list(own_objects(table.source, table.key, lake.config)), readings)
    etags = {item.key: item.etag for item in present}
    replaced = etags.keys() if table.spec.rows_of_objects.replaced else frozenset[str]()
    hints = hints_of(present, states, readings)
    return RebuildPlan(
        table,
        birth.name,
        clock.n,
        tuple(hints),
        others=sum(hint.replaces is None for hint in hints),
        size=sum(item.size for item in present),
        kept=tuple(
            reading
            for reading in readings
            if reading.rows and etags.get(reading.key) != reading.etag and reading.key not in replaced
        ),
        waiting=sum(found.hints for found in lake.store.inbox.waiting_manifests(table_key) if is_rebuild(found.id)),
    )


def hints_of(present: Iterable[Listed], states: Mapping[str, LastState], readings: Iterable[Reading]) -> list[Hint]:
    """Return the hints of a rebuild, in the order in which the files came first.

    In this order, the rows of one data file are replaced together.

    Args:
        present: the objects under the table's prefix, with the etags that the ledger knows.
        states: the last state of each key in the ledger.
        readings: the bytes that entered the table.
    """
    read = {(reading.key, reading.etag): reading for reading in readings}
    hints = []
    for item in present:
        state, last = states.get(item.key), read.get((item.key, item.etag))
        if state and state.etag == item.etag and state.status in (Status.WAITING, Status.COMPLETE):
            continue  # a completion signal, or a file that waits for one: it has no rows that could be read again
        if state and last and state.in_table and state.etag == item.etag:
            cause = Rebuild(Replacement(last.n, state.n), last.event_time)
        else:
            cause = Rebuild()
        hints.append(Hint(item.key, cause, item.size))
    return sorted(hints, key=lambda hint: (hint.replaces.batch if hint.replaces else inf, hint.key))


def rebuild_table(lake: Lake, table_key: str, *, by: str, log: Callable[[str], None] = lambda _: None) -> RebuildPlan:
    """Put every file of a table into its inbox. The following runs read them again, batch by batch.

    A repeated rebuild, also after a death, reads all files again. A file that waits already is read once.

    Args:
        by: the user or run that requests it.
        log: called with each line of progress.

    Raises:
        DataError: see `plan_rebuild`.
        StoreError: S3 does not answer.
    """
    plan = plan_rebuild(lake, table_key)
    address = lake.store.operations.put(
        "rebuild",
        by,
        table=table_key,
        after_batch=plan.n,
        files=len(plan.hints),
        kept=len(plan.kept),
        kept_rows=plan.kept_rows,
        some_kept=[reading.key for reading in plan.kept[:_MAX_LISTED]],
    )
    seam("rebuild-log")
    log(f"logged as {address}")
    done = 0
    for manifest in split_into_manifests(table_key, "rebuild", plan.hints, plan.table.spec.max_files, BATCH_BYTES):
        lake.store.inbox.put([manifest])
        seam("rebuild-manifest")
        done += len(manifest.hints)
        log(f"{done} of {len(plan.hints)} files of {table_key} are in the inbox")
    return plan


def _require_loaded(key: TableKey, birth: Birth | None) -> Birth:
    if birth is None:
        raise DataError(f"{key.uri} has no table yet, so there is nothing to rebuild: its next file creates the table")
    if birth.registered:
        raise DataError(
            f"bronze.{birth.name} is registered: its files are the table, so there is nothing to read again. "
            "Write them again under other keys and remove the old ones. Or set `mode: load` in lake.yaml, and "
            f"{birth.starting_over}"
        )
    if birth.output:
        raise DataError(
            f"the rows of {birth.name} are in objects of its output, where nothing can replace them: reading its "
            "files again would write each row a second time. Set another folder in `output` of lake.yaml, and run "
            "`tidegate reset`"
        )
    return birth


def _require_columns(key: TableKey, delta: Delta, config: LakeConfig, birth: Birth) -> None:
    """Raise an error if `lake.yaml` has other columns: a rebuild keeps the types, as a column has only one."""
    schema = delta.table_state(birth.location).schema
    if differs := drift(config.table_for(key), birth, schema):
        raise DataError(
            f"{'; '.join(differs)}. A rebuild keeps the columns that a table has: only a reset gives them other types, "
            "and its readers see the table empty until the next run"
        )
