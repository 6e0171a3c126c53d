"""Evaluates sensors, as Dagster's daemon does."""

from __future__ import annotations

import dagster as dg
from dagster._core.definitions.sensor_definition import SensorExecutionData

from tidegate.resources.lake_resource import LakeResource


def evaluate(
    sensor: str,
    definitions: dg.Definitions,
    instance: dg.DagsterInstance,
    lake: LakeResource,
    cursor: str | None = None,
) -> SensorExecutionData:
    """Evaluate a sensor once.

    Args:
        sensor: name of the sensor.
        definitions: of the code location.
        instance: Dagster's instance.
        lake: the resource of the lake.
        cursor: that of the last tick.
    """
    with dg.build_sensor_context(
        instance=instance,
        instance_ref=instance.get_ref(),
        definitions=definitions,
        resources=dict.fromkeys(definitions.resources or {}, lake),
        cursor=cursor,
    ) as context:
        return definitions.resolve_sensor_def(sensor).evaluate_tick(context)
