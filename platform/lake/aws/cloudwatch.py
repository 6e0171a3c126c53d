"""Publishes metrics to CloudWatch."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Any

from tidegate.platform.core.health.metrics import NAMESPACE, requests


class CloudWatch:
    """Publishes a lake's metrics.

    Args:
        connect: makes the client, at its first use.
    """

    def __init__(self, connect: Callable[[], Any]) -> None:
        self._connect = connect

    @cached_property
    def _client(self) -> Any:
        return self._connect()

    def publish(self, data: Iterable[dict[str, Any]]) -> int:
        """Publish metrics. Returns the number of requests.

        Raises:
            ClientError: CloudWatch refuses them.
            BotoCoreError: it cannot be reached.
        """
        made = 0
        for batch in requests(data):
            self._client.put_metric_data(Namespace=NAMESPACE, MetricData=batch)
            made += 1
        return made
