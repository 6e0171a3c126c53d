"""The destinations of a lake's routes."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.config.routes import RouteSpec
from tidegate.platform.lake.aws.clients import Aws
from tidegate.platform.lake.aws.s3 import ObjectStore
from tidegate.platform.lake.aws.sqs import Queue, queue_urls
from tidegate.platform.lake.forwarding.destination import Destination, QueueDestination, ShardedTopics, TopicDestination
from tidegate.platform.lake.forwarding.object_action import ObjectAction, tag_objects
from tidegate.platform.lake.forwarding.tagged_queues import TaggedQueues
from tidegate.platform.lake.forwarding.unwrap_arrays import unwrap_arrays


class Destinations:
    """Opens topics and queues. Sends no request before the first use of a destination.

    Args:
        aws: clients.
        lake: returns the lake's UUID.
    """

    def __init__(self, config: LakeConfig, aws: Aws, lake: Callable[[], str], objects: ObjectStore) -> None:
        self._aws, self._lake, self._objects = aws, lake, objects
        self._own = frozenset(name for queue in config.every_queue for name in queue.names)

    def find(self, route: RouteSpec) -> Destination:
        """Return the destination of a route that has one."""
        if route.tag:
            return ObjectAction("the objects' tags", tag_objects(route, self._objects))
        if route.unwrap:
            return ObjectAction(route.unwrap, unwrap_arrays(route, self._objects))
        grouped = route.group is not None
        if route.topic:
            client = _client(self._aws, "sns", route.topic_region)
            topics = {arn: TopicDestination(client, arn, self._lake(), grouped=grouped) for arn in route.topics}
            return ShardedTopics(route, topics) if route.shards > 1 else topics[route.topic]
        assert route.queue is not None
        return self._queue(route.queue.url or route.queue.name, route.queue.region or "", grouped=grouped)

    def queue(self, route: RouteSpec, name: str) -> Destination:
        """Return a queue of a route that sends to tagged queues."""
        return self._queue(name, "", grouped=route.group is not None)

    def tagged_queues(self, route: RouteSpec) -> TaggedQueues:
        """Return the queues that have the tag of a route. They are read once a minute by all who ask."""
        return _tagged_queues(self._aws, route.queues_tagged or "", self._own)

    def _queue(self, address: str, region: str, *, grouped: bool) -> Destination:
        client = _client(self._aws, "sqs", region)
        queue = Queue(client, address, queue_urls(self._aws, client.meta.endpoint_url))
        return QueueDestination(client, queue, self._lake(), grouped=grouped)


# A sensor opens the lake at each tick. What follows is kept from tick to tick.
@cache
def _client(aws: Aws, service: str, region: str) -> Any:
    return aws.quick_client(service, region)


@cache
def _tagged_queues(aws: Aws, tag: str, excluded: frozenset[str]) -> TaggedQueues:
    return TaggedQueues(lambda: _client(aws, "resourcegroupstaggingapi", ""), tag, excluded)
