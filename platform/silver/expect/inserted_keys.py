"""Keys that a change feed inserts several times without a delete between: such columns are no key."""

from __future__ import annotations

from collections.abc import Iterable

from tidegate.platform.core.config.silver_columns import KEY, ORDER
from tidegate.platform.core.schema.column_types import quoted
from tidegate.platform.core.schema.comparable import comparable
from tidegate.platform.core.schema.exact_json import exact_json
from tidegate.platform.core.silver.rules import MergeRules
from tidegate.platform.silver.newest_rows import order_struct

#: Up to so many rows, each key is compared. Of more, keys are a sample of about so many rows.
_SAMPLED_ROWS = 10_000
#: A key has at most so many entries of inserts, and as many of rows of snapshots, whatever its rows are.
_INSERTS, _POSITIONS, _ROWS_AT_ONE = 1 << 15, 1 << 9, 1 << 6
_DELETE = -1


def can_count_inserts(rules: MergeRules) -> bool:
    """Returns whether the rows say which of them insert a key. Keys with parts that are expressions are not compared.

    Args:
        rules: what a row of bronze is in silver.
    """
    return rules.inserts is not None and all(part.column for part in rules.keys)


def inserts_sql(rules: MergeRules, rows: int, is_change: str) -> str:
    """Returns SQL of an aggregate: the distinct pairs of a key's hash and of what a row does to it, among some keys.

    The memory that it takes is bounded by the sample, and by how many entries one key has.

    Args:
        rules: what a row of bronze is in silver.
        rows: number of rows, to choose the sample.
        is_change: condition that a row is a change.
    """
    if rules.inserts is None or not can_count_inserts(rules):
        return "array()"
    paths = [part.column for part in rules.keys]
    keys = ", ".join(".".join([f"({rules.values[root]})", *map(quoted, rest)]) for root, *rest in paths)
    types = {field.name: field.type for field in rules.columns if field.name not in (KEY, ORDER)}
    values = ", ".join(f"{comparable(kind, rules.values[name])} AS {quoted(name)}" for name, kind in types.items())
    row = f"xxhash64({exact_json(f'struct({values})')})"
    position = f"pmod(xxhash64({order_struct(rules.order_values)}), {_POSITIONS})"
    new, read, deleted = rules.inserts.new, rules.inserts.read, rules.deleted
    made = (
        f"CASE WHEN {deleted} THEN {_DELETE} WHEN {new} THEN pmod({row}, {_INSERTS}) "
        f"ELSE {_INSERTS} + {position} * {_ROWS_AT_ONE} + pmod({row}, {_ROWS_AT_ONE}) END"
    )
    key = f"xxhash64({keys})"
    chosen = f"{is_change} AND pmod({key}, {_sampling_interval(rows)}) = 0 AND ({deleted} OR {new} OR {read})"
    return f"collect_set(if({chosen}, struct({key} AS key, CAST({made} AS INT) AS made), NULL))"


def reinserted_keys(entries: Iterable[tuple[int, int]], rows: int) -> int:
    """Returns the number of keys with several different inserts and no delete, of a sample an estimate.

    A feed may repeat a change, and several snapshots have a row several times: a row of a snapshot differs from another
    one only if both are at one position in the log.

    Args:
        entries: what `inserts_sql` returns.
        rows: as for `inserts_sql`.
    """
    by_key: dict[int, set[int]] = {}
    for key, made in entries:
        by_key.setdefault(key, set()).add(made)
    several = sum(_is_reinserted(made) for made in by_key.values() if _DELETE not in made)
    return several * _sampling_interval(rows)


def _is_reinserted(made: set[int]) -> bool:
    inserts = [entry for entry in made if entry < _INSERTS]
    positions = {(entry - _INSERTS) // _ROWS_AT_ONE for entry in made if entry >= _INSERTS}
    reads = len(made) - len(inserts)
    return len(inserts) > 1 or (reads > 1 and len(positions) == 1)


def _sampling_interval(rows: int) -> int:
    """Returns of how many keys one is in the sample."""
    return max(1, rows // _SAMPLED_ROWS)
