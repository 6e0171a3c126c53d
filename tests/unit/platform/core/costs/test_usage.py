from __future__ import annotations

import datetime

import pytest

from tidegate.platform.core.costs.figures import FIGURES
from tidegate.platform.core.costs.usage import Usage
from tidegate.platform.core.storage.prices import StoragePrices

PRICES = StoragePrices(
    "USD", "2026-11-01", {"STANDARD": ((0.0, 0.0245), (51_200.0, 0.0235))}, writes={"STANDARD": 6e-6}
)


def test_requests_are_billed_by_their_class() -> None:
    """PUT, COPY, POST and LIST cost 12.5 times a GET."""
    dollars = Usage(1_000_000, 1_000_000, 1_000_000, 1_000_000, 1_000_000).dollars(FIGURES)
    assert dollars == pytest.approx({"compute": 0, "S3 requests": 5.4, "SQS": 0.4, "DynamoDB": 0.75})


def test_a_core_is_paid_for_while_it_is_not_used_and_with_its_memory() -> None:
    assert Usage(core_seconds=3_600).dollars(FIGURES)["compute"] == pytest.approx((0.04048 + 4 * 0.004445) / 0.6)


def test_a_price_list_and_lake_yaml_replace_figures_and_say_so() -> None:
    figures = FIGURES.with_prices(PRICES, "s3.csv").with_values({"vcpu_hour": 0.02}, datetime.date(2026, 11, 26))
    assert (figures["s3_write"], figures["s3_gigabyte_month"], figures["vcpu_hour"]) == (6e-6, 0.0245, 0.02)
    assert (figures["s3_read"], FIGURES["vcpu_hour"]) == (4e-7, 0.04048)
    assert figures.find("s3_write").source == "s3.csv"
    assert figures.find("vcpu_hour").source == "lake.yaml, costs"
    assert figures.find("s3_read") == FIGURES.find("s3_read")


@pytest.mark.parametrize("name", sorted(FIGURES))
def test_each_figure_has_a_unit_a_source_and_a_date(name: str) -> None:
    figure = FIGURES.find(name)
    assert figure.value > 0
    assert figure.unit
    assert isinstance(figure.date, datetime.date)
    assert figure.source.startswith(("docs/", "https://", "python -m ", "assumed"))
