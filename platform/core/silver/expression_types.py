"""The types of SQL expressions of `silver` over bronze's rows, and how an expression that does not fit is reported."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from tidegate.platform.core.schema.column_types import Type

#: Returns the types of SQL expressions over the rows of a relation. Raises `UnfitExpression` for one that does not fit.
TypesOf = Callable[[Sequence[str], str], Sequence[Type]]


class UnsuitableColumns(ValueError):
    """Bronze does not have the columns that the options need. The text is a predicate of bronze."""


class UnfitExpression(ValueError):
    """An expression or a condition does not fit bronze's rows. The text says why."""


def entries(**options: Iterable[str]) -> list[str]:
    """Returns the names of the entries of options, as errors name them."""
    return [f"{option}.{entry}" for option, entries in options.items() for entry in entries]


def types_over(types_of: TypesOf, relation: str, options: Sequence[str]) -> Callable[[Sequence[str]], Sequence[Type]]:
    """Returns a function that returns the types of expressions over a relation.

    Args:
        types_of: returns the types of expressions.
        relation: what they are over.
        options: the options that have the expressions, in their order; or one option, which has them all.
    """

    def types(sqls: Sequence[str]) -> Sequence[Type]:
        try:
            return types_of(sqls, relation)
        except UnfitExpression as error:
            if len(options) == 1:
                raise UnsuitableColumns(f"does not fit `{options[0]}` of `silver`: {error}") from None
            for option, sql in zip(options, sqls, strict=True):
                types_over(types_of, relation, [option])([sql])
            raise

    return types
