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
from tidegate.platform.core.markdown import join_texts, sentence
from tidegate.platform.forgetting.forget import Progress, progress, work_off
from tidegate.resources.lake_resource import LakeResource, with_lake

FORGOTTEN_CHECK = "forgotten_in_time"


def build_forgotten(config: LakeConfig) -> list[dg.AssetsDefinition]:
    """Build the asset `forgotten` of a lake with `forget`. It has one check, of the days that lake.yaml gives."""
    if config.forget is None:
        return []
    names = LakeNames.from_config(config)
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
            yield _check_in_time(asset, progress(handles))
            raise
        yield dg.MaterializeResult(metadata=_metadata(states), check_results=[_check_in_time(asset, states)])

    return [forgotten]


def _metadata(states: list[Progress]) -> dict[str, int]:
    return {
        "requests": len(states),
        "done": sum(state.done is not None for state in states),
        "waiting_for_vacuum": sum(state.erased is not None and state.done is None for state in states),
        "subjects": sum(len(state.request.digests) for state in states),
    }


def _check_in_time(asset: dg.AssetKey, states: list[Progress]) -> dg.AssetCheckResult:
    now = datetime.now(UTC)
    late = [state for state in states if state.is_late(now)]
    left = [(state.request.until - now).days for state in states if state.done is None]
    lines = [
        sentence("{} ({}, due {})", item.request.id, item.state, f"{item.request.until:%Y-%m-%d}") for item in late
    ]
    return check_result(
        passed=not late,
        check_name=FORGOTTEN_CHECK,
        asset_key=asset,
        description=sentence("late: {}", join_texts(", ", lines)) if late else None,
        metadata={"late": len(late), "days_left": min(left) if left else -1},
    )
