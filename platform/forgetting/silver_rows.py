"""Takes the rows of forgotten subjects out of a silver table, tombstones included.

Rows whose subject no column shows keep a person from being forgotten: deletes that have only a key, and rows from
before an option of silver changed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa
from ulid import ULID

from tidegate.platform.core.bronze.birth import Birth
from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.core.schema.column_reference import quote_path
from tidegate.platform.core.schema.column_types import Field
from tidegate.platform.core.schema.names import silver_source_columns
from tidegate.platform.core.schema.sql_literal import delta_table
from tidegate.platform.core.seams import seam
from tidegate.platform.core.silver.expression_types import UnsuitableColumns
from tidegate.platform.core.silver.subject_paths import Unattributable, personal_key, unattributable_rows
from tidegate.platform.lake.lake import Lake, Table
from tidegate.platform.lake.lake_root.store import LakeStore
from tidegate.platform.lake.silver_suppression import (
    FORGOTTEN,
    columns_of_silver,
    key_is_personal,
    silver_subject,
    silver_suppression,
)
from tidegate.platform.lake.spark.commit_retry import repeat_call
from tidegate.platform.lake.spark.delta import Delta
from tidegate.platform.lake.spark.properties import set_properties
from tidegate.platform.lake.spark.results import TableState
from tidegate.platform.lake.spark.session import command, override_settings
from tidegate.platform.lake.spark.temporary_view import temporary_view
from tidegate.platform.lake.suppression import SubjectProblem, Suppression
from tidegate.platform.silver.value_origins import empty_others_values, records_givers, rows_with_others_values

#: A name that no column of the table has.
_SUBJECT = "_tidegate_subject"
#: A deletion vector leaves the row in its file.
_WITHOUT_VECTORS = "spark.databricks.delta.merge.deletionVectors.persistent"


def rows_in_silver(
    delta: Delta, store: LakeStore, spec: TableSpec, birth: Birth | None, suppression: Suppression
) -> int:
    """Return the number of a silver table's rows, and tombstones, that have something of forgotten subjects.

    Rows of others that have a value of theirs are among them. 0 if the table cannot be searched.

    Raises:
        SubjectProblem: silver does not show whose its rows are.
    """
    state = delta.table_state(_location(store, spec))
    subjects = _subjects(delta, store, spec, birth, suppression, state)
    if subjects is None:
        return 0
    session, location, fields = delta.session, _location(store, spec), state.schema.fields
    found = subjects.select_suppressed(session.read.format("delta").load(location), fields).count()
    if records_givers(state):
        rows = rows_with_others_values(session, location, state, subjects, unknown=False)
        found += subjects.exclude_suppressed(rows, fields).count()
    return found


def _subjects(
    delta: Delta, store: LakeStore, spec: TableSpec, birth: Birth | None, suppression: Suppression, silver: TableState
) -> Suppression | None:
    """Return the list for a silver table. None if there is no table, or nobody can say whose its rows are yet."""
    if not silver.exists:
        return None
    columns = columns_of_silver(delta, birth, silver)
    if not _shows(store, spec, birth, suppression.subject, silver, columns):
        return None
    refuse_hidden_subjects(delta, store, spec, birth, silver, columns)
    return silver_suppression(store, spec, suppression, silver, columns)


def can_search(delta: Delta, store: LakeStore, spec: TableSpec, birth: Birth | None, subject: Sequence[str]) -> bool:
    """Return whether a silver table shows whose its rows are, or does not exist.

    Without a first batch of bronze, it may not show that: nobody knows then how `lake.yaml` makes silver's columns.

    Args:
        spec: its configuration.
        birth: its birth record, if it was born.
        subject: the columns and nested fields of bronze that identify a subject.

    Raises:
        SubjectProblem: bronze has a batch, and silver does not show it.
    """
    silver = delta.table_state(_location(store, spec))
    return not silver.exists or _shows(store, spec, birth, subject, silver, columns_of_silver(delta, birth, silver))


def _shows(
    store: LakeStore,
    spec: TableSpec,
    birth: Birth | None,
    subject: Sequence[str],
    silver: TableState,
    columns: Sequence[Field],
) -> bool:
    try:
        silver_subject(store, spec, subject, silver, columns)
    except SubjectProblem:
        if birth is not None:
            raise
        return False
    return True


def erase_from_silver(
    delta: Delta,
    store: LakeStore,
    table: Table,
    suppression: Suppression,
    run_id: str,
    log: Callable[[str], None] = lambda _: None,
) -> tuple[int, int]:
    """Take the rows of forgotten subjects out of a silver table, and their values out of rows of others.

    A merge that has begun before cannot commit afterwards, and a merge that begins later takes none of their rows.

    Returns:
        The number of rows, without those that only deletion vectors hide (`purge_silver`). And that of rows of others
        of which a value became NULL, because it was of these subjects, or an older version did not record whose.

    Raises:
        SubjectProblem: silver does not show whose its rows are.
        PySparkException: other writers won every attempt, or Spark failed.
    """
    location, deleted, emptied = _location(store, table.spec), 0, 0
    subjects = _subjects(delta, store, table.spec, table.birth, suppression, delta.table_state(location))
    if subjects is None:
        return 0, 0

    def erase() -> None:
        nonlocal deleted, emptied
        end_merges(delta, store, table.spec, run_id)
        seam("forget-barrier")
        deleted += _delete_rows(delta, location, subjects)
        emptied += _empty_suppressed_values(delta, location, subjects)
        seam("forget-silver")

    # The text of an error may have identities.
    repeat_call(erase, lambda _: log("another commit came first, trying again"))
    log(f"{deleted} rows left silver.{table.spec.name}")
    if emptied:
        log(
            f"{emptied} rows of others in silver.{table.spec.name} have NULL in place of a value of these persons, or "
            "of nobody knows whom, which bronze does not give again"
        )
    return deleted, emptied


def purge_silver(delta: Delta, store: LakeStore, spec: TableSpec, log: Callable[[str], None] = lambda _: None) -> None:
    """Take what deletion vectors hide out of the files of a silver table.

    Raises:
        PySparkException: other writers won every attempt, or Spark failed.
    """
    location = _location(store, spec)
    if delta.table_state(location).exists:
        repeat_call(lambda: delta.upkeep.purge(location), lambda _: log("another commit came first, trying again"))


def end_merges(delta: Delta, store: LakeStore, spec: TableSpec, text: str) -> None:
    """Let every merge into a silver table fail that has begun. Its run begins again, and reads the suppression list.

    Args:
        spec: its configuration.
        text: recorded in the silver table.
    """
    # Another value in each call: a merge compares it with the one before it read the list.
    set_properties(delta.session, _location(store, spec), {FORGOTTEN: f"{text} ({ULID()})"})


def _delete_rows(delta: Delta, location: str, suppression: Suppression) -> int:
    session = delta.session
    fields = delta.table_state(location).schema.fields
    known = suppression.select_suppressed(session.read.format("delta").load(location), fields)
    deleted = 0
    with override_settings(session, {_WITHOUT_VECTORS: "false"}):
        for text in suppression.texts(fields):
            found = known.selectExpr(f"{text} AS {_SUBJECT}").where(f"{_SUBJECT} IS NOT NULL").distinct().toArrow()
            held = [value for value in found.column(0).to_pylist() if suppression.holds(str(value))]
            if not held:
                continue
            # A join with a view: the condition of a DELETE would be in the log, with the identities.
            subjects = session.createDataFrame(pa.table({_SUBJECT: pa.array(held, found.column(0).type)}))
            with temporary_view(session, "forgotten", subjects) as view:
                on = f"{text} = s.{_SUBJECT}"
                sql = f"MERGE INTO {delta_table(location)} t USING {view} s ON {on} WHEN MATCHED THEN DELETE"
                (row,) = command(session, sql)
            deleted += int(row["num_deleted_rows"])
    return deleted


def _empty_suppressed_values(delta: Delta, location: str, suppression: Suppression) -> int:
    session, state = delta.session, delta.table_state(location)
    if not records_givers(state):
        return 0
    with override_settings(session, {_WITHOUT_VECTORS: "false"}):
        return empty_others_values(session, location, state, suppression)


def _location(store: LakeStore, spec: TableSpec) -> str:
    return store.uri("silver", spec.name)


def refuse_personal_keys(lake: Lake, specs: Sequence[TableSpec]) -> None:
    """Check that no table may have rows that name nobody and have something of a person, which is their key.

    Raises:
        SubjectProblem: a table may have such rows.
    """
    for spec in specs:
        birth = lake.table(spec.table_key.encode()).birth
        if spec.silver is None or spec.personal is None or not spec.personal.columns or birth is None:
            continue
        known = lake.delta.table_state(birth.location).schema.fields
        try:
            key = personal_key(
                spec.silver, spec.personal.columns, silver_source_columns(known, is_registered=birth.registered)
            )
        except UnsuitableColumns:
            continue  # no merge fits bronze either
        if key is not None:
            raise SubjectProblem(key_is_personal(spec.name, *key))


def refuse_hidden_subjects(
    delta: Delta, store: LakeStore, spec: TableSpec, birth: Birth | None, silver: TableState, columns: Sequence[Field]
) -> None:
    """Check that no row of a silver table may be of a subject that its present columns do not show.

    Args:
        spec: its configuration.
        birth: its birth record, if it was born.
        silver: the state of the silver table, which exists.
        columns: from `columns_of_silver`.

    Raises:
        SubjectProblem: such a row may be there.
    """
    if spec.silver is None or spec.personal is None or birth is None:
        return
    fields = silver.schema.fields
    hidden = unattributable_rows(spec.silver, spec.personal.subject, columns, silver.properties, fields)
    rows = delta.session.read.format("delta").load(store.uri("silver", spec.name)) if hidden else None
    for each in hidden:
        if rows is not None and rows.where(_condition(each)).limit(1).count():
            raise SubjectProblem(_text(spec.name, each))


def _condition(rows: Unattributable) -> str:
    nothing = (f"{quote_path(path)} IS NULL" for path in rows.known)
    other = " OR ".join(f"{quote_path(path)} IS NOT NULL" for path in rows.others or ())
    return " AND ".join([*nothing, *([f"({other})"] if other else [])])


def _text(name: str, rows: Unattributable) -> str:
    why = (
        f"that may be from before silver had {rows.subject}"
        if rows.others is None
        else f"in which {', '.join('.'.join(path) for path in rows.others)} may be {rows.subject} by earlier options "
        "of `silver` in lake.yaml"
    )
    return (
        f"silver.{name} has rows {why}, so nobody can say whose they are: rebuild the table, and then every row has "
        f"the subject where lake.yaml says (tidegate rebuild silver.{name} --yes)"
    )
