"""The alarms of a lake, as a CloudFormation template: derived from lake.yaml, so that limits are stated once."""

from __future__ import annotations

import hashlib
import re
from typing import Any

from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.health.metrics import NAMESPACE, Metric, lake_dimension, metric

#: Seconds between two measurements, and the period of every alarm.
PERIOD = 300
#: A template has at most 500 resources; the tables and routes beyond are covered by the alarms on `TablesBehind` and
#: `RoutesBehind`.
_MAX_TABLES, _MAX_ROUTES = 400, 40
_MAX_NAME = 255
#: Periods in a row whose least backlog is above that of the one before, until an alarm. A period lasts hours, at most
#: a day (CloudWatch's limit).
_RISES, _HOUR, _MAX_HOURS = 3, 3600, 24
#: Seconds that a message may wait in a queue: thirty ticks of the intake.
_OLDEST_MESSAGE = 900


def template(config: LakeConfig) -> dict[str, Any]:
    """Return the CloudFormation template.

    What SQS itself publishes is watched there: those alarms work while nothing of Tidegate does.
    """
    resources = {**_lake_alarms(config), **_queue_alarms(config), **_table_alarms(config), **_route_alarms(config)}
    return {
        "AWSTemplateFormatVersion": "2010-09-09",
        "Description": f"Alarms of the Tidegate lake {config.lake.root}",
        "Parameters": {
            "Topic": {"Type": "String", "Default": "", "Description": "ARN of the SNS topic to notify; may be empty"}
        },
        "Conditions": {"HasTopic": {"Fn::Not": [{"Fn::Equals": [{"Ref": "Topic"}, ""]}]}},
        "Resources": resources,
    }


def without_dead_letters(config: LakeConfig) -> list[str]:
    """Return queues that get no alarm on dead letters, for lake.yaml does not name their dead-letter queue."""
    return [queue.name for queue in config.every_queue if not queue.dlq]


def _lake_alarms(config: LakeConfig) -> dict[str, Any]:
    behind = metric(config, "TablesBehind")
    return {
        "TablesBehind": _alarm(
            config,
            "a table is behind",
            "An event has waited for a table for longer than its window and max_lag. Look at the asset lake_health.",
            behind,
            above=0,
            times=2,
        ),
        "NotMeasured": _alarm(
            config,
            "nothing is measured",
            "Tidegate has published no metrics for 15 minutes. Do Dagster's daemon and its sensor health run?",
            behind,
            below=1,
            statistic="SampleCount",
            times=3,
            missing="breaching",
        ),
        "Quarantined": _alarm(
            config,
            "something is in quarantine",
            "Objects or rows were quarantined in the last 24 hours. `tidegate redrive` lists them with their reasons.",
            metric(config, "Quarantined"),
            above=0,
        ),
        **_alarm_without_drop(config),
    }


def _alarm_without_drop(config: LakeConfig) -> dict[str, Any]:
    """Return the alarm on a backlog that does not drop. There is none if a window lasts a day.

    Lows are compared, because a healthy backlog rises and falls. One that stays as it is may be healthy, too: whether
    its events leave is what the ages of the oldest ones say.
    """
    hours = 1 + max([config.window, *(spec.window for spec in config.tables)]) // _HOUR
    if hours > _MAX_HOURS:
        return {}
    return {
        "NotDropping": _alarm_of_expression(
            config,
            "the backlog does not drop",
            f"Events wait, and the fewest of {hours} hours were more than those before, {_RISES} times in a row. Find "
            "what is slow on the asset lake_health, or allow more runs at once.",
            metric(config, "PendingFiles"),
            # CloudWatch's metric math. DIFF has no value for the first period, so there is one more.
            "IF(DIFF(waiting) > 0, 1, 0)",
            period=hours * _HOUR,
            times=_RISES,
        )
    }


def _queue_alarms(config: LakeConfig) -> dict[str, Any]:
    found = {}
    for queue in config.every_queue:
        name = queue.name
        own = Metric("ApproximateAgeOfOldestMessage", (("QueueName", name),))
        found[resource_id("Undrained", name)] = _alarm(
            config,
            f"queue {name} is not drained",
            "A message has been in the queue for 15 minutes. Does Dagster's sensor intake run?",
            own,
            namespace="AWS/SQS",
            above=_OLDEST_MESSAGE,
        )
        found[resource_id("WithoutTable", name)] = _alarm(
            config,
            f"queue {name} brings events without a table",
            "Events of the day (UTC) were malformed, or no table takes them. See the queue's check "
            "every_event_has_a_table, and lake.intake.",
            metric(config, "EventsWithoutTable", Queue=name),
            above=0,
        )
        if queue.dlq:
            dead = Metric("ApproximateNumberOfMessagesVisible", (("QueueName", queue.dlq),))
            found[resource_id("DeadLetters", queue.dlq)] = _alarm(
                config,
                f"queue {queue.dlq} has dead letters",
                f"Messages of {name} could not be processed. Redrive them once the cause is fixed.",
                dead,
                namespace="AWS/SQS",
                above=0,
            )
    return found


