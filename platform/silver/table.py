"""The silver table: the columns that it needs, its creation, new columns, and the removal of expired tombstones.

Its log has no statistics of personal columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain

from pyspark.errors import PySparkException

from tidegate.platform.core.bronze.birth import Birth
from tidegate.platform.core.config.silver import SilverSpec
from tidegate.platform.core.config.silver_columns import CHANGED_AT, CHANGED_BATCH, DELETED, JOINED, LEFT, LEFT_TYPE
from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.core.errors import BadSetting
from tidegate.platform.core.forgetting.persons import Persons
from tidegate.platform.core.schema.column_reference import spell_path
from tidegate.platform.core.schema.column_statistics import is_personal_path, only_statistics, statistics_paths
from tidegate.platform.core.schema.column_types import Array, Field, fold_name
from tidegate.platform.core.schema.names import RESCUED_COLUMN, needs_mapping, silver_source_columns
from tidegate.platform.core.schema.sql_literal import delta_table, parenthesize, properties_sql
from tidegate.platform.core.schema.sql_types import simple_type
from tidegate.platform.core.schema.table_schema import BY_NAME, columns_sql
from tidegate.platform.core.silver.expectations import conditions
from tidegate.platform.core.silver.expression_types import TypesOf, UnfitExpression, UnsuitableColumns, unfit_option
from tidegate.platform.core.silver.missing_columns import with_awaited
from tidegate.platform.core.silver.presets import resolve_presets
from tidegate.platform.core.silver.recorded_options import (
    OPTIONS,
    REBUILDING,
    changed_options,
    first_reading,
    read_after,
    recorded_options,
)
from tidegate.platform.core.silver.refusals import refusal
from tidegate.platform.core.silver.row_value import BRONZE
from tidegate.platform.core.silver.rules import MergeRules, merge_rules
from tidegate.platform.core.silver.subject_paths import is_record, silver_origins, subject_paths, subject_record
from tidegate.platform.lake.spark.delta import Delta
from tidegate.platform.lake.spark.properties import set_properties
from tidegate.platform.lake.spark.results import TableState
from tidegate.platform.lake.spark.session import command
from tidegate.platform.maintenance.compaction import passes
from tidegate.platform.silver.pending_merge import Aim, PendingMerge

#: Expired tombstones are purged each time that the mark passes a multiple of this.
_PURGE_EVERY = 50


def silver_rules(work: PendingMerge, types_of: TypesOf) -> MergeRules:
    """Return the rules of a merge. Silver takes bronze's columns without those that Tidegate adds to loaded tables.

    Args:
        types_of: returns the types of SQL expressions over a relation of bronze's rows.

    Raises:
        BadSetting: bronze lacks a column that lake.yaml names, or silver's columns cannot be as the rules say: one has
            the name of one of silver's own, or another type than in silver. Or an option has changed since, so that
            rows of silver do not compare with new rows.
    """
    columns = _source_columns(work.bronze, work.table.birth)
    silver = f"silver.{work.table.spec.name}"
    try:
        rules = fitting_rules(resolve_presets(work.spec, columns), columns, types_of, work.table.spec.columns)
    except UnsuitableColumns as error:
        raise BadSetting(f"{silver}: bronze {error}") from None
    if why := _refusal(work.spec, work.silver, work.table.spec, rules, is_rebuild=work.aim is Aim.REBUILD):
        raise BadSetting(f"{silver}: {why}")
    rules = replace(rules, persons=_persons(work.spec, work.bronze, work.table.spec, work.table.birth, rules))
    left = work.silver.schema.find_column(LEFT)
    # Also of a table whose rows leave nothing any more: what it records of older rows would become wrong.
    return replace(rules, records_left=True) if left is not None and left.type == LEFT_TYPE else rules


def _persons(
    silver_spec: SilverSpec, bronze: TableState, spec: TableSpec, birth: Birth | None, rules: MergeRules
) -> Persons | None:
    """Return where a row of silver names its persons. None if nobody says which columns of bronze do."""
    personal = spec.personal
    if personal is None or not personal.subject:
        return None
    columns = _source_columns(bronze, birth)
    found = subject_paths(silver_spec, (*personal.subject, RESCUED_COLUMN), columns)
    rescued = found.pop(RESCUED_COLUMN, [])

    def held_paths(paths: Iterable[tuple[str, ...]]) -> Iterator[tuple[str, ...]]:
        return (path for each in paths if (path := spell_path(each, rules.columns)))

    return Persons(
        tuple(dict.fromkeys(held_paths(chain.from_iterable(found.values())))),
        tuple((column[0], name) for column in held_paths(rescued) for name in personal.subject),
    )


def _refusal(
    silver_spec: SilverSpec, state: TableState, spec: TableSpec, rules: MergeRules, *, is_rebuild: bool
) -> str | None:
    if not state.exists:
        return None
    return refusal(
        spec.name, silver_spec, rules, state.properties, state.schema, widens=spec.widen, is_rebuild=is_rebuild
    )


def is_remade(silver_spec: SilverSpec, state: TableState, aim: Aim, spec: TableSpec, rules: MergeRules) -> bool:
    """Return whether a rebuild gives rows another key, order or meaning, so that no row that is there compares."""
    return aim is Aim.REBUILD and _refusal(silver_spec, state, spec, rules, is_rebuild=False) is not None


def fitting_rules(
    options: SilverSpec, columns: Sequence[Field], types_of: TypesOf, declared: Mapping[str, str]
) -> MergeRules:
    """Return the rules of a silver table, whose conditions fit bronze's rows, too.

    Args:
        options: the options, after a preset has set its own.
        columns: bronze's columns, without those that Tidegate adds to loaded tables.
        types_of: returns the types of SQL expressions over a relation of bronze's rows.
        declared: `columns` of the table in `lake.yaml`.

    Raises:
        UnsuitableColumns: bronze lacks a column of an option, or an expression or a condition does not fit.
    """

    def build(awaited: Sequence[Field]) -> MergeRules:
        rules = merge_rules(options, columns, types_of, awaited)
        _check_conditions(conditions(options), rules, types_of)
        return rules

    return with_awaited(build, columns, declared)


def _check_conditions(conditions: Mapping[str, str], rules: MergeRules, types_of: TypesOf) -> None:
    """Check that conditions fit bronze's rows, before anything is written.

    Args:
        conditions: SQL, by what names it in lake.yaml.
        types_of: returns the types of SQL expressions over a relation of bronze's rows.
    """
    relation = rules.add_row_value(BRONZE)
    sqls = {name: f"coalesce({parenthesize(text)}, false)" for name, text in conditions.items()}
    # Spark refuses aggregates next to a column. A merge counts with expectations, and Spark counts with nothing random.
    column = next(iter(rules.values.values()))
    counted = {name: [f"count_if({sql})"] for name, sql in sqls.items() if name.startswith("`expect")}
    of_rows = {name: [sql, column] for name, sql in sqls.items() if name not in counted}
    for asked in (of_rows, counted):
        _check_fit(asked, relation, types_of)


def _check_fit(asked: Mapping[str, Sequence[str]], relation: str, types_of: TypesOf) -> None:
    try:
        if asked:
            types_of([sql for sqls in asked.values() for sql in sqls], relation)
    except UnfitExpression:
        for name, sqls in asked.items():
            try:
                types_of(sqls, relation)
            except UnfitExpression as error:
                raise unfit_option(f"does not fit {name}: {error}", error, name) from None
        raise


def _source_columns(bronze: TableState, birth: Birth | None) -> tuple[Field, ...]:
    """Return bronze's columns that silver is merged from."""
    return silver_source_columns(bronze.schema.fields, is_registered=birth is not None and birth.registered)


