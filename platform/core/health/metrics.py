"""What is published of a lake's health, in the shape of CloudWatch's PutMetricData."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any, NamedTuple
from urllib.parse import quote

from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.health.measurement import Health
from tidegate.platform.core.keys.s3_address import S3Address
from tidegate.platform.core.portions import portions

NAMESPACE = "Tidegate"

#: Limits of one request of PutMetricData: a thousand metrics, and a megabyte, of which some is left for its frame.
_MAX_DATA = 1000
_MAX_BYTES = 900_000
#: Bytes of one metric as a query string says it, names of fields and numbers included, without names of ours.
_FRAME = 700


class Metric(NamedTuple):
    """One metric by its name and its dimensions, as alarms name it too."""

    name: str
    dimensions: tuple[tuple[str, str], ...]


def lake_dimension(config: LakeConfig) -> str:
    """Return the lake's value of the dimension `Lake`: its root without `s3://`, in ASCII."""
    return quote(S3Address.parse(config.lake.root).bare, safe="/ !\"#$&'()*+,:;<=>?@[]^`{|}")


def metric(config: LakeConfig, name: str, **dimensions: str) -> Metric:
    """Return a metric of a lake, or of one of its tables, queues or routes: `Table="orders"`, `Queue="events"`."""
    return Metric(name, (("Lake", lake_dimension(config)), *dimensions.items()))


def metric_data(health: Health, config: LakeConfig) -> list[dict[str, Any]]:
    """Return every metric of a moment.

    Tables and routes for which nothing waits have none: CloudWatch bills each metric by the hours in which it has data.

    Args:
        health: what was measured.
    """
    at = datetime.fromtimestamp(health.at, UTC)
    metrics: list[tuple[Metric, float, str]] = [
        (metric(config, "PendingFiles"), health.files, "Count"),
        (metric(config, "PendingBytes"), health.size, "Bytes"),
        (metric(config, "OldestEventAge"), health.lag, "Seconds"),
        (metric(config, "TablesBehind"), len(health.behind), "Count"),
        (metric(config, "Quarantined"), sum(health.quarantined.values()), "Count"),
    ]
    for table in health.waiting:
        metrics += [
            (metric(config, "PendingFiles", Table=table.name), table.files, "Count"),
            (metric(config, "PendingBytes", Table=table.name), table.size, "Bytes"),
            (metric(config, "OldestEventAge", Table=table.name), table.lag, "Seconds"),
        ]
    for table in health.tables:
        if table.undecided:
            metrics += [
                (metric(config, "IncompleteDatasetFiles", Table=table.name), table.undecided, "Count"),
                (metric(config, "OldestIncompleteDatasetAge", Table=table.name), table.undecided_age, "Seconds"),
            ]
    for queue in health.queues:
        metrics += [
            (metric(config, "MessagesWaiting", Queue=queue.name), queue.waiting, "Count"),
            (metric(config, "MessagesInFlight", Queue=queue.name), queue.in_flight, "Count"),
            (metric(config, "EventsWithoutTable", Queue=queue.name), sum(queue.missed.values()), "Count"),
        ]
        if queue.dead is not None:
            metrics.append((metric(config, "DeadLetters", Queue=queue.name), queue.dead, "Count"))
    if health.routes:
        metrics += [
            (metric(config, "RoutesBehind"), len(health.routes_behind), "Count"),
            (metric(config, "Undeliverable"), sum(route.undeliverable for route in health.routes), "Count"),
        ]
    for route in health.routes:
        if route.messages:
            metrics += [
                (metric(config, "MessagesWaiting", Route=route.name), route.messages, "Count"),
                (metric(config, "OldestEventAge", Route=route.name), route.lag, "Seconds"),
            ]
    return [
        {
            "MetricName": named.name,
            "Dimensions": [{"Name": name, "Value": value} for name, value in named.dimensions],
            "Timestamp": at,
            "Value": float(value),
            "Unit": unit,
        }
        for named, value, unit in metrics
    ]


def requests(data: Iterable[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """Return the metrics in as few requests as CloudWatch's limits allow."""
    return portions(data, _size, max_items=_MAX_DATA, max_size=_MAX_BYTES)


def _size(datum: dict[str, Any]) -> int:
    return _FRAME + sum(len(quote(dimension["Value"], safe="")) for dimension in datum["Dimensions"])
