"""The catalog that the tables of a lake are registered in."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, model_validator

from tidegate.platform.core.config.fields import Model, Name

#: A database of Glue. Athena does not accept upper case in it.
DatabaseName = Annotated[str, Field(pattern=r"^[a-z0-9_]{1,128}$")]


class CatalogSpec(Model):
    """The databases of the AWS Glue Data Catalog that have the tables. `bronze`, `silver` or both."""

    bronze: DatabaseName | None = None
    """Database of the bronze tables. Without it they are not registered."""
    silver: DatabaseName | None = None
    """Database of the silver tables: `<name>` is a view, `<name>_with_tombstones` the Delta table."""
    tables: Annotated[tuple[Name, ...], Field(min_length=1)] | None = None
    """Names of the tables that are registered. By default all are, discovered tables too."""

    @model_validator(mode="after")
    def _has_databases(self) -> Self:
        if self.bronze is None and self.silver is None:
            raise ValueError("give bronze, silver, or both: a database of Glue each")
        if self.bronze == self.silver:
            raise ValueError(
                f"bronze and silver are both {self.bronze}, and their tables have the same names: give them two "
                "databases"
            )
        return self

    def has(self, name: str) -> bool:
        """Whether the table of that SQL name is registered."""
        return self.tables is None or name in self.tables
