"""The columns of a table that say something of a person, and how a person is forgotten."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, model_validator

from tidegate.platform.core.config.fields import ColumnPath, ColumnPaths, Model, Name
from tidegate.platform.core.config.webhook import SecretSpec
from tidegate.platform.core.errors import BadSetting
from tidegate.platform.core.schema.column_types import fold_name


class PersonalSpec(Model):
    """The personal columns of a table. `subject`, `columns` or both."""

    subject: ColumnPaths = ()
    """Column or nested field that identifies the person, or a list of them."""
    kind: Name = "person"
    """Kind of the persons. Tables in which a value of the subject is the same person have the same kind."""
    columns: tuple[ColumnPath, ...] = ()
    """Further columns, or nested fields (`name.field`), of bronze. No statistics of their values are written."""

    @model_validator(mode="after")
    def _require_distinct(self) -> Self:
        names = (*self.subject, *self.columns)
        lower = [fold_name(name) for name in names]
        twice = sorted({name for name in names if lower.count(fold_name(name)) > 1})
        if twice:
            raise BadSetting(f"{', '.join(twice)} is named twice")
        if not names:
            raise BadSetting("give subject, columns, or both")
        return self

    @property
    def paths(self) -> frozenset[str]:
        """The columns and nested fields in lower case, as Spark compares them."""
        return frozenset(fold_name(name) for name in (*self.subject, *self.columns))


class ForgetSpec(Model):
    """How persons are forgotten."""

    secret: SecretSpec
    """Where the secret of the suppression list is. The list has no identities, only digests that need the secret."""
    days: Annotated[int, Field(ge=1, le=3650)] = 30
    """Days in which a request must be done."""
