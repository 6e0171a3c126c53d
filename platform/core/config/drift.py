"""Settings of lake.yaml that differ from what was fixed at a table's birth, and so have no effect."""

from __future__ import annotations

from tidegate.platform.core.bronze.birth import Birth
from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.core.schema.column_types import Simple, fold_name, strip_ids
from tidegate.platform.core.schema.names import RESCUED_COLUMN, VARIANT_COLUMN
from tidegate.platform.core.schema.sql_types import parse_sql_type
from tidegate.platform.core.schema.table_schema import TableSchema


def other_objects(spec: TableSpec, began: TableSchema) -> str | None:
    """Return why `schema: variant` and the columns of a table do not go together, with the remedy; None if they do.

    Args:
        began: columns of the table.
    """
    wanted = spec.policy == "variant"
    # A column `data` of the type VARIANT that lake.yaml itself declares is an ordinary column.
    if began.holds_objects == wanted or VARIANT_COLUMN in (fold_name(name) for name in spec.columns):
        return None
    ways = (
        ("columns for the fields of its rows", "variant")
        if wanted
        else (f"whole objects in its column {VARIANT_COLUMN}", spec.policy)
    )
    return (
        f"bronze.{spec.name} was born with {ways[0]}, and its `schema` in lake.yaml is {ways[1]}: a table cannot have "
        f"both. Undo the change, or let `tidegate reset {spec.name}` start the table over. Until then its files wait"
    )


def rescued_column_problem(spec: TableSpec, began: TableSchema) -> str | None:
    """Return why `schema: rescue` cannot use the table's column `_rescued_data`, with the remedy; None if it can.

    Args:
        began: columns of the table.
    """
    found = began.find_column(RESCUED_COLUMN)
    if spec.policy != "rescue" or found is None:
        return None
    if found.type == Simple("string") and found.name not in began.partitions:
        return None
    kind = "a column of its folders" if found.name in began.partitions else found.type.sql()
    return (
        f"column {found.name} of bronze.{spec.name} is {kind}, and `schema: rescue` in lake.yaml needs a column of "
        f"that name for text: use another `schema`, or let `tidegate reset {spec.name}` start the table over with "
        "other names. Until then its files wait"
    )


def output_mode_problem(spec: TableSpec, birth: Birth) -> str:
    """Return why a table cannot become an output, or an output a table or another output, with the remedy."""
    wanted = spec.output_mode or "load or register"
    both = "objects of two kinds" if birth.output and spec.output else "a table and in an output"
    return (
        f"{spec.name} was born with mode {birth.mode}, and its `mode` in lake.yaml is {wanted}: its rows cannot be in "
        f"{both}. Undo the change, or {birth.starting_over}. Until then its files wait"
    )


def drift(spec: TableSpec | None, birth: Birth, began: TableSchema | None) -> list[str]:
    """Return a sentence for each difference, with the remedy.

    Args:
        spec: the table's configuration, if it has one.
        birth: its birth record.
        began: the columns it was born with, if they are known.
    """
    if spec is None:
        return []
    no_effect = f", which has no effect: undo the change, or {birth.starting_over}"
    table, found = spec.name if birth.output else f"bronze.{spec.name}", []
    if birth.output != spec.output_mode:
        return [output_mode_problem(spec, birth)]
    if spec.registers not in (None, birth.registered):
        ways = ("register", "load") if birth.registered else ("load", "register")
        found.append(f"{table} was born with mode {ways[0]}, lake.yaml says {ways[1]}{no_effect}")
    if began is None or not began.fields:
        return found
    found += filter(None, (other_objects(spec, began), rescued_column_problem(spec, began)))
    for name, kind in {**spec.columns, **(spec.partition_columns or {})}.items():
        field = began.find_column(name)
        if field is not None and strip_ids(field.type) != parse_sql_type(kind):
            found.append(f"column {name} of {table} was born as {field.type.sql()}, lake.yaml says {kind}{no_effect}")
    columns, said = ", ".join(began.partitions), ", ".join(spec.partition_columns or {})
    if said and fold_name(said) != fold_name(columns):
        found.append(f"{table} was born with partition columns ({columns}), lake.yaml says ({said}){no_effect}")
    return found
