"""Histories: what a row of silver is with `stored_as: scd2`, and in which columns its times are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tidegate.platform.core.config.silver import SilverSpec
from tidegate.platform.core.config.silver_columns import IS_CURRENT, VALID_FROM, VALID_TO
from tidegate.platform.core.schema.column_reference import is_expression
from tidegate.platform.core.schema.column_types import Field, Simple, Struct, Type, fold_name


@dataclass(frozen=True)
class History:
    """How the changes of a key become rows with a time.

    A table with a history has a row for each change, by key and order. The last change of a row that the view shows has
    `valid_from` of its first one, and the others are hidden.

    Attributes:
        tracked: columns whose change begins a new row.
        names: names of the parts of the order in `valid_from` and `valid_to`. Empty if there is one part: then these
            columns have its value.
        bound: the type of `valid_from` and `valid_to`.
        leaves_values: whether a change may leave the value of a column as it is.
    """

    tracked: tuple[str, ...]
    names: tuple[str, ...]
    bound: Type
    leaves_values: bool

    @property
    def fields(self) -> tuple[Field, ...]:
        """The columns that a history adds to those of its rows."""
        return Field(VALID_FROM, self.bound), Field(VALID_TO, self.bound), Field(IS_CURRENT, Simple("boolean"))


def history(silver: SilverSpec, order_types: Sequence[Type], tracked: Sequence[str]) -> History | None:
    """Return the history of a silver table; None if it has the newest row of each key.

    Args:
        silver: the options, after a preset has set its own.
        order_types: types of the parts of the order.
        tracked: the columns whose change begins a new row.
    """
    if not silver.is_history:
        return None
    names: tuple[str, ...] = ()
    bound = order_types[0]
    if len(order_types) > 1:
        names = tuple(
            f"o{place}" if is_expression(text) else text.split(".")[-1] for place, text in enumerate(silver.order, 1)
        )
        if len({fold_name(name) for name in names}) < len(names):
            names = tuple(f"o{place}" for place in range(1, len(names) + 1))
        bound = Struct(tuple(Field(name, kind) for name, kind in zip(names, order_types, strict=True)))
    return History(tuple(tracked), names, bound, silver.leaves_values)


def recorded_history(silver: SilverSpec) -> dict[str, str]:
    """Return the properties of a silver table that record how its history is made."""
    if not silver.is_history:
        return {}
    tracked = (
        ", ".join(silver.track_history_columns)
        or f"all except {', '.join(silver.track_history_except_columns) or 'those of order'}"
    )
    order = "; ".join(" ".join(text.split()) for text in silver.order)
    return {"tidegate.silver_stored_as": f"scd2 by {order}", "tidegate.silver_track_history": tracked}
