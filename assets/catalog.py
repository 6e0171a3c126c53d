"""The asset `catalog`: each materialization brings the Glue Data Catalog in step with the tables."""

from collections.abc import Iterator
from typing import Any

import dagster as dg

from tidegate.assets.keys import LakeNames
from tidegate.assets.presentation.check_events import check_result
from tidegate.assets.presentation.markdown import list_lines, markdown
from tidegate.assets.sources.asset import table_owners
from tidegate.platform.catalog import CatalogSync, sync_catalog
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.markdown import prose, sentence
from tidegate.resources.lake_resource import LakeResource, with_lake

CATALOG_CHECK = "in_step"
_MAX_SHOWN = 100


def build_catalog(config: LakeConfig) -> list[dg.AssetsDefinition]:
    """Build the asset of a lake with `catalog`."""
    if config.catalog is None:
        return []
    names = LakeNames.from_config(config)

    @dg.asset(
        key=names.catalog,
        group_name=names.name("health"),
        owners=table_owners(config),
        kinds={"glue"},
        description="The entries of the tables in the Glue Data Catalog. A materialization brings all of them in step. "
        "A run that changes the columns of a table does that for its entries.",
        check_specs=[
            dg.AssetCheckSpec(
                CATALOG_CHECK, asset=names.catalog, description="Every table has its entry, with its columns."
            )
        ],
    )
    @with_lake(names.resource)
    def catalog(lake: LakeResource) -> Iterator[dg.MaterializeResult[Any]]:
        done = sync_catalog(lake.open(), dry_run=False)
        yield dg.MaterializeResult(metadata=_metadata(done), check_results=[_check_in_step(names.catalog, done)])

    return [catalog]


def _metadata(done: CatalogSync) -> dict[str, Any]:
    return {
        "entries": done.entries,
        "changed": len(done.changes) - len(done.failed),
        "failed": len(done.failed),
        "changes": list_lines(done.changes[:_MAX_SHOWN]) if done.changes else markdown(sentence("nothing")),
    }


def _check_in_step(asset: dg.AssetKey, done: CatalogSync) -> dg.AssetCheckResult:
    return check_result(
        passed=not done.failed,
        check_name=CATALOG_CHECK,
        asset_key=asset,
        severity=dg.AssetCheckSeverity.WARN,
        description=prose(done.failed[0]) if done.failed else None,
        metadata={"failed": len(done.failed)},
    )
