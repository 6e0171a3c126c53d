"""The page of the cost of a lake at rest: its arithmetic, and the prices that the code has."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tidegate.platform.core.costs.figures import FIGURES

PAGE = (Path(__file__).parents[3] / "docs" / "operate" / "cost-at-rest.md").read_text(encoding="utf-8")
HOURS = 730
ROWS = {what.strip(): (how, float(dollars)) for what, how, dollars in re.findall(
    r"^\| (.+?) \| (.+?) \| ([0-9.]+) \|$", PAGE, re.MULTILINE)}  # fmt: skip


@pytest.mark.parametrize("what", [what for what, (how, _) in ROWS.items() if re.search(r"\d", how)])
def test_the_dollars_of_a_row_follow_from_its_arithmetic(what: str) -> None:
    how, dollars = ROWS[what]
    hourly, _, monthly = how.partition(" an hour + ") if " an hour + " in how else (how, "", "")
    if " an hour" not in how:
        hourly, monthly = "", how

    def total(text: str) -> float:
        """Return the value of sums of products."""
        found = 0.0
        for term in filter(None, text.split(" + ")):
            product = 1.0
            for factor in re.findall(r"[0-9.]+", term):
                product *= float(factor)
            found += product
        return found

    assert round(total(hourly) * HOURS + total(monthly), 2) == dollars


@pytest.mark.parametrize(
    ("what", "figures"),
    [
        ("or Fargate, which nobody has tried: 2 cores and 8 GB", ("vcpu_hour", "gigabyte_hour")),
        ("S3, reads", ("s3_read",)),
        ("S3, listings", ("s3_write",)),
        ("SQS", ("sqs_request",)),
        ("100 GB in S3", ("s3_gigabyte_month",)),
    ],
)
def test_prices_are_those_that_tidegate_cost_uses(what: str, figures: tuple[str, ...]) -> None:
    numbers = {float(text) for text in re.findall(r"[0-9.]+", ROWS[what][0])}
    assert {FIGURES[name] for name in figures} <= numbers


def test_the_machine_and_its_disk_are_those_of_the_recipe() -> None:
    template = (Path(__file__).parents[3] / "deploy" / "aws" / "machine.yaml").read_text(encoding="utf-8")
    (kind,) = re.findall(r"^    Default: (m\S+)$", template, re.MULTILINE)
    (disk,) = re.findall(r"VolumeSize: (\d+), VolumeType: (gp3)", template)
    assert any(f"`machine.yaml`, an {kind}: " in what for what in ROWS)
    assert ROWS[f"the disk of `machine.yaml`: {disk[0]} GB of {disk[1]}"][0].startswith(f"{disk[0]} × ")
