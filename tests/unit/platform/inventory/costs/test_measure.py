"""What a table's cost depends on in `lake.yaml`, and the time of a report."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from pyspark.errors import PySparkException

from tests.unit.conftest import PAPER
from tidegate.platform.core.config.lake import CostsSpec
from tidegate.platform.core.config.load import load_lake
from tidegate.platform.core.costs.figures import FIGURES
from tidegate.platform.core.costs.replay import Timing
from tidegate.platform.core.costs.table_cost import Recorded, TableReport
from tidegate.platform.core.costs.usage import Usage
from tidegate.platform.core.keys.table_key import TableKey
from tidegate.platform.core.storage.prices import StoragePrices
from tidegate.platform.inventory.costs import measure
from tidegate.platform.inventory.costs.measure import cost_figures, first_month, table_costs
from tidegate.platform.inventory.costs.recorded_tables import unread_because
from tidegate.platform.lake.spark.server_errors import SparkUnreachable

NOW = datetime(2026, 11, 16, tzinfo=UTC)


@pytest.mark.parametrize(
    ("now", "months", "expected"),
    [
        (NOW, 1, (2026, 11)),
        (NOW, 3, (2026, 9)),
        (NOW, 11, (2026, 1)),
        (NOW, 12, (2025, 12)),
        (NOW, 36, (2023, 12)),
        (datetime(2026, 12, 1, 0, 30, tzinfo=timezone(timedelta(hours=1))), 1, (2026, 11)),
    ],
)
def test_months_begin_in_utc(now: datetime, months: int, expected: tuple[int, int]) -> None:
    assert first_month(now, months) == datetime(*expected, 1, tzinfo=UTC)


def test_figures_of_lake_yaml_count_more_than_price_lists(tmp_path: Path) -> None:
    header = "SKU,usageType,StartingRange,PricePerUnit,Unit,Currency,EffectiveDate,TermType,Region Code,operation\n"
    lines = "1,TimedStorage-ByteHrs,0,0.03,GB-Mo,USD,2026-11-01,OnDemand,r,\n"
    lines += "2,Requests-Tier1,0,0.000006,Requests,USD,2026-11-01,OnDemand,r,\n"
    (tmp_path / "s3.csv").write_text(header + lines)
    spec = CostsSpec(prices=("s3.csv",), figures={"s3_write": 1.0})
    found = cost_figures(spec, tmp_path, NOW)
    assert (found["s3_gigabyte_month"], found["s3_write"], found["s3_read"]) == (0.03, 1.0, FIGURES["s3_read"])
    assert cost_figures(CostsSpec(), tmp_path, NOW) == FIGURES


def test_a_lake_whose_commits_only_s3_coordinates_pays_nothing_for_dynamodb(tmp_path: Path) -> None:
    found = cost_figures(CostsSpec(), tmp_path, NOW, "s3")
    assert Usage.batch_usage(found).dollars(found)["DynamoDB"] == 0
    assert {name for name in FIGURES if found[name] != FIGURES[name]} == {
        "batch_dynamodb_writes",
        "batch_dynamodb_reads",
        "batch_s3_writes",
        "register_s3_writes",
    }
    assert (found["batch_s3_writes"], found["register_s3_writes"]) == (8, 7), "a commit stages nothing"
    given = CostsSpec(figures={"batch_dynamodb_reads": 1.0})
    assert cost_figures(given, tmp_path, NOW, "s3")["batch_dynamodb_reads"] == 1


def test_an_unknown_figure_is_refused_with_those_that_are() -> None:
    with pytest.raises(ValueError, match="'vcpu' is not a unit of cost; give some of run_cpu, batch_cpu"):
        CostsSpec(figures={"vcpu": 1.0})


@pytest.mark.parametrize("share", [0.0, 1.1])
def test_a_utilization_that_is_not_a_share_is_refused(share: float) -> None:
    """Costs of compute are divided by it."""
    with pytest.raises(ValueError, match=f"utilization: {share:g} is not a share of the cores; give more than 0"):
        CostsSpec(figures={"utilization": share})
    assert CostsSpec(figures={"utilization": 1.0}).figures == {"utilization": 1.0}


def test_a_figure_without_end_is_refused() -> None:
    with pytest.raises(ValueError, match="finite number"):
        CostsSpec(figures={"vcpu_hour": float("inf")})


def test_a_price_list_in_another_currency_is_refused() -> None:
    """The other figures are in dollars."""
    prices = StoragePrices("CNY", "2026-11-01", {"STANDARD": ((0.0, 0.2),)})
    with pytest.raises(ValueError, match=r"s3\.csv has prices in CNY, and the other units of cost are in USD"):
        FIGURES.with_prices(prices, "s3.csv")


class PaperLake:
    """Tables of the lake on paper, each with a ledger."""

    def __init__(self, path: Path, **items: Any) -> None:
        first, second, *others = PAPER["tables"]
        path.write_text(yaml.safe_dump({**PAPER, "window": 30, "tables": [first, {**second, **items}, *others]}))
        self.config = load_lake(path)
        self.damaged = ""
        self.delta = SimpleNamespace(check_session_alive=lambda: None)
        self.specs = {spec.table_key.encode(): spec for spec in self.config.tables}
        births = SimpleNamespace(tables=lambda: set(self.specs))
        self.store = SimpleNamespace(births=births, uri=lambda *parts: "/".join(parts))

    def table(self, key: str) -> Any:
        spec = self.specs[key]
        if spec.name == self.damaged:
            raise ValueError(f"s3://lake/tables/{key}.json is not a birth record (no JSON): restore its first version")
        clock = SimpleNamespace(n=0 if spec.name == "plain" else 7, version=9)
        ledger = SimpleNamespace(clock=lambda: clock, location=f"l-{key}")
        birth = SimpleNamespace(name=spec.name, registered=spec.name == "orders", output=None, location=f"b-{key}")
        return SimpleNamespace(
            lake=self, table_key=key, key=TableKey.decode(key), spec=spec, birth=birth, ledger=ledger, delta=None
        )


@pytest.fixture
def reports(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    def months(ledgers: Any, since: Any, tick: float, failed: Any, asked: Any) -> Any:
        assert {ledger.version for ledger in ledgers.values()} == {9}
        return [(key, [month.recorded]) for key in ledgers if key in asked]

    month = SimpleNamespace(recorded=Recorded("2026-11"))

    def made(
        recorded: Recorded, fresh: int = 300, only: str = "", listed: Any = None, **items: Any
    ) -> dict[str, TableReport]:
        month.recorded = recorded
        monkeypatch.setattr(measure, "recorded_months", months)
        monkeypatch.setattr(measure, "inventory_sizes", lambda lake, now: listed or {})
        monkeypatch.setattr(measure, "stored_bytes", lambda delta, places: len(list(places)) << 30)
        lake: Any = PaperLake(tmp_path / "lake.yaml", **items)
        return {report.table: report for report in table_costs(lake, FIGURES, NOW, 2, fresh, only).tables}

    return made


BUSY = Recorded("2026-11", batches=2_880, begun=range(2_880), arrivals=[(slot, 3) for slot in range(2_880)])


def test_storage_is_that_of_all_tables_for_the_part_of_the_month(reports: Any) -> None:
    """Half of November has passed. Bronze, ledger and silver have a gigabyte each."""
    found = reports(BUSY)
    assert set(found) == {"orders", "items"}
    assert found["items"].months[0].dollars["storage"] == pytest.approx(3 * 0.5 * 0.023)
    assert set(reports(BUSY, only="landing.items")) == {"items"}


def test_what_an_inventory_lists_counts_more_than_the_log(reports: Any) -> None:
    """Files that no version needs any more are billed too."""
    listed = {"b-landing.items": 5 << 30, "silver/items": 2 << 30}
    (month,) = reports(BUSY, listed=listed)["items"].months
    assert month.dollars["storage"] == pytest.approx((5 + 2 + 1) * 0.5 * 0.023)
    assert month.listed == pytest.approx(2 / 3)


def test_a_month_without_a_batch_has_its_storage_and_the_remedy_is_that_of_the_month_before(reports: Any) -> None:
    items = reports(Recorded("2026-10", batches=2_880, begun=BUSY.begun, arrivals=BUSY.arrivals))["items"]
    assert [month.month for month in items.months] == ["2026-11", "2026-10"]
    assert items.months[0].total == items.months[0].dollars["storage"]
    assert "storage" not in items.months[1].dollars
    assert items.remedy is not None


@pytest.mark.parametrize(
    ("fresh", "settings", "delay"),
    [(300, {}, 300), (120, {}, 120), (300, {"arrives_every": 120}, 120), (300, {"max_lag": 60}, 90)],
)
def test_no_remedy_delays_rows_for_longer_than_lake_yaml_allows(
    reports: Any, fresh: int, settings: dict[str, Any], delay: int
) -> None:
    items = reports(BUSY, fresh, **settings)["items"]
    assert items.timing == Timing(30, 10)
    assert items.remedy is not None
    assert delay - 60 < items.remedy.timing.delay <= delay


def test_a_table_that_a_schedule_merges_has_no_merges(reports: Any) -> None:
    found = reports(BUSY)
    assert (found["orders"].months[0].merges, found["orders"].timing) == (0, Timing(30))
    assert found["items"].months[0].merges == 2_880


def test_a_damaged_table_is_named_and_the_others_have_their_costs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """First a birth record and the log of a table cannot be read, then a ledger."""

    def months(ledgers: Any, since: Any, tick: float, failed: Any, asked: Any) -> Any:
        failed |= {key: PySparkException("FILE_NOT_EXIST: part-0\nat org.apache") for key in asked if "orders" in key}
        return [(key, [BUSY]) for key in asked if key not in failed]

    def stored(delta: Any, places: Any) -> int:
        if any("orders" in place for place in places):
            raise PySparkException("DELTA_TRUNCATED: no log")
        return 1

    lake: Any = PaperLake(tmp_path / "lake.yaml")
    lake.damaged = "items"
    monkeypatch.setattr(measure, "recorded_months", months)
    monkeypatch.setattr(measure, "inventory_sizes", lambda lake, now: {})
    monkeypatch.setattr(measure, "stored_bytes", stored)
    found = table_costs(lake, FIGURES, NOW, 2, 300)
    assert list(found.tables) == []
    assert {key: why.partition(":")[0] for key, why in found.unread.items()} == {
        "landing.items": "s3",
        "landing.orders": "DELTA_TRUNCATED",
    }
    lake.damaged = ""
    monkeypatch.setattr(measure, "stored_bytes", lambda delta, places: 1)
    found = table_costs(lake, FIGURES, NOW, 2, 300)
    assert [report.table for report in found.tables] == ["items"]
    assert found.unread == {"landing.orders": "FILE_NOT_EXIST: part-0"}


def test_a_lost_server_is_not_damage_of_tables(tmp_path: Path) -> None:
    def lost() -> None:
        raise SparkUnreachable("no server")

    lake: Any = PaperLake(tmp_path / "lake.yaml")
    lake.delta.check_session_alive = lost
    with pytest.raises(SparkUnreachable):
        unread_because(lake.delta, PySparkException("closed"))
    assert unread_because(lake.delta, ValueError("no birth\nrecord")) == "no birth"
