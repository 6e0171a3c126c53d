"""What `tidegate inventory` prints with `--json`."""

from __future__ import annotations

from collections.abc import Mapping

from tidegate.platform.cli.answer import Answer


class CostGroup(Answer):
    """Objects that a report of costs puts together."""

    group: Mapping[str, str]
    """Values by the names of the dimensions."""
    objects: int
    """Number of versions of objects, without delete markers."""
    bytes: int
    """Their size."""
    cost_a_month: float
    """Cost of a month. Objects of classes without a price cost nothing in it."""
    bytes_without_price: int
    """Size of objects of classes without a price."""


class CostAnswer(Answer):
    """What the objects of all inventories cost a month."""

    by: tuple[str, ...]
    """The dimensions."""
    currency: str
    """Currency of the costs."""
    prices_from: str
    """Date from which the prices are valid, the newest of the price lists."""
    lines: tuple[CostGroup, ...]
    """The groups, the most expensive first."""
    more: int
    """Number of groups that `--limit` left out."""
    cost_a_month: float
    """Cost of a month of all groups."""
    bytes_without_price: int
    """Size of all objects of classes without a price. Their cost is not known."""
