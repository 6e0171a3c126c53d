"""Which inventories reports count: of each bucket one, because each lists the same objects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date

from tidegate.platform.core.inventory.delivery import Subject
from tidegate.platform.core.inventory.manifest import InventoryError
from tidegate.platform.core.schema.sql_literal import literal


def buckets_with_several(subjects: Iterable[Subject]) -> dict[str, list[str]]:
    """Return the buckets with inventories of several configurations, with the names of these, in order."""
    found: dict[str, list[str]] = {}
    for subject in sorted(subjects):
        found.setdefault(subject.bucket, []).append(subject.configuration)
    return {bucket: names for bucket, names in found.items() if len(names) > 1}


def uncounted_inventories(newest: Mapping[Subject, date], configuration: str) -> list[Subject]:
    """Return the inventories that a report leaves out.

    A choice is only about buckets with several configurations. Those without the chosen one count their newest.

    Args:
        newest: when the newest inventory of each subject was begun.
        configuration: the choice. Empty: none.

    Raises:
        InventoryError: a bucket has several configurations, and none is chosen; or no bucket has the chosen one.
    """
    several = buckets_with_several(newest)
    if configuration:
        names = sorted({subject.configuration for subject in newest})
        if names and configuration not in names:
            raise InventoryError(f"no inventory is of the configuration {configuration}, only of {', '.join(names)}")
    elif several:
        bucket, names = next(iter(several.items()))
        raise InventoryError(
            f"the bucket {bucket} has inventories of {' and '.join(names)}, and its objects would be counted twice: "
            "choose a configuration"
        )

    def rank(subject: Subject) -> tuple[bool, date, str]:
        return subject.configuration == configuration, newest[subject], subject.configuration

    counted = {max((Subject(bucket, name) for name in names), key=rank) for bucket, names in several.items()}
    return [subject for subject in sorted(newest) if subject.bucket in several and subject not in counted]


def counted_rows_condition(subjects: Iterable[Subject], left_out: Iterable[Subject]) -> str:
    """Return the SQL condition of the rows that count. Empty: all.

    Args:
        subjects: of the table.
        left_out: those that do not count.
    """
    buckets: dict[str, list[str]] = {}
    for subject in sorted(left_out):
        buckets.setdefault(subject.configuration, []).append(subject.bucket)
    all_of = {name: {one.bucket for one in subjects if one.configuration == name} for name in buckets}
    conditions = []
    for name, some in buckets.items():
        if all_of[name] == set(some):
            conditions.append(f"configuration <> {literal(name)}")
        else:
            among = ", ".join(map(literal, some))
            conditions.append(f"NOT (configuration = {literal(name)} AND bucket IN ({among}))")
    return " AND ".join(conditions)
