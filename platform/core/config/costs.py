"""How the cost of tables is computed, as `lake.yaml` sets it."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, field_validator

from tidegate.platform.core.config.fields import Cron, Model, Text
from tidegate.platform.core.costs.figures import FIGURES


class CostsSpec(Model):
    """The asset `lake_costs`, and what the cost of tables is computed with."""

    prices: tuple[Text, ...] = ()
    """CSV files of AWS's price lists of S3 of the region: paths, relative to the folder of lake.yaml. Without them the
    prices are those of us-east-1."""
    figures: dict[Text, Annotated[float, Field(ge=0, allow_inf_nan=False)]] = Field(default_factory=dict)
    """Units of cost that differ from the published ones, by name, such as `vcpu_hour`."""
    fresh: Annotated[int, Field(ge=0)] = 300
    """Seconds by which `window` and silver's `every` may delay a row. No remedy delays it for longer."""
    months: Annotated[int, Field(ge=1, le=36)] = 3
    """Months of the report."""
    schedule: Cron = "30 6 * * *"
    """When the report is made again, as a cron schedule in UTC."""

    @field_validator("figures")
    @classmethod
    def _are_known(cls, figures: dict[str, float]) -> dict[str, float]:
        if unknown := sorted(set(figures) - set(FIGURES)):
            raise ValueError(f"{unknown[0]!r} is no unit of cost; give some of {', '.join(FIGURES)}")
        if not 0 < (share := figures.get("utilization", 1.0)) <= 1:
            raise ValueError(f"utilization: {share:g} is no share of the cores; give more than 0, and 1 at most")
        return figures
