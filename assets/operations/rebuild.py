"""Rebuild: every file of a loaded table is read again as lake.yaml says today, and its rows replaced.

It produces hints, as a listing does. A run replaces a file's rows as it does those of a redriven one, so readers see
the old rows of a file until the commit that has the new ones (docs/decisions/0058-rebuild.md).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from tidegate.assets.reconcile.known_etags import by_known_etags
from tidegate.assets.reconcile.listing import own_objects
from tidegate.platform.core.bronze.batch import Create
from tidegate.platform.core.bronze.birth import Birth
from tidegate.platform.core.bronze.hint import Hint
from tidegate.platform.core.bronze.ledger import LastState
from tidegate.platform.core.bronze.manifest import chunked, is_rebuild
from tidegate.platform.core.bronze.plan import BATCH_BYTES
from tidegate.platform.core.config.drift import drift
from tidegate.platform.core.failpoints import seam
from tidegate.resources.aws.s3 import Listed
from tidegate.resources.lake import Lake, Table
from tidegate.resources.ledger import Reading

#: Event name of a rebuild's hints.
REBUILD = "Rebuild"
#: Keys that an entry of the operations log names.
_MOST_NAMED = 100


class RebuildRefused(RuntimeError):
    """A rebuild would not do what is wanted; the message says what does."""


@dataclass(frozen=True)
class Rebuild:
    """What a rebuild finds, and does.

    Attributes:
        table: as it is.
        name: its SQL name.
        n: the last batch of the ledger before; what is read again has a later one.
        hints: what is read again, in the order in which it came.
        others: files among them that are not in the table: quarantined, or never told of.
        size: bytes of them all.
        kept: readings whose bytes S3 has no more, or other ones under their key: their rows stay as they are.
        waiting: files of an earlier rebuild that wait in the inbox.
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
        """Files that are in the table and are read again."""
        return len(self.hints) - self.others

    @property
    def kept_rows(self) -> int:
        """Rows that stay as they are."""
        return sum(one.rows for one in self.kept)


def look_at_rebuild(lake: Lake, text: str) -> Rebuild:
    """What a rebuild of a table would do; changes nothing.

    Raises:
        RebuildRefused: there is no table, its files are the table, or lake.yaml says other columns than it has.
        StoreError: S3 does not answer.
    """
    table = lake.table(text)
    birth = _loaded(table)
    _require_columns(table, birth)
    clock = table.ledger.clock()
    states, readings = table.ledger.live_keys(clock.version), table.ledger.committed(clock.version)
    present = by_known_etags(table, list(own_objects(table)), readings)
    etags = {item.key: item.etag for item in present}
    hints = hints_of(present, states, readings)
    return Rebuild(
        table,
        birth.name,
        clock.n,
        tuple(hints),
        others=sum(hint.replaces is None for hint in hints),
        size=sum(item.size for item in present),
        kept=tuple(one for one in readings if one.rows and etags.get(one.key) != one.etag),
        waiting=sum(one.hints for one in lake.store.inbox.waiting(text) if is_rebuild(one.id)),
    )


def hints_of(present: Iterable[Listed], states: Mapping[str, LastState], readings: Iterable[Reading]) -> list[Hint]:
    """The hints of a rebuild, those first that came first: rows that lie in one data file leave it together.

    Args:
        present: the objects under the table's prefix, by the etags that the ledger knows.
        states: what the ledger said last of keys.
        readings: the bytes that entered the table.
    """
    read = {(one.key, one.etag): one for one in readings}
    hints = []
    for item in present:
        hint = Hint(item.key, event_name=REBUILD, size=item.size)
        state, last = states.get(item.key), read.get((item.key, item.etag))
        if state and last and state.in_table and state.etag == item.etag:
            hints.append(replace(hint, replaces=last.n, decided=state.n, told=last.told))
        else:
            hints.append(replace(hint, redriven=True))
    return sorted(hints, key=lambda hint: (hint.replaces is None, hint.replaces or 0, hint.key))


def rebuild_table(lake: Lake, text: str, *, by: str, log: Callable[[str], None] = lambda _: None) -> Rebuild:
    """Put every file of a table into its inbox, to be read again; the runs that follow do it, batch by batch.

    Repeating it, also one that died, has all files read again: those that wait already are read once.

    Args:
        lake: handles.
        text: table key.
        by: who asks for it.
        log: takes progress, a line at a time.

    Raises:
        RebuildRefused: see `look_at_rebuild`.
        StoreError: S3 does not answer.
    """
    found = look_at_rebuild(lake, text)
    address = lake.store.operations.put(
        "rebuild",
        by,
        table=text,
        after_batch=found.n,
        files=len(found.hints),
        kept=len(found.kept),
        kept_rows=found.kept_rows,
        some_kept=[one.key for one in found.kept[:_MOST_NAMED]],
    )
    seam("rebuild-log")
    log(f"logged as {address}")
    done = 0
    for manifest in chunked(text, "rebuild", found.hints, found.table.spec.max_files, BATCH_BYTES):
        lake.store.inbox.put([manifest])
        seam("rebuild-manifest")
        done += len(manifest.hints)
        log(f"{done} of {len(found.hints)} files of {text} are in the inbox")
    return found


def _loaded(table: Table) -> Birth:
    if table.birth is None:
        raise RebuildRefused(
            f"{table.key.uri} has no table yet, so there is nothing to rebuild: its next file makes one"
        )
    if table.birth.registered:
        raise RebuildRefused(
            f"bronze.{table.birth.name} is registered: its files are the table, so there is nothing to read again. "
            "Write them anew under other keys and remove the old ones; or say `mode: load` in lake.yaml, and `tidegate "
            "reset`"
        )
    return table.birth


def _require_columns(table: Table, birth: Birth) -> None:
    """Rows of two types cannot lie in one column, so a rebuild keeps the types that the table has."""
    schema = table.lake.delta.table_state(birth.location).schema
    now = Create(schema.to_spark(), schema.partitions, {}, birth.name)
    if differs := drift(table.lake.config.table_for(table.key), birth.registered, now):
        raise RebuildRefused(
            f"{'; '.join(differs)}. A rebuild keeps the columns that a table has: only a reset gives them other types, "
            "and its readers see the table empty until the next run"
        )