def follow_lake_yaml(delta: Delta, work: PendingMerge, rules: MergeRules, log: Callable[[str], None]) -> None:
    """Record in a silver table that exists with which options of lake.yaml its next rows are merged.

    Args:
        log: called with each option that has changed.
    """
    make_private(
        delta, work.location, work.silver, work.table.spec, rules.stored, _source_columns(work.bronze, work.table.birth)
    )
    recorded, now = work.silver.properties.get(OPTIONS), recorded_options(work.spec)
    if is_remade(work.spec, work.silver, work.aim, work.table.spec, rules):
        set_properties(delta.session, work.location, {REBUILDING: now})
        return
    if recorded == now:
        return
    for option in changed_options(recorded, work.spec):
        log(f"{option}; `tidegate rebuild silver.{work.table.spec.name}` makes older rows so, too")
    set_properties(delta.session, work.location, {OPTIONS: now})


def record_remade(delta: Delta, silver_spec: SilverSpec, location: str, rules: MergeRules) -> None:
    """Record that a rebuild gave rows another key, order or meaning. Until then no other merge takes the table.

    Of two rebuilds by other options, the one that began last leaves its rows and records them.
    """
    state = delta.table_state(location)
    now = recorded_options(silver_spec)
    if state.properties.get(REBUILDING) == now:
        set_properties(delta.session, location, {**rules.recorded, OPTIONS: now, REBUILDING: None})


def create_table(delta: Delta, lake_id: str, work: PendingMerge, rules: MergeRules) -> None:
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
    if rules.records_left:
        own.append(Field(LEFT, LEFT_TYPE))
    properties = {"tidegate.lake": lake_id, "delta.enableDeletionVectors": "true", **rules.recorded}
    properties[OPTIONS] = recorded_options(work.spec)
    properties |= private_statistics(work.table.spec, rules.stored, _source_columns(work.bronze, work.table.birth))
    properties |= first_reading(work.n, work.app_id)
    if needs_mapping(rules.stored):
        properties |= BY_NAME
    try:
        command(
            delta.session,
            f"CREATE TABLE IF NOT EXISTS {delta_table(work.location)} ({columns_sql([*rules.stored, *own])}) "
            f"USING delta TBLPROPERTIES ({properties_sql(properties)})",
        )
    except PySparkException:
        if not delta.table_state(work.location).exists:
            raise


