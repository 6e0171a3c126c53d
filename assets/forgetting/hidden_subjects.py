"""Rows of a silver table whose subject no column shows, because options of the merge have changed."""

from __future__ import annotations

from collections.abc import Sequence

from tidegate.platform.core.schema.column_reference import as_sql
from tidegate.platform.core.schema.column_types import Field
from tidegate.platform.core.silver.subject_paths import Unattributable, unattributable
from tidegate.resources.lake import Lake, Table
from tidegate.resources.spark.results import TableState
from tidegate.resources.suppression import SubjectProblem


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
    nothing = (f"{as_sql(path)} IS NULL" for path in rows.known)
    other = " OR ".join(f"{as_sql(path)} IS NOT NULL" for path in rows.others or ())
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
