"""A page in Dagster for each configured bronze table. Bronze runs of the table's partition fill it."""

from collections.abc import Iterator

import dagster as dg

from tidegate.assets.bronze.asset import previous_report, table_report
from tidegate.assets.bronze.report import check_specs
from tidegate.assets.keys import LakeNames
from tidegate.assets.presentation.example_queries import bronze_queries, format_queries
from tidegate.assets.presentation.freshness import page_freshness
from tidegate.assets.presentation.markdown import describe_table
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.core.markdown import code
from tidegate.resources.lake_resource import LakeResource, with_lake


def table_pages(config: LakeConfig) -> list[dg.AssetsDefinition]:
    """Build an external asset for each configured table, between bronze and silver."""
    # Plain specs would become one definition, and all of its specs would need the same partition of bronze.
    return [dg.AssetsDefinition(specs=[_page(LakeNames.from_config(config), spec)]) for spec in config.tables]


def build_page_checks(config: LakeConfig) -> list[dg.AssetChecksDefinition]:
    """Build the checks of the pages.

    Each bronze run evaluates them. A person can run them too, on the last recorded batches.
    """
    names = LakeNames.from_config(config)
    specs = {names.bronze_table(spec.name): spec for spec in config.tables}
    if not specs:
        return []

    @dg.multi_asset_check(
        name=names.name("bronze_tables"),
        specs=[check for page, spec in specs.items() for check in _checks(page, spec)],
        can_subset=True,
        description="The findings of a table's last bronze run.",
    )
    @with_lake(names.resource)
    def bronze_tables(context: dg.AssetCheckExecutionContext, lake: LakeResource) -> Iterator[dg.AssetCheckResult]:
        wanted = context.selected_asset_check_keys
        pages = sorted({key.asset_key for key in wanted})
        handles = lake.open(specs[pages[0]].table_key.encode())
        for page in pages:
            key = specs[page].table_key.encode()
            report = table_report(handles.table(key), [], previous_report(context.instance, page))
            yield from (
                result for result in report.checks(page) if dg.AssetCheckKey(page, result.check_name or "") in wanted
            )

    return [bronze_tables]


def _checks(page: dg.AssetKey, spec: TableSpec) -> list[dg.AssetCheckSpec]:
    return check_specs(page, after_load=spec.after_load != "keep", completion=spec.completion is not None)


def _page(names: LakeNames, spec: TableSpec) -> dg.AssetSpec:
    partition = dg.SpecificPartitionsPartitionMapping([spec.table_key.encode()])
    return dg.AssetSpec(
        names.bronze_table(spec.name),
        deps=[dg.AssetDep(names.bronze, partition_mapping=partition)],
        group_name=names.name("bronze"),
        owners=list(spec.owners),
        kinds={{None: "deltalake", "repartition": "json"}.get(spec.output_mode, "parquet"), "bronze"},
        tags={"tidegate/layer": "bronze"},
        freshness_policy=page_freshness(spec),
        description=f"{describe_table(spec)}: the {_describe_storage(spec)} of {spec.prefix}. The sensor "
        f"intake fills it, by runs of the partition {code(spec.table_key.encode())} of the asset bronze. These runs "
        "report here what they added. To run it by hand, materialize that partition.",
        metadata={"dagster/uri": spec.output.folder}
        if spec.output
        else {"dagster/table_name": f"bronze.{spec.name}", "sql": format_queries(bronze_queries(spec.name))},
    )


def _describe_storage(spec: TableSpec) -> str:
    return f"output ({spec.output.folder})" if spec.output else "bronze table"
