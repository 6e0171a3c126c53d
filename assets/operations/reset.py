"""Reset: a table begins anew, with another generation; the way out of a wedge and of a wrong birth."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from tidegate.assets.bronze.decide import table_properties
from tidegate.assets.operations.birth_trial import to_try, why_no_birth
from tidegate.assets.reconcile.known_etags import by_known_etags
from tidegate.assets.reconcile.listing import list_prefix, own_objects
from tidegate.platform.core.bronze.birth import Birth
from tidegate.platform.core.config.after_load import moves_to, takes_away
from tidegate.platform.core.failpoints import seam
from tidegate.platform.core.keys.file_format import format_of, mode_of
from tidegate.resources.aws.s3 import Listed
from tidegate.resources.lake import Lake, Table
from tidegate.resources.ledger import Reading

#: The seams of a reset, in order; each lies right after the step that it is named for.
SEAMS = ("retire", "empty", "renew", "birth", "list")

#: What stands for a generation where a table was and is no more: a later mode has it elsewhere.
_NOBODY = "retired"


class ResetRefused(RuntimeError):
    """A reset would do harm, or cannot begin; the message says what to do."""


@dataclass(frozen=True)
class Reset:
    """What a reset finds, and does.

    Attributes:
        table: as it is before.
        birth: its birth record before.
        n: the last batch of the ledger before.
        registered: whether the table follows its files from now on; by lake.yaml, else by its first file.
        location: `s3a://` URI of the table from now on.
        objects: objects that lie under its prefix and are looked at again.
        committed: objects whose rows the ledger has.
        rows: of those.
        lost: objects among them that S3 has no more, or with other bytes: their rows do not come back.
        lost_rows: of those.
        live_files: of the table before.
        to_try: some of the objects, to prove the new birth with.
    """

    table: Table
    birth: Birth
    n: int
    registered: bool
    location: str
    objects: int
    committed: int
    rows: int
    lost: tuple[str, ...]
    lost_rows: int
    live_files: int
    to_try: tuple[Listed, ...] = ()

    @property
    def renamed(self) -> str | None:
        """What becomes of the table's SQL name, where lake.yaml gives it another one than it has; else None."""
        was, now = self.birth.name, self.table.spec.name
        if was == now:
            return None
        return (
            f"the table is bronze.{now} from now on, by lake.yaml; bronze.{was} and ledger.{was} go on standing for "
            "what was before. Once no query needs these names: DROP TABLE, which deletes no file. To keep the name, "
            "say it in lake.yaml before the reset"
        )


def look_at_reset(lake: Lake, text: str) -> Reset:
    """What a reset of a table would do; changes nothing.

    Raises:
        ResetRefused: there is nothing to reset, or a table of somebody else is in the way.
    """
    table = lake.table(text)
    if table.birth is None:
        raise ResetRefused(f"{table.key.uri} has no table yet, so there is nothing to reset: its next file makes one")
    clock = table.ledger.clock()
    committed = table.ledger.committed(clock.version)
    present, lost = _lost(table, committed)
    registered = _registers(table, table.birth, present)
    location = _prefix(table) if registered else _own(table)
    state = lake.delta.table_state(location)
    if state.exists and state.properties.get("tidegate.lake") != lake.id:
        raise ResetRefused(
            f"{location} is a Delta table that this lake does not own: move that table away, or give the table another "
            "mode or prefix in lake.yaml"
        )
    return Reset(
        table,
        table.birth,
        clock.n,
        registered,
        location,
        objects=len(present),
        committed=len(committed),
        rows=sum(one.rows for one in committed),
        lost=tuple(one.key for one in lost),
        lost_rows=sum(one.rows for one in lost),
        live_files=lake.delta.table_state(table.birth.location).files,
        to_try=to_try(present),
    )


def reset_table(
    lake: Lake, text: str, *, by: str, accept_loss: bool = False, log: Callable[[str], None] = lambda _: None
) -> Reset:
    """Begin a table anew: an empty table, batch 1, an empty ledger, and every file of its prefix in the inbox.

    What is decided is decided first, in the place of the old generation's next batch; from there on a run of that
    generation can neither decide nor commit anything. Repeating a reset that died finishes it.

    Args:
        lake: handles.
        text: table key.
        by: who asks for it.
        accept_loss: go on although rows will not come back, and without trying files.
        log: takes progress, a line at a time.

    Raises:
        ResetRefused: see `look_at_reset`; or rows would not come back, or went while it was at work, or no file that
            was tried would get in.
    """
    found = look_at_reset(lake, text)
    if found.lost and not accept_loss:
        raise ResetRefused(_would_lose(found.table, found.lost, found.lost_rows))
    if found.renamed:
        log(f"WARNING: {found.renamed}")
    if not _is_new(found):
        as_wanted = replace(found.birth, registered=found.registered, location=found.location)
        if not accept_loss and (why := why_no_birth(found.table, as_wanted, found.to_try)):
            raise ResetRefused(f"{why}. The table is as it was: mend that first, or accept the loss")
        _begin(lake, found, by, log)
    table = lake.table(text)
    listed = list_prefix(table, table.ledger.clock())
    seam("list")
    if went := _went(lake, found):
        # A run that was in the midst of a group of files when the generation ended.
        log(
            f"WARNING: {len(went)} objects with {sum(one.rows for one in went)} rows went while the reset was at work; "
            f"one is {went[0].key}. {_way_back(found.table)}. Their rows can be read in the versions of "
            f"{found.birth.location} before the reset"
        )
    log(f"{listed} objects are in the inbox; the next run takes them")
    return found


