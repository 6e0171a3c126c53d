"""Several topics among which a route divides the event types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from botocore.exceptions import BotoCoreError, ClientError

from tidegate.platform.core.config.routes import RouteSpec
from tidegate.platform.core.forwarding.outgoing import Outgoing
from tidegate.platform.core.wording import first_line
from tidegate.platform.lake.forwarding.destination import Destination, Refusal, send_with_fallback


class ShardedTopics:
    """The topics of a route with `shards`. Each event type has one of them.

    Args:
        route: the route.
        topics: its topics by their ARNs.
    """

    def __init__(self, route: RouteSpec, topics: Mapping[str, Destination]) -> None:
        self._route, self._topics = route, topics
        first = next(iter(topics.values()))
        self.name = f"the topics of route {route.name}"
        self.ordered, self.max_bytes, self.one_by_one = first.ordered, first.max_bytes, first.one_by_one

    def send(self, messages: Sequence[Outgoing]) -> list[Refusal]:
        """Publish up to ten messages, in one call for each of their topics. See `Destination.send`.

        A topic that fails keeps its own messages only: they are refused for now, with the error.
        """
        places: dict[str, list[int]] = {}
        for place, message in enumerate(messages):
            places.setdefault(self._route.topic_of(message.event_type), []).append(place)
        return [refusal for arn, own in places.items() for refusal in self._publish(arn, own, messages)]

    def _publish(self, arn: str, places: Sequence[int], messages: Sequence[Outgoing]) -> list[Refusal]:
        try:
            refused = send_with_fallback(self._topics[arn], [messages[place] for place in places])
        except (BotoCoreError, ClientError) as error:
            return [Refusal(place, f"{arn}: {first_line(error)}", of_the_message=False) for place in places]
        return [Refusal(places[found.place], found.reason, found.of_the_message) for found in refused]