def _table_alarms(config: LakeConfig) -> dict[str, Any]:
    return {
        resource_id("Behind", spec.name): _alarm(
            config,
            f"{spec.name} is behind",
            f"The oldest event that waits for {spec.name} is too old. Owners: {', '.join(spec.owners) or 'not named'}.",
            metric(config, "OldestEventAge", Table=spec.name),
            above=spec.lag_limit,
            times=2,
        )
        for spec in config.tables[:_MAX_TABLES]
    }


def _route_alarms(config: LakeConfig) -> dict[str, Any]:
    if not config.routes:
        return {}
    return {
        "RoutesBehind": _alarm(
            config,
            "a route is behind",
            "An event has waited to be forwarded for longer than the route's max_lag. Look at the asset lake_health.",
            metric(config, "RoutesBehind"),
            above=0,
            times=2,
        ),
        "Undeliverable": _alarm(
            config,
            "messages are undeliverable",
            "A destination never takes some messages of a route. `tidegate redrive` lists them with their reasons.",
            metric(config, "Undeliverable"),
            above=0,
        ),
        **{
            resource_id("RouteBehind", route.name): _alarm(
                config,
                f"route {route.name} is behind",
                "The oldest event that waits to be forwarded is too old. The check delivered of the asset "
                f"routes/{route.name} has the error. Owners: {', '.join(route.owners) or 'not named'}.",
                metric(config, "OldestEventAge", Route=route.name),
                above=route.max_lag,
                times=2,
            )
            for route in config.routes[:_MAX_ROUTES]
        },
    }


def _alarm(
    config: LakeConfig,
    name: str,
    description: str,
    watched: Metric,
    *,
    above: int | None = None,
    below: int | None = None,
    statistic: str = "Maximum",
    times: int = 1,
    missing: str = "notBreaching",
    namespace: str = NAMESPACE,
) -> dict[str, Any]:
    return _resource(
        config,
        name,
        description,
        {
            "Namespace": namespace,
            "MetricName": watched.name,
            "Dimensions": _dimensions(watched),
            "Statistic": statistic,
            "Period": PERIOD,
            "EvaluationPeriods": times,
            "ComparisonOperator": "GreaterThanThreshold" if below is None else "LessThanThreshold",
            "Threshold": above if below is None else below,
            "TreatMissingData": missing,
        },
    )


def _alarm_of_expression(
    config: LakeConfig, name: str, description: str, watched: Metric, expression: str, *, period: int, times: int
) -> dict[str, Any]:
    """Return an alarm on an expression of metric math that is above 0. It knows the metric as `waiting`."""
    source = {"Namespace": NAMESPACE, "MetricName": watched.name, "Dimensions": _dimensions(watched)}
    query = {"Metric": source, "Period": period, "Stat": "Minimum"}
    return _resource(
        config,
        name,
        description,
        {
            "Metrics": [
                {"Id": "waiting", "MetricStat": query, "ReturnData": False},
                {"Id": "alarm", "Expression": expression, "Label": name},
            ],
            "EvaluationPeriods": times + 1,
            "DatapointsToAlarm": times,
            "ComparisonOperator": "GreaterThanThreshold",
            "Threshold": 0,
            "TreatMissingData": "notBreaching",
        },
    )


def _dimensions(watched: Metric) -> list[dict[str, str]]:
    return [{"Name": key, "Value": value} for key, value in watched.dimensions]


def _resource(config: LakeConfig, name: str, description: str, condition: dict[str, Any]) -> dict[str, Any]:
    topic = {"Fn::If": ["HasTopic", [{"Ref": "Topic"}], {"Ref": "AWS::NoValue"}]}
    return {
        "Type": "AWS::CloudWatch::Alarm",
        "Properties": {
            "AlarmName": f"Tidegate {lake_dimension(config)}: {name}"[:_MAX_NAME],
            "AlarmDescription": description,
            **condition,
            "AlarmActions": topic,
            "OKActions": topic,
        },
    }


def resource_id(kind: str, name: str) -> str:
    """Return the id of a resource of a template: letters and digits only, unique, and the same for ever."""
    words = "".join(word.capitalize() for word in re.findall(r"[a-zA-Z0-9]+", name))
    return f"{kind}{words}{hashlib.sha256(name.encode()).hexdigest()[:6]}"