def record_first_reading(delta: Delta, location: str, last: int, app_id: str) -> None:
    """Record in a silver table without a mark after which batch bronze is read, unless it records an earlier one.

    A table that this run created records it already. If another run created it, it may record a later batch.
    """
    known = read_after(delta.table_state(location).properties, app_id)
    if known is None or known > last:
        set_properties(delta.session, location, first_reading(last, app_id))


def record_subject(delta: Delta, work: PendingMerge) -> None:
    """Record which columns of the silver table identify the subject, before the first such row is written.

    Forgetting looks there for ever, also after another option of the merge gave the subject another column.
    """
    wanted = _subject_record(
        work.spec, work.bronze, work.table.spec, work.table.birth, work.n if work.silver.files else 0
    )
    if not wanted:
        return
    # The table may be one that another run created, by other options.
    known = work.silver if work.silver.exists else delta.table_state(work.location)
    new = {name: after for name, after in wanted.items() if name not in known.properties}
    set_properties(delta.session, work.location, new)


def renew_subject_record(delta: Delta, work: PendingMerge, version: int) -> None:
    """Record that a rebuild of the whole table gave every row the subject where the present options have it.

    Args:
        work: what was rebuilt.
        version: Delta version of the rebuild. If another commit came after it, its rows may be by other options.
    """
    wanted = _subject_record(work.spec, work.bronze, work.table.spec, work.table.birth, 0)
    if not wanted or (state := delta.table_state(work.location)).version != version:
        return
    stale = (name for name in state.properties if is_record(name) and name not in wanted)
    changed = {**dict.fromkeys(stale), **dict(wanted.items() - state.properties.items())}
    set_properties(delta.session, work.location, changed)


def _subject_record(
    silver_spec: SilverSpec, bronze: TableState, spec: TableSpec, birth: Birth | None, after: int
) -> dict[str, str]:
    personal = spec.personal
    if personal is None:
        return {}
    return subject_record(subject_paths(silver_spec, personal.subject, _source_columns(bronze, birth)), after)


def widen_table(delta: Delta, location: str, state: TableState, rules: MergeRules) -> bool:
    """Add the columns that only bronze has, and the wider types of bronze. Returns whether there were any."""
    columns = [*rules.stored, *([Field(LEFT, LEFT_TYPE)] if rules.records_left else [])]
    wider = state.schema.with_field_types(columns).with_missing_fields(columns)
    if wider == state.schema:
        return False
    delta.add_columns(location, wider)
    return True


def purge_tombstones(delta: Delta, silver_spec: SilverSpec, location: str, mark: int | None, n: int) -> None:
    """Delete expired tombstones, if the merge up to batch `n` passes a multiple of `_PURGE_EVERY`.

    A history keeps them: without a delete, a late change of its key would be valid until now.
    """
    if not silver_spec.is_history and passes(_PURGE_EVERY, mark or 0, n):
        command(
            delta.session,
            f"DELETE FROM {delta_table(location)} WHERE {DELETED} AND {CHANGED_AT} < "
            f"current_timestamp() - INTERVAL {silver_spec.tombstone_days} DAYS",
        )


def private_statistics(spec: TableSpec, columns: Sequence[Field], bronze: Sequence[Field]) -> dict[str, str]:
    """Return the property of a silver table that leaves its personal columns out of statistics, or none.

    A column or nested field has statistics if it is known from which ones of bronze its values are, and none of these
    is personal. What silver derives, the key and the order among it, may have any value of the row.

    Args:
        spec: the table in lake.yaml.
        columns: of the silver table.
        bronze: the columns of bronze that it is merged from.
    """
    if spec.personal is None or spec.silver is None:
        return {}
    personal, origins = spec.personal.paths, silver_origins(spec.silver, bronze)
    private = [origin.place for origin in origins if is_personal_path(origin.path, personal)]
    public = [origin.place for origin in origins if not is_personal_path(origin.path, personal)]
    paths = ((path, tuple(map(fold_name, path))) for path in statistics_paths(columns))
    return only_statistics(path for path, form in paths if _is_of(form, public) and not _is_of(form, private))


def _is_of(path: tuple[str, ...], places: Sequence[tuple[str, ...]]) -> bool:
    """Return whether a path is one of some places, or is within one, or has one within it."""
    return any(path[: len(place)] == place[: len(path)] for place in places)


def make_private(
    delta: Delta, location: str, state: TableState, spec: TableSpec, columns: Sequence[Field], bronze: Sequence[Field]
) -> None:
    """Give a silver table that exists the property, if it does not have it: lake.yaml or the columns have changed.

    Args:
        location: `s3a://` URI of the silver table.
        state: state of the silver table.
        spec: its configuration.
        columns: of the silver table, without those that Tidegate adds to each.
        bronze: the columns of bronze that it is merged from.
    """
    wanted = private_statistics(spec, columns, bronze)
    if not wanted.items() <= state.properties.items():
        set_properties(delta.session, location, wanted)
