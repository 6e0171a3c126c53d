"""The columns of a table that say something of a person."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import AfterValidator, Field, model_validator

from tidegate.platform.core.config.fields import Model, Text
from tidegate.platform.core.schema.column_reference import is_expression


def _checked_path(text: str) -> str:
    if is_expression(text):
        raise ValueError(f"{text!r} is an expression; name a column, or a nested field as `name.field`")
    return text


ColumnPath = Annotated[Text, AfterValidator(_checked_path)]


class PersonalSpec(Model):
    """The personal columns of a table."""

    columns: Annotated[tuple[ColumnPath, ...], Field(min_length=1)]
    """Columns, or nested fields (`name.field`), of bronze. No statistics of their values are written."""

    @model_validator(mode="after")
    def _distinct(self) -> Self:
        lower = [name.lower() for name in self.columns]
        twice = sorted({name for name in self.columns if lower.count(name.lower()) > 1})
        if twice:
            raise ValueError(f"{', '.join(twice)} is named twice")
        return self

    @property
    def paths(self) -> frozenset[str]:
        """The columns and nested fields in lower case, as Spark compares them."""
        return frozenset(name.lower() for name in self.columns)

    @property
    def names(self) -> frozenset[str]:
        """The last part of each, in lower case: in silver a nested field may have become a column."""
        return frozenset(path.rsplit(".", 1)[-1] for path in self.paths)
