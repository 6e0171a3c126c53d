"""The asset `lake_costs`: what each table costs, and which settings would cost less."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import dagster as dg

from tidegate.assets.keys import LakeNames
from tidegate.assets.presentation.markdown import list_lines, markdown
from tidegate.assets.presentation.plot import bars
from tidegate.assets.runs.long_runs import long_run
from tidegate.assets.sources.asset import table_owners
from tidegate.platform.core.config.lake import CostsSpec, LakeConfig
from tidegate.platform.core.costs.figures import Figures
from tidegate.platform.core.costs.table_cost import LakeCosts, TableReport
from tidegate.platform.inventory.costs.measure import cost_figures, table_costs
from tidegate.platform.inventory.stored_objects import folder_of
from tidegate.resources.lake_resource import LakeResource, with_lake

#: Lines of a table, bars of a plot, and pages that get an event, because Dagster stores each of these events.
_MAX_LINES, _MAX_BARS, _MAX_PAGES = 200, 12, 200
_SERVICES = ("storage", "compute", "S3 requests", "SQS", "DynamoDB")


def build_costs(config: LakeConfig) -> list[dg.AssetsDefinition]:
    """Build the asset of a lake with `costs`."""
    spec = config.costs
    if spec is None:
        return []
    names = LakeNames.from_config(config)
    pages = {spec.table_key.encode(): names.bronze_table(spec.name) for spec in config.tables}

    @dg.asset(
        key=names.lake_costs,
        group_name=names.name("health"),
        owners=table_owners(config),
        kinds={"s3", "spark"},
        description="What each table costs by month and service, from its ledger and its log, and the settings with "
        "which it would cost least. The page of each table has its own lines.",
    )
    @with_lake(names.resource)
    @long_run
    def lake_costs(context: dg.AssetExecutionContext, lake: LakeResource) -> dg.MaterializeResult[Any]:
        now = datetime.now(UTC)
        figures = cost_figures(spec, folder_of(lake.lake_yaml), now, config.lake.commits)
        costs = table_costs(lake.open(), figures, now, spec.months, spec.fresh)
        configured = [table for table in costs.tables if table.table_key in pages]
        for table in configured[:_MAX_PAGES]:
            context.log_event(dg.AssetObservation(pages[table.table_key], metadata=page_metadata(table)))
        more_pages = len(configured[_MAX_PAGES:])
        return dg.MaterializeResult(metadata=costs_metadata(costs, figures, spec, more_pages))

    return [lake_costs]


def page_metadata(table: TableReport) -> dict[str, Any]:
    """Return what the page of a table shows of its cost."""
    now = table.months[0]
    return {
        "cost_of_month": round(now.total, 4),
        "cost_by_month": _months([table]),
        "cost_remedy": table.advice or "none: no other window or `every` saves a twentieth and keeps rows fresh",
    }


def costs_metadata(costs: LakeCosts, figures: Figures, spec: CostsSpec, more_pages: int = 0) -> dict[str, Any]:
    """Return the report of all tables as metadata.

    Args:
        costs: of the tables.
        figures: the units of cost.
        spec: settings of the lake.
        more_pages: number of tables whose page got no cost.
    """
    tables = costs.tables
    totals = [(table.table, table.months[0].total) for table in tables[:_MAX_BARS]]
    remedies = [
        dg.TableRecord({"table": table.table, "remedy": table.advice, "saved $ a month": round(table.remedy.saving, 4)})
        for table in tables
        if table.remedy
    ]
    left_out = {
        "more": sum(len(table.months) for table in tables) - _MAX_LINES,
        "more_remedies": len(remedies) - _MAX_LINES,
        "more_pages": more_pages,
    }
    return {
        "cost_of_month": round(sum(table.months[0].total for table in tables), 4),
        "tables": len(tables),
        "plot": markdown(
            bars("dollars of this month by table", [(name, total, f"{total:,.4f}") for name, total in totals])
        ),
        "by_table_and_month": _months(tables),
        **({"remedies": dg.MetadataValue.table(remedies[:_MAX_LINES])} if remedies else {}),
        **{name: count for name, count in left_out.items() if count > 0},
        **({"not_read": list_lines(costs.warnings)} if costs.unread else {}),
        "fresh_seconds": spec.fresh,
        "figures": dg.MetadataValue.table(
            [
                dg.TableRecord({"figure": name, **figure.to_json(), "value": f"{figure.value:.10g}"})
                for name, figure in figures.figures_with_sources().items()
            ]
        ),
    }


def _months(tables: Sequence[TableReport]) -> dg.TableMetadataValue:
    records = [
        dg.TableRecord(
            {
                "table": table.table,
                "month": cost.month,
                "all $": round(cost.total, 4),
                **{f"{service} $": round(cost.dollars.get(service, 0.0), 4) for service in _SERVICES},
                "batches": cost.batches,
                "files": cost.files,
                "measured seconds": f"{cost.measured:.0%}",
            }
        )
        for table in tables
        for cost in table.months
    ]
    return dg.MetadataValue.table(records[:_MAX_LINES])
