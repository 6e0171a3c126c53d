"""The asset `forgotten`: each materialization works off the requests to forget persons."""

from collections.abc import Iterator
from datetime import UTC, datetime

import dagster as dg

from tidegate.assets.keys import LakeNames
from tidegate.assets.presentation.check_events import check_result
from tidegate.assets.presentation.run_log import RunLog
from tidegate.assets.runs.long_runs import long_run
from tidegate.assets.sources.asset import table_owners
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.markdown import sentence, together
from tidegate.platform.forgetting.forget import Progress, progress, work_off
from tidegate.resources.lake_resource import LakeResource, with_lake

FORGOTTEN_CHECK = "forgotten_in_time"


def build_forgotten(config: LakeConfig) -> list[dg.AssetsDefinition]:
    """Build the asset `forgotten` of a lake with `forget`. It has one check, of the days that lake.yaml gives."""
    if config.forget is None:
        return []
    names = LakeNames.of(config)
    asset = names.forgotten

    @dg.asset(
        key=asset,
        group_name=names.name("health"),
        owners=table_owners(config),
        kinds={"deltalake", "s3"},
        description="The requests to forget persons. A materialization deletes their rows, and, when the retention of "
        "the tables is over, the files that had them.",
        check_specs=[
            dg.AssetCheckSpec(
                FORGOTTEN_CHECK,
                asset=asset,
                description=f"Every request is done {config.forget.days} days after it.",
            )
        ],
    )
    @with_lake(names.resource)
    @long_run
    def forgotten(
        context: dg.AssetExecutionContext, lake: LakeResource
    ) -> Iterator[dg.MaterializeResult | dg.AssetCheckResult]:  # type: ignore[type-arg]
        handles = lake.open()
        try:
            states = work_off(handles, f"run {context.run_id}", RunLog(context.log).info)
        except Exception:
            # The check does not wait for a run that succeeds.
            yield _in_time(asset, progress(handles))
            raise
        yield dg.MaterializeResult(metadata=_metadata(states), check_results=[_in_time(asset, states)])

    return [forgotten]


def _metadata(states: list[Progress]) -> dict[str, int]:
    return {
        "requests": len(states),
        "done": sum(one.done is not None for one in states),
        "waiting_for_vacuum": sum(one.erased is not None and one.done is None for one in states),
        "subjects": sum(len(one.request.digests) for one in states),
    }


def _in_time(asset: dg.AssetKey, states: list[Progress]) -> dg.AssetCheckResult:
    now = datetime.now(UTC)
    late = [one for one in states if one.late(now)]
    left = [(one.request.until - now).days for one in states if one.done is None]
    lines = [sentence("{} ({}, due {})", one.request.id, one.state, f"{one.request.until:%Y-%m-%d}") for one in late]
    return check_result(
        passed=not late,
        check_name=FORGOTTEN_CHECK,
        asset_key=asset,
        description=sentence("late: {}", together(", ", lines)) if late else None,
        metadata={"late": len(late), "days_left": min(left) if left else -1},
    )
