"""The silver table: the columns that it needs, its creation, new columns, and the removal of expired tombstones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.errors import PySparkException

from tidegate.assets.maintenance.compaction import passes
from tidegate.assets.silver.pending import PendingMerge
from tidegate.assets.silver.private_statistics import private_statistics
from tidegate.platform.core.schema.column_types import Array, Field, grows
from tidegate.platform.core.schema.names import fed_columns, needs_mapping
from tidegate.platform.core.schema.sql_literal import literal, properties_sql
from tidegate.platform.core.schema.sql_types import simple_type
from tidegate.platform.core.schema.table_schema import BY_NAME, columns_sql
from tidegate.platform.core.silver.columns import (
    CHANGED_AT,
    CHANGED_BATCH,
    DELETED,
    JOINED,
    KEY,
    LEFT,
    ORDER,
    own_columns,
)
from tidegate.platform.core.silver.first_reading import first_reading, read_after
from tidegate.platform.core.silver.presets import resolved
from tidegate.platform.core.silver.rules import MergeRules, TypesOf, UnsuitableColumns, merge_rules
from tidegate.platform.core.silver.subject_paths import is_record, subject_paths, subject_record
from tidegate.resources.lake import Lake
from tidegate.resources.spark.session import command

#: Expired tombstones are purged each time that the mark passes a multiple of this.
_PURGE_EVERY = 50
#: Options that a silver table records: their name, the end of the property, and what its absence means.
_RECORDED = (
    ("stored_as", "_stored_as", "scd1"),
    ("track_history", "_track_history", "none"),
    ("keys", KEY, "columns"),
    ("order", ORDER, "columns"),
)


def silver_rules(work: PendingMerge, types_of: TypesOf) -> MergeRules:
    """Returns the rules of a merge. Silver takes bronze's columns without those that Tidegate adds to loaded tables.

    Args:
        work: what is pending.
        types_of: returns the types of SQL expressions over a relation of bronze's rows.

    Raises:
        ValueError: bronze lacks a column that lake.yaml names, or silver's columns cannot be as the rules say: one has
            the name of one of silver's own, or another type than in silver. Or key or order were derived in another
            way before.
    """
    birth = work.table.birth
    columns = fed_columns(work.bronze.schema.fields, is_registered=birth is not None and birth.registered)
    silver = f"silver.{work.table.spec.name}"
    try:
        rules = merge_rules(resolved(work.spec, columns), columns, types_of)
    except UnsuitableColumns as error:
        raise ValueError(f"{silver}: bronze {error}") from None
    names = [name.lower() for name, value in rules.values.items() if name not in (KEY, ORDER)]
    if taken := [name for name in own_columns(work.spec) if name in names]:
        raise ValueError(f"{silver}: bronze has a column {taken[0]!r}, and silver one of its own by that name")
    _check_recorded(work, rules)
    for name, ours_now, theirs in work.silver.schema.retyped(rules.stored):
        if work.table.spec.widen and grows(ours_now, theirs) and "[]" not in name:
            continue
        raise ValueError(
            f"{silver}: column {name} is {ours_now.sql()}, and {theirs.sql()} in bronze: bronze was reset since, or "
            "somebody changed the type in silver. Values would change on their way: give the table another `name` in "
            "lake.yaml, and a new silver table is merged"
        )
    return rules


def _check_recorded(work: PendingMerge, rules: MergeRules) -> None:
    """Check that key and order of new rows compare with those that silver has kept of its rows."""
    if not work.silver.exists:
        return
    for option, own, otherwise in _RECORDED:
        name = f"tidegate.silver{own}"
        before, now = work.silver.properties.get(name), rules.recorded.get(name)
        if before != now:
            raise ValueError(
                f"silver.{work.table.spec.name}: `{option}` of `silver` in lake.yaml has changed from "
                f"{before or otherwise} to {now or otherwise}, and the rows of silver do not compare with new rows any "
                "more. Change it back, or give the table another `name` in lake.yaml, and a new silver table is merged"
            )


def create_table(lake: Lake, work: PendingMerge, rules: MergeRules) -> None:
    """Create the silver table with the columns of the rules and silver's own, unless another run already has."""
    own = [
        Field(DELETED, simple_type("boolean")),
        Field(CHANGED_BATCH, simple_type("bigint")),
        Field(CHANGED_AT, simple_type("timestamp")),
    ]
    if rules.history is not None:
        own.append(Field(JOINED, simple_type("boolean")))
        if rules.history.leaves_values:
            own.append(Field(LEFT, Array(simple_type("string"))))
    properties = {"tidegate.lake": lake.id, "delta.enableDeletionVectors": "true", **rules.recorded}
    properties |= private_statistics(work.table.spec, rules.stored) | first_reading(work.n, work.app_id)
    if needs_mapping(rules.stored):
        properties |= BY_NAME
    try:
        command(
            lake.delta.session,
            f"CREATE TABLE IF NOT EXISTS delta.`{work.location}` ({columns_sql([*rules.stored, *own])}) USING delta "
            f"TBLPROPERTIES ({properties_sql(properties)})",
        )
    except PySparkException:
        if not lake.delta.table_state(work.location).exists:
            raise