def _lost(table: Table, committed: Sequence[Reading]) -> tuple[list[Listed], list[Reading]]:
    """The objects under the prefix in key order, and the readings whose bytes are not among them any more."""
    # A registered table's rows are its files', and those are not touched.
    kept = [] if table.birth is not None and table.birth.registered else committed
    present = by_known_etags(table, list(own_objects(table)), kept)
    etags = {item.key: item.etag for item in present}
    return present, [one for one in kept if etags.get(one.key) != one.etag]


def _would_lose(table: Table, keys: Sequence[str], rows: int) -> str:
    return (
        f"{rows} rows came from {len(keys)} objects that S3 has no more, or with other bytes, and would not come back; "
        f"one is {keys[0]}. {_way_back(table)}, or accept the loss"
    )


def _went(lake: Lake, found: Reset) -> list[Reading]:
    """What is lost beside what was found at first: until the generation ended, a run may have taken files away."""
    # What a run has recorded meanwhile counts as well.
    committed = found.table.ledger.committed(found.table.ledger.clock().version)
    known = set(found.lost)
    return [one for one in _lost(found.table, committed)[1] if one.key not in known]


def _way_back(table: Table) -> str:
    after_load, prefix = table.spec.after_load, table.key.uri
    if folder := moves_to(after_load):
        return (
            f"after_load moved them to {folder}: set it to `keep`, move them back "
            f"(aws s3 mv --recursive {folder} {prefix}), and repeat the reset"
        )
    if takes_away(after_load):
        return "after_load deleted them: set it to `keep`, and put them back first"
    return "Put them back under new keys first"


def _begin(lake: Lake, found: Reset, by: str, log: Callable[[str], None]) -> None:
    table, text = found.table, found.table.text
    lake.store.operations.put(
        "reset", by, table=text, generation=found.birth.generation, batches=found.n, lost_rows=found.lost_rows
    )
    retirement = table.batches.retire(found.n, by)
    seam("retire")
    generation = retirement.generation
    log(f"generation {found.birth.generation} is retired, {generation} follows")
    if went := _went(lake, found):
        told = _would_lose(table, [one.key for one in went], sum(one.rows for one in went))
        raise ResetRefused(
            f"{told}. They went after the reset had counted them. The table still has its rows, but takes nothing in "
            "until the reset is repeated"
        )
    for place in {_prefix(table), _own(table), found.birth.location} - {found.location}:
        if lake.delta.table_state(place).properties.get("tidegate.lake") == lake.id:
            properties = table_properties(table, _NOBODY, registered=place == _prefix(table))
            lake.delta.renew(place, properties, table.spec.name)
            log(f"{place} was emptied: the table is elsewhere from now on")
    seam("empty")
    properties = table_properties(table, generation, registered=found.registered)
    version = lake.delta.renew(found.location, properties, table.spec.name)
    seam("renew")
    log(f"{found.location} is empty with version {version}")
    folder = f"{text}..{generation}"  # no table's key has two dots in a row
    lake.store.births.replace(
        text, Birth(generation, found.location, table.spec.name, found.registered, folder, version)
    )
    seam("birth")


def _is_new(found: Reset) -> bool:
    """Whether a reset died after the birth record: nothing has come to this generation yet, and it is as wanted."""
    as_wanted = (found.birth.registered, found.birth.location) == (found.registered, found.location)
    return bool(found.birth.folder) and as_wanted and found.n == 0 and not found.table.batches.is_decided(1)


def _registers(table: Table, birth: Birth, present: Sequence[Listed]) -> bool:
    configured = table.spec.registers
    if configured is not None:
        return configured
    formats = [format for item in present if (format := format_of(item.key))]
    return mode_of(formats[0]) == "register" if formats else birth.registered


def _prefix(table: Table) -> str:
    return f"s3a://{table.key.bucket}/{table.key.prefix}".rstrip("/")


def _own(table: Table) -> str:
    return table.lake.store.uri("bronze", table.text)
