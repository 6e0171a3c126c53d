"""The plan of an adoption, for people and for programs."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from tidegate.platform.cli.commands.adopt import plan_answer, plan_lines
from tidegate.platform.core.schema.table_schema import TableSchema
from tidegate.platform.lake.spark.results import TableState
from tidegate.platform.operations.adopt import AdoptionPlan, Share


@pytest.fixture
def plan() -> AdoptionPlan:
    table: Any = SimpleNamespace(spec=SimpleNamespace(name="orders"), table_key="landing.orders")
    schema = TableSchema.from_declared({"id": "bigint"}, {"day": "string"})
    state = TableState(7, None, "id", {"owner": "me"}, schema, 3, ("appendOnly", "rowTracking"))
    shares = {
        "live": Share(3, 300, 30),
        "left": Share(2, 20),
        "gone": Share(1),
        "again": Share(6),
        "other": Share(5, 50, fitting=4),
    }
    return AdoptionPlan(table, "s3a://landing/orders", state, kept=("property owner",), shares=shares)


def test_every_object_of_a_plan_has_a_line(plan: AdoptionPlan) -> None:
    text = "\n".join(plan_lines(plan, enter=False))
    for part in (
        "s3a://landing/orders becomes bronze.orders (landing.orders), registered",
        "version  7, features appendOnly, rowTracking",
        "`id` bigint, by folders day",
        "3 files with 30 rows, 300 bytes",
        "2 objects whose rows left the table before, and 1 that are gone",
        "5 objects that the log does not name, 4 of them Parquet with content: they are quarantined",
        "6 objects whose rows left, with as many bytes, and younger than that: they are quarantined",
        "stays    property owner",
    ):
        assert part in text, text
    assert "they are put into the inbox" in "\n".join(plan_lines(plan, enter=True))
    decided = replace(plan, entered=False)
    assert "they are quarantined" in "\n".join(plan_lines(decided, enter=True)), "as an earlier command decided"
    assert "WARNING" not in text
    assert "REFUSED" not in text


def test_rows_of_files_without_statistics_are_not_taken_for_none(plan: AdoptionPlan) -> None:
    live = replace(plan, shares={"live": Share(3, 300, uncounted=3)})
    assert "3 files with 0 rows and unknown rows of 3 files, 300 bytes" in "\n".join(plan_lines(live, enter=False))
    assert plan_answer(live).live.uncounted == 3


def test_a_writer_that_continues_and_refusals_are_named(plan: AdoptionPlan) -> None:
    text = "\n".join(plan_lines(replace(plan, recent_commits=2, refusals=("no", "never")), enter=False))
    assert "WARNING  2 commits came in the last 15 minutes" in text
    assert text.endswith("REFUSED  no\n  REFUSED  never")


def test_objects_enter_only_if_the_log_knows_what_left(plan: AdoptionPlan) -> None:
    assert "REFUSED" not in "\n".join(plan_lines(plan, enter=True))
    cut = replace(plan, whole_log=False)
    assert "REFUSED" not in "\n".join(plan_lines(cut, enter=False))
    assert "REFUSED  --enter: the log has lost its first commits" in "\n".join(plan_lines(cut, enter=True))
    assert replace(cut, shares={}).all_refusals(enter=True) == ()


def test_a_table_that_the_lake_has_already_is_named(plan: AdoptionPlan) -> None:
    (line,) = plan_lines(replace(plan, adopted=True, unfinished=True), enter=False)
    assert line.endswith("its ledger is not begun: `--yes`, or a run, finishes that")
    (line,) = plan_lines(replace(plan, adopted=True), enter=False)
    assert line == "s3a://landing/orders is bronze.orders of this lake already: nothing is left to do"


def test_the_plan_for_programs_has_its_numbers(plan: AdoptionPlan) -> None:
    answer = plan_answer(plan)
    assert (answer.version, answer.adopted, answer.partition_columns) == (7, False, ("day",))
    assert (answer.live.objects, answer.live.rows, answer.live.bytes) == (3, 30, 300)
    assert (answer.left.objects, answer.gone.objects, answer.again.objects) == (2, 1, 6)
    assert (answer.others.objects, answer.others.fitting) == (5, 4)