def record_first_reading(lake: Lake, work: PendingMerge) -> None:
    """Record in a silver table without a mark after which batch bronze is read, unless it records an earlier one.

    A table that this run created records it already. If another run created it, it may record a later batch.
    """
    known = read_after(lake.delta.table_state(work.location).properties, work.app_id)
    if known is None or known > work.n:
        _set_properties(lake, work, first_reading(work.n, work.app_id))


def record_subject(lake: Lake, work: PendingMerge) -> None:
    """Record in a silver table where its next rows have the subject of their row, before it has any of them.

    Forgetting looks there for ever, also after another option of the merge gave the subject another column.
    """
    wanted = _subject_record(work, work.n if work.silver.files else 0)
    if not wanted:
        return
    # The table may be one that another run created, by other options.
    known = work.silver if work.silver.exists else lake.delta.table_state(work.location)
    _set_properties(lake, work, {name: after for name, after in wanted.items() if name not in known.properties})


def renew_subject_record(lake: Lake, work: PendingMerge, version: int) -> None:
    """Record that a rebuild of the whole table gave every row the subject where the present options have it.

    Args:
        lake: has the table.
        work: what was rebuilt.
        version: Delta version of the rebuild. If another commit came after it, its rows may be by other options.
    """
    wanted = _subject_record(work, 0)
    if not wanted or (state := lake.delta.table_state(work.location)).version != version:
        return
    _set_properties(lake, work, dict(wanted.items() - state.properties.items()))
    if stale := [name for name in state.properties if is_record(name) and name not in wanted]:
        names = ", ".join(map(literal, stale))
        command(lake.delta.session, f"ALTER TABLE delta.`{work.location}` UNSET TBLPROPERTIES ({names})")


def _subject_record(work: PendingMerge, after: int) -> dict[str, str]:
    personal = work.table.spec.personal
    if personal is None:
        return {}
    columns = fed_columns(work.bronze.schema.fields, is_registered=False)  # a table with a subject is loaded
    return subject_record(subject_paths(work.spec, personal.subject, columns), after)


def _set_properties(lake: Lake, work: PendingMerge, properties: Mapping[str, str]) -> None:
    if properties:
        sql = f"ALTER TABLE delta.`{work.location}` SET TBLPROPERTIES ({properties_sql(properties)})"
        command(lake.delta.session, sql)


def widen_table(lake: Lake, work: PendingMerge, columns: Sequence[Field]) -> bool:
    """Add the columns that only bronze has, and the wider types of bronze. Returns whether there were any."""
    wider = work.silver.schema.widened_to(columns).adding(columns)
    if wider == work.silver.schema:
        return False
    lake.delta.add_columns(work.location, wider)
    return True


def purge_tombstones(lake: Lake, work: PendingMerge, n: int) -> None:
    """Delete expired tombstones, if the merge up to batch `n` passes a multiple of `_PURGE_EVERY`.

    A history keeps them: without a delete, a late change of its key would be valid until now.
    """
    if not work.spec.is_history and passes(_PURGE_EVERY, work.mark or 0, n):
        command(
            lake.delta.session,
            f"DELETE FROM delta.`{work.location}` WHERE {DELETED} AND {CHANGED_AT} < "
            f"current_timestamp() - INTERVAL {work.spec.tombstone_days} DAYS",
        )
