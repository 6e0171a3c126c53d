"""Expectations of a silver table: conditions that rows of bronze should fulfil, and what is done with other rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from tidegate.platform.core.config.silver import SilverSpec
from tidegate.platform.core.schema.sql_literal import literal, parenthesize


class OnViolation(StrEnum):
    """What is done with a row that violates an expectation. Such rows are always counted."""

    WARN = "warn"
    #: It does not enter silver.
    DROP = "drop"
    #: The merge fails.
    FAIL = "fail"


@dataclass(frozen=True)
class Expectation:
    """An expectation.

    Attributes:
        name: in `lake.yaml`.
        condition: as in `lake.yaml`.
        action: what is done with rows that violate it.
        violated: SQL over a row of bronze: it is a change that violates the expectation. Never NULL.
    """

    name: str
    condition: str
    action: OnViolation
    violated: str

    @property
    def check(self) -> str:
        """Name of its asset check."""
        return f"expect_{self.name}"


def expectations(silver: SilverSpec) -> tuple[Expectation, ...]:
    """Return the expectations of a table.

    A condition that is NULL does not hold. Deletes, truncates and rows that `skip_when` leaves out are not asked: their
    other columns may be empty.

    Args:
        silver: the options, after a preset has set its own.
    """
    others = [text for text in (silver.deletes, silver.apply_as_truncates, silver.skip_when) if text]
    not_asked = " OR ".join(f"coalesce({parenthesize(text)}, false)" for text in others)
    return tuple(
        Expectation(name, condition, action, _violation_condition(condition, not_asked))
        for action, conditions in (
            (OnViolation.WARN, silver.expect),
            (OnViolation.DROP, silver.expect_or_drop),
            (OnViolation.FAIL, silver.expect_or_fail),
        )
        for name, condition in conditions.items()
    )


def _violation_condition(condition: str, not_asked: str) -> str:
    fails = f"NOT coalesce({parenthesize(condition)}, false)"
    # The condition of a row that is not asked may have no value, so it is not computed, either.
    return f"(CASE WHEN {not_asked} THEN false ELSE {fails} END)" if not_asked else f"({fails})"


def conditions(silver: SilverSpec) -> dict[str, str]:
    """Return all conditions over bronze's row, by how `lake.yaml` names them.

    Args:
        silver: the options, after a preset has set its own.
    """
    of_rows = {
        "delete_when" if silver.apply_as_deletes is None else "apply_as_deletes": silver.deletes,
        "apply_as_truncates": silver.apply_as_truncates,
        "skip_when": silver.skip_when,
    }
    found = {name: text for name, text in of_rows.items() if text}
    for option in ("expect", "expect_or_drop", "expect_or_fail"):
        found |= {f"{option}.{name}": text for name, text in getattr(silver, option).items()}
    return {f"`{name}` of `silver`": text for name, text in found.items()}


def skip_condition(silver: SilverSpec) -> str | None:
    """Return the condition that a row does not enter silver, by `skip_when` or an expectation. None if every row does.

    Args:
        silver: the options, after a preset has set its own.
    """
    texts = [parenthesize(silver.skip_when)] if silver.skip_when else []
    dropped = [each.violated for each in expectations(silver) if each.action is OnViolation.DROP]
    if not dropped:
        return texts[0] if texts else None
    return f"({' OR '.join([*(f'coalesce({text}, false)' for text in texts), *dropped])})"


def dropping_expectation_sql(all_of_table: Sequence[Expectation]) -> str:
    """Return SQL of the name of the first expectation that keeps a row out of silver. NULL if none does."""
    cases = [
        f"WHEN {each.violated} THEN {literal(each.name)}" for each in all_of_table if each.action is OnViolation.DROP
    ]
    return f"CASE {' '.join(cases)} END" if cases else "CAST(NULL AS STRING)"


def option_with(silver: SilverSpec, fragment: str) -> str | None:
    """Return how `lake.yaml` names the expression that a fragment of SQL is of. None if no expression has it.

    Args:
        fragment: of a query of Spark's error. Spaces do not count.
    """
    texts = conditions(silver)
    for option in ("order", "keys"):
        texts |= {f"`{option}` of `silver`": "; ".join(getattr(silver, option))}
    texts |= {f"`derive.{name}` of `silver`": text for name, text in silver.derive.items()}
    wanted = _collapse_spaces(fragment)
    return next((name for name, text in texts.items() if wanted and wanted in _collapse_spaces(text)), None)


def _collapse_spaces(sql: str) -> str:
    return " ".join(sql.split())
