"""The comparison of silver with bronze: a sample of keys is computed from bronze again, at a bounded cost.

A merge can be right and silver wrong: somebody writes to silver, or a fault that no test knows loses a row. Two steps
find that. The first reads a bounded number of bytes of both tables and lists keys whose row may be wrong. The second
reads all rows of these few keys, in the version of bronze that silver has merged, as `tidegate why` does.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from tidegate.platform.core.config.silver_columns import CHANGED_BATCH, DELETED
from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.core.errors import UnavailableError
from tidegate.platform.core.silver.audit.file_sample import Bounds, FileSample, TableFile, file_sample
from tidegate.platform.lake.lake import Lake
from tidegate.platform.lake.spark.delta import Delta
from tidegate.platform.lake.spark.session import select
from tidegate.platform.lake.spark.temporary_view import temporary_view
from tidegate.platform.silver.audit.audited_keys import FoundKey, found_keys, gives_all, keeps_lost, lost_files
from tidegate.platform.silver.audit.key_rows import SKIPPED, TRUNCATES, KeyRows, N
from tidegate.platform.silver.audit.key_selection import Limits, SampledRows, chosen_keys
from tidegate.platform.silver.audit.sampled_keys import MAX_REPLAYED, find_doubted_keys
from tidegate.platform.silver.newest_rows import order_struct
from tidegate.platform.silver.pending_merge import PendingMerge, merge_state
from tidegate.platform.silver.server_losses import record_server_loss, why_silver_rests

#: Bounds of a comparison, of each of the two tables.
MAX_FILES = 64
MAX_BYTES = 128 << 20
MAX_FILE_ROWS = 10_000_000
#: Rows that the compared keys may have together in these files.
_MAX_ROWS = Limits(rows=200_000, rows_of_a_key=200_000)
#: Comparisons that are made while merges write silver.
MAX_ATTEMPTS = 3
_BY_ORDER = "(one, other) -> CASE WHEN one.o < other.o THEN -1 WHEN one.o > other.o THEN 1 ELSE 0 END"
#: Keys that are looked up completely, because their row may be wrong.
MAX_SUSPECTS = 20


@dataclass(frozen=True)
class Comparison:
    """What a comparison found.

    Attributes:
        keys: number of compared keys.
        suspects: number of keys whose row may be wrong. All rows of up to `MAX_SUSPECTS` of them were looked up.
        left_out: keys that were not compared, because they have more rows than a comparison may read.
        bronze: the files of bronze that were read.
        silver: the files of silver that were read.
        wrong: keys whose row differs from what bronze gives, each as `part=value` for each part of the key.
    """

    keys: int
    suspects: int
    left_out: int
    bronze: FileSample
    silver: FileSample
    wrong: tuple[tuple[str, ...], ...]


def compare(lake: Lake, spec: TableSpec) -> Comparison | None:
    """Compare a sample of keys. Returns None if silver holds no batch yet.

    The sample is another one after each batch, and the same one if the comparison is repeated. A comparison that finds
    a difference is made again if silver was written meanwhile.

    Raises:
        UnavailableError: silver was written during each of `MAX_ATTEMPTS` comparisons, or rests, because the Spark
            server was lost too often.
        BadSetting: bronze or silver does not fit the rules.
        BronzeGone: the bronze table does not exist, though its ledger has batches.
    """
    if why := why_silver_rests(lake.config, lake.store.losses, spec.name):
        raise UnavailableError(why)
    for _ in range(MAX_ATTEMPTS):
        work = merge_state(lake, spec)
        if work is None or not work.mark or not work.silver.exists:
            return None
        with record_server_loss(lake.config, lake.delta, lake.store.losses, spec.name):
            found = _compare_keys(lake, work, work.mark)
        if not found.wrong or lake.delta.table_state(work.location).version == work.silver.version:
            return found
    raise UnavailableError(f"silver.{spec.name} was written during each of {MAX_ATTEMPTS} comparisons")


def _compare_keys(lake: Lake, work: PendingMerge, mark: int) -> Comparison:
    rows, session = KeyRows.from_lake(lake, work), lake.delta.session
    is_plain = rows.rules.history is None and not rows.rules.are_dumps
    find, limits = (_find_suspects, _MAX_ROWS) if is_plain else (find_doubted_keys, MAX_REPLAYED)
    with temporary_view(session, "compared") as of_bronze, temporary_view(session, "compared") as of_silver:
        bronze = _view_sampled_rows(lake.delta, rows.work.bronze_location, of_bronze, mark)
        silver = _view_sampled_rows(lake.delta, work.location, of_silver, mark)
        with chosen_keys(lake.delta, rows, mark, bronze, silver, limits) as chosen:
            keys, suspects = find(lake, rows, mark, chosen.view, bronze, silver) if chosen.keys else (0, [])
    found = Comparison(keys, len(suspects), chosen.left_out, bronze.files, silver.files, ())
    return replace(found, wrong=_find_wrong_keys(lake, rows, suspects[:MAX_SUSPECTS]))


def _view_sampled_rows(delta: Delta, location: str, view: str, seed: int) -> SampledRows:
    """Create a view of the rows of some files of a table. Returns its name, and the files."""
    ranks = {"newest": "_tidegate_modified DESC, _tidegate_logged", "mixed": f"xxhash64(_tidegate_logged, {seed}L)"}
    places = ", ".join(f"row_number() OVER (ORDER BY {order}) AS {name}" for name, order in ranks.items())
    # A file without statistics has fewer rows than bytes.
    rows = "coalesce(_tidegate_rows, _tidegate_size)"
    with temporary_view(delta.session, "live") as live:
        delta.live_view(location, live)
        found = select(
            delta.session,
            f"SELECT * FROM (SELECT _tidegate_logged, _tidegate_size, {rows} AS rows, sum({rows}) OVER () AS all_rows, "
            f"count(*) OVER () AS files, {places} FROM {live}) WHERE newest <= {MAX_FILES} OR mixed <= {MAX_FILES}",
        ).collect()
    newest, mixed = (
        [
            TableFile(row["_tidegate_logged"], row["_tidegate_size"], row["rows"])
            for row in sorted(found, key=lambda row: int(row[name]))
        ]
        for name in ranks
    )
    files, all_rows = (found[0]["files"], found[0]["all_rows"]) if found else (0, 0)
    sample = file_sample(newest, mixed, files, all_rows, Bounds(MAX_FILES, MAX_BYTES, MAX_FILE_ROWS))
    delta.batch_view(location, {0: list(sample.paths)}, view)
    return SampledRows(view, sample)


def _find_suspects(
    lake: Lake, rows: KeyRows, mark: int, chosen: str, bronze: SampledRows, silver: SampledRows
) -> tuple[int, list[str]]:
    """Return the number of compared keys, and those that may be wrong, each as JSON of a list."""
    parts = rows.rules.keys
    names = [f"k{place}" for place in range(len(parts))]
    key = ", ".join(f"{part.path} AS {name}" for part, name in zip(parts, names, strict=True))
    order = order_struct(part.path for part in rows.rules.order)

    def values(*, silver: bool) -> str:
        kept = f"{rows.kept_hashes(silver=silver)} AS k, " if rows.rules.kept else ""
        return f"{rows.common_values(silver=silver, with_kept=False)} AS v, {kept}{DELETED} AS d"

    changes = (
        f"SELECT {key}, {order} AS o, struct({values(silver=False)}) AS row "
        f"FROM ({rows.select_keys(f'({rows.sample_bronze(bronze.view)})', chosen, mark)}) WHERE NOT {SKIPPED} AND "
        f"NOT {TRUNCATES} AND NOT {rows.is_truncated()} AND coalesce({N}, 0) <= {mark}"
    )
    have = (
        f"SELECT {key}, {order} AS o, struct({values(silver=True)}) AS row, {CHANGED_BATCH} AS n "
        f"FROM ({rows.select_keys(silver.view, chosen, mark)})"
    )
    all_keys = ", ".join(names)
    same = " AND ".join(f"a.{name} <=> b.{name}" for name in names)
    gives = bool(rows.rules.kept) and bronze.files.is_whole and gives_all(rows)
    given = f"{_given_values()} AS g" if gives else "NULL AS g"
    newest = (
        f"SELECT {all_keys}, max_by(rows, o) AS rows, max(o) AS o, {given} FROM (SELECT {all_keys}, o, "
        f"collect_set(row) AS rows FROM ({changes}) GROUP BY {all_keys}, o) GROUP BY {all_keys}"
    )
    first = ", ".join(f"any_value({name}) AS {name}" for name in ("o", "row", "n"))
    of_silver = f"SELECT {all_keys}, {first}, count(*) AS rows FROM ({have}) GROUP BY {all_keys}"
    text = rows.key_json(f"coalesce(a.{name}, b.{name})" for name in names)
    are_whole = (bronze.files.is_whole, silver.files.is_whole)
    doubt = _doubt_condition(rows, mark, gives=gives, bronze_is_whole=are_whole[0], silver_is_whole=are_whole[1])
    (found,) = select(
        lake.delta.session,
        f"SELECT count(*) AS keys, collect_list(if({doubt}, {text}, NULL)) AS suspects "
        f"FROM ({newest}) a FULL JOIN ({of_silver}) b ON {same}",
    ).collect()
    return found["keys"], found["suspects"]


def _given_values() -> str:
    """Return SQL of the values that all rows of a key give it, over the rows of each of its orders.

    Where rows have an equal order, one of them is taken: if silver has another one, the key is looked up.
    """
    nothing = "CAST(array() AS array<bigint>)"  # of which each item is NULL
    values = f"zip_with(new.rows[0].k, if(old.d, {nothing}, old.v), (x, y) -> if(x.left, y, x.v))"
    fold = f"(old, new) -> named_struct('d', new.rows[0].d, 'v', {values})"
    rows = f"array_sort(collect_list(struct(o, rows)), {_BY_ORDER})"
    return f"aggregate({rows}, named_struct('d', false, 'v', {nothing}), {fold}).v"


def _doubt_condition(rows: KeyRows, mark: int, *, gives: bool, bronze_is_whole: bool, silver_is_whole: bool) -> str:
    """Return the condition that silver's row `b` may not be the newest row `a` of bronze.

    Silver keeps rows that left bronze, if `on_removed` is `ignore`, and rows from before a reset, whose batch is 0.
    """
    follows = not rows.is_registered or rows.work.spec.on_removed == "full"
    extra = f"b.n BETWEEN 1 AND {mark}" if bronze_is_whole and follows else "false"
    same = "row.v <=> b.row.v AND row.d = b.row.d"
    if rows.rules.kept:
        # Silver has the value of an older row where the newest one leaves it.
        same += " AND forall(zip_with(row.k, b.row.k, (x, y) -> x.left OR x.v <=> y.v), is_same -> is_same)"
    if gives:
        same += " AND forall(zip_with(a.g, b.row.k, (x, y) -> x <=> y.v), is_same -> is_same)"
    lacks = "exists(a.rows, row -> NOT row.d)" if silver_is_whole else "false"
    return (
        f"coalesce(CASE WHEN b.rows > 1 THEN true WHEN a.rows IS NULL THEN {extra} WHEN b.row IS NULL THEN {lacks} "
        f"WHEN b.o < a.o THEN true WHEN b.o = a.o THEN NOT exists(a.rows, row -> {same}) ELSE {extra} END, true)"
    )


def _find_wrong_keys(lake: Lake, rows: KeyRows, suspects: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """Return those of the keys whose rows differ from what bronze gives.

    Bronze may have rows that silver does not have yet, or a merge of all of bronze may have taken rows that the ledger
    did not have yet. So a row is right if either version of bronze gives it.
    """
    if not suspects:
        return ()
    work = rows.work
    keys = {text: tuple(json.loads(text)) for text in suspects}
    wrong, found = list(keys), dict[str, FoundKey]()
    for at, mark in ((rows.merged_version, work.mark or 0), (None, work.n + 1)):
        if not wrong:
            break
        condition = " OR ".join(f"({rows.condition(keys[text])})" for text in wrong)
        found = found_keys(lake, rows, condition, mark, at)
        wrong = [text for text in wrong if text in found and not found[text].is_right]
    has_lost = lost_files(work)
    wrong = [text for text in wrong if not _has_lost(rows, found[text], has_lost)]
    named = rows.work.spec.keys
    return tuple(
        tuple(f"{name}={'NULL' if value is None else value}" for name, value in zip(named, keys[text], strict=True))
        for text in wrong
    )


def _has_lost(rows: KeyRows, found: FoundKey, has_lost: Callable[[int], bool]) -> bool:
    """Return whether bronze may lack a row that decided, in a table that has the newest row of each key."""
    if rows.rules.history is not None:
        return False  # its rows are compared with that in mind
    if found.silver is None:
        # The tombstone of a key may have been removed, whose dump left bronze.
        return rows.rules.are_dumps and keeps_lost(rows.work.spec, rows.work.table.birth)
    return has_lost(found.silver.changed_batch)
