"""Rows whose subject no column shows: deletes that have only a key, or rows from before an option of silver changed."""

from __future__ import annotations

from collections.abc import Sequence

from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.core.schema.column_reference import quote_path
from tidegate.platform.core.schema.column_types import Field
from tidegate.platform.core.schema.names import silver_source_columns
from tidegate.platform.core.silver.expression_types import UnsuitableColumns
from tidegate.platform.core.silver.subject_paths import Unattributable, personal_key, unattributable
from tidegate.platform.lake.lake import Lake, Table
from tidegate.platform.lake.silver_suppression import key_is_personal
from tidegate.platform.lake.spark.results import TableState
from tidegate.platform.lake.suppression import SubjectProblem


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


def refuse_hidden_subjects(lake: Lake, table: Table, silver: TableState, columns: Sequence[Field]) -> None:
    """Check that no row of a silver table may be of a subject that its present columns do not show.

    Args:
        lake: the lake.
        table: the bronze table.
        silver: the state of the silver table, which exists.
        columns: from `columns_of_silver`.

    Raises:
        SubjectProblem: such a row may be there.
    """
    spec = table.spec
    if spec.silver is None or spec.personal is None or table.birth is None:
        return
    fields = silver.schema.fields
    hidden = unattributable(spec.silver, spec.personal.subject, columns, silver.properties, fields)
    rows = lake.delta.session.read.format("delta").load(lake.store.uri("silver", spec.name)) if hidden else None
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
