"""The types of SQL expressions of `silver` over bronze's rows, and how an expression that does not fit is reported."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from tidegate.platform.core.errors import ConfigurationError, DataError
from tidegate.platform.core.schema.column_types import Type

#: Returns the types of SQL expressions over the rows of a relation. Raises `UnfitExpression` for one that does not fit.
TypesOf = Callable[[Sequence[str], str], Sequence[Type]]


class UnsuitableColumns(DataError, ValueError):
    """Bronze does not have the columns that the options need. The text is a predicate of bronze."""


class LacksColumn(UnsuitableColumns):
    """Bronze lacks one column that the options name.

    Attributes:
        column: its name.
        option: the option that names it.
    """

    def __init__(self, text: str, column: str, option: str) -> None:
        super().__init__(text)
        self.column = column
        self.option = option


class UnfitExpression(ConfigurationError, ValueError):
    """An expression or a condition does not fit bronze's rows. The text says why.

    Attributes:
        column: the column that is missing; None if it is something else that does not fit.
    """

    def __init__(self, text: str, column: str | None = None) -> None:
        super().__init__(text)
        self.column = column


def entries(**options: Iterable[str]) -> list[str]:
    """Return the names of the entries of options, as errors name them."""
    return [f"{option}.{entry}" for option, entries in options.items() for entry in entries]


def types_over(types_of: TypesOf, relation: str, options: Sequence[str]) -> Callable[[Sequence[str]], Sequence[Type]]:
    """Return a function that returns the types of expressions over a relation.

    Args:
        types_of: returns the types of expressions.
        relation: what they are over.
        options: the options that have the expressions, in their order; or one option, which has them all.
    """

    def read_types(sqls: Sequence[str]) -> Sequence[Type]:
        try:
            return types_of(sqls, relation)
        except UnfitExpression as error:
            if len(options) == 1:
                raise unfit_option(f"does not fit `{options[0]}` of `silver`: {error}", error, options[0]) from None
            for option, sql in zip(options, sqls, strict=True):
                types_over(types_of, relation, [option])([sql])
            raise

    return read_types


def unfit_option(text: str, error: UnfitExpression, option: str) -> UnsuitableColumns:
    """Return the error of an option whose expression does not fit.

    Args:
        text: of the error.
        error: why the expression does not fit.
        option: name of the option. A key that no file has had yet would make one row of all.
    """
    is_missing = error.column is not None and option != "keys"
    return LacksColumn(text, error.column or "", option) if is_missing else UnsuitableColumns(text)
