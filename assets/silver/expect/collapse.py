"""Rows that silver takes for one without a word: those with a NULL in their key, and those that text orders wrongly."""

from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.core.events.row_message import ROW_COLUMNS
from tidegate.platform.core.keys.file_format import FORMATS
from tidegate.platform.core.number_of import number_of
from tidegate.platform.core.schema.column_types import Simple, folded
from tidegate.platform.core.silver.rules import MergeRules

#: The check of each silver asset.
COLLAPSE_CHECK = "silver_keeps_rows_apart"
COLLAPSE_DESCRIPTION = (
    "No changed row has a NULL in its key, of which silver keeps one row, and no column of `order` is text by "
    "inference: as text, 10 is before 9."
)


def inferred_text_order(spec: TableSpec, rules: MergeRules) -> tuple[str, ...]:
    """Returns the columns of `order` that are text, although neither `lake.yaml` nor the format of the files says so.

    Args:
        spec: the table.
        rules: what a row of bronze is in silver.
    """
    if spec.registers or (spec.format and not FORMATS[spec.format].text):
        return ()
    chosen = {folded(name) for name in (*spec.columns, *spec.partition_columns, *ROW_COLUMNS)}
    pairs = zip(rules.order, rules.order_types, strict=True)
    return tuple(
        part.column[0]
        for part, kind in pairs
        if part.column and kind == Simple("string") and folded(part.column[0]) not in chosen
    )


def collapsed(null_keys: int, text_order: tuple[str, ...]) -> str | None:
    """Returns what silver takes for one row, as a sentence with what to do. None if nothing.

    Args:
        null_keys: rows with a NULL in their key.
        text_order: columns of `order` that are text by inference.
    """
    found = []
    if null_keys:
        rows, have = number_of(null_keys, "row"), "has" if null_keys == 1 else "have"
        found.append(
            f"{rows} of the merged batches {have} a NULL in `keys`, and silver keeps one row of each key, "
            "also of NULL. Choose `keys` that every row has, or leave such rows out by `skip_when`"
        )
    if text_order:
        found.append(
            f"`order` has {', '.join(text_order)}, which is text, and `columns` does not say so: as text, 10 is before "
            "9. Give it a type in `columns`, or confirm `string` there"
        )
    return ". ".join(found) or None
