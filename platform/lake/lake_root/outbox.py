"""The outbox: messages that wait to be forwarded, for each route and for each queue that could not take them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice

from tidegate.platform.core.forwarding.outbox_message import OutboxName, Outgoing, split_into_objects
from tidegate.platform.core.seams import seam
from tidegate.platform.core.stored_members import read_note, reading
from tidegate.platform.lake.lake_root.root import LakeRoot
from tidegate.platform.lake.threads import parallel

#: Objects of a lane, and undeliverable messages of a route, that a measurement lists.
_MAX_LISTED, _MAX_COUNTED = 10_000, 1_000
#: Undeliverable messages that are read at a time. Each has up to a megabyte.
_AT_ONCE = 32


@dataclass(frozen=True, slots=True)
class Lane:
    """The messages of a route that wait in one order.

    Attributes:
        route: name of the route.
        queue: name of the queue that could not take them. Empty: the messages that came from the intake.
    """

    route: str
    queue: str = ""

    def __str__(self) -> str:
        return f"{self.route} to {self.queue}" if self.queue else self.route


@dataclass(frozen=True, slots=True)
class OutboxObject:
    """An object of the outbox."""

    lane: Lane
    name: OutboxName


@dataclass(frozen=True, slots=True)
class OutboxBacklog:
    """What waits in a lane.

    Attributes:
        messages: number of messages, at least.
        oldest: epoch milliseconds of the oldest event. 0: none waits.
    """

    messages: int
    oldest: int

    def age(self, now: float) -> float:
        """Return the seconds since the oldest event was sent to the lake's queue.

        Args:
            now: epoch seconds.
        """
        return max(0.0, now - self.oldest / 1000)


@dataclass(frozen=True, slots=True)
class Undeliverable:
    """A message that its destination does not take.

    Attributes:
        key: key of its object.
        at: when it was quarantined, by S3's clock.
        reason: why the destination does not take it.
    """

    key: str
    at: datetime
    reason: str
    message: Outgoing


class Outbox:
    """`outbox/<route>/<name>` and `outbox/<route>/to/<queue>/<name>`."""

    def __init__(self, root: LakeRoot) -> None:
        self._root = root

    def put(self, by_lane: Iterable[tuple[Lane, Sequence[Outgoing]]], ulid: str = "") -> None:
        """Write messages durably.

        Args:
            by_lane: messages, in their order.
            ulid: place in the order of the lane, for messages of one object. By default they come last.
        """
        # Two objects at one place might have one name, so the messages of one object stay together.
        divide = (lambda messages: [list(messages)]) if ulid else split_into_objects
        contents = [(lane, content) for lane, messages in by_lane for content in divide(messages)]
        # The names are made in order, before the threads begin.
        objects = [(OutboxObject(lane, OutboxName.from_messages(content, ulid)), content) for lane, content in contents]

        def put(item: tuple[OutboxObject, list[Outgoing]]) -> None:
            body = "".join(f"{message.to_json()}\n" for message in item[1])
            self._root.objects.put(self._root.bucket, self._key(item[0]), body)

        for _ in parallel(put, objects):
            pass

    def lanes(self) -> list[Lane]:
        """Return the lanes in which something waits."""
        return [lane for lanes in parallel(self.lanes_of, self.routes()) for lane in lanes]

    def routes(self) -> Sequence[str]:
        """Return the names of the routes for which something waits."""
        return self._root.objects.folders(self._root.bucket, self._root.key("outbox", ""))

    def lanes_of(self, route: str) -> list[Lane]:
        """Return the lanes of a route: that of the intake, and those of queues in which something waits."""
        folder = self._root.key("outbox", route, "to", "")
        return [Lane(route), *(Lane(route, queue) for queue in self._root.objects.folders(self._root.bucket, folder))]

    def waiting_objects(self, lane: Lane) -> Iterator[OutboxObject]:
        """Yield the objects of a lane in their order. Pages of the listing are requested as they are needed."""
        folder = self._folder(lane)
        for item in self._root.objects.list_under(self._root.bucket, folder):
            name = OutboxName.parse(item.key[len(folder) :])
            if name:
                yield OutboxObject(lane, name)
            elif not lane.queue and item.key.startswith(f"{folder}to/"):
                return

    def backlogs(self, lanes: Iterable[Lane]) -> dict[Lane, OutboxBacklog]:
        """Return what waits in those of some lanes in which something waits."""
        return {lane: backlog for lane in lanes if (backlog := self._backlog(lane)).messages}

    def _backlog(self, lane: Lane) -> OutboxBacklog:
        """Return what waits in a lane, by the names of its first objects."""
        messages = oldest = 0
        for place, found in enumerate(self.waiting_objects(lane)):
            messages += found.name.messages
            oldest = min(oldest or found.name.oldest, found.name.oldest)
            if place == _MAX_LISTED:
                break
        return OutboxBacklog(messages, oldest)

    def read(self, found: OutboxObject) -> list[Outgoing]:
        """Return the messages of an object; none if it was deleted meanwhile.

        Raises:
            BadValue: the object was changed from outside. The message names it.
        """
        key = self._key(found)
        body = self._root.objects.get(self._root.bucket, key)
        with reading(self._root.address(key), "an object of an outbox", "move it away"):
            return [Outgoing.from_json(line) for line in (body or b"").decode().split("\n") if line]

    def replace(self, found: OutboxObject, left: Sequence[Outgoing]) -> None:
        """Keep only the messages of an object that are left, at its place in the order."""
        self.put([(found.lane, left)], found.name.ulid)
        # A message that was divided counts as two, so the name may be the object's own.
        if OutboxName.from_messages(list(left), found.name.ulid) != found.name:
            self.delete(found)

    def delete(self, found: OutboxObject) -> None:
        """Delete an object whose messages were delivered, or are kept elsewhere."""
        self._root.objects.delete(self._root.bucket, [self._key(found)])

    def keep_undeliverable(self, found: OutboxObject, messages: Sequence[tuple[Outgoing, str]]) -> None:
        """Keep messages of an object that their destination never takes, with the reasons, in quarantine.

        A message that a redrive brought back has the place of another object. So it does not replace itself in
        quarantine, from where the redrive may just be deleting it.
        """

        def keep(item: tuple[Outgoing, str]) -> None:
            message, reason = item
            # Only escaped, because the text of a body may have half of a surrogate pair.
            content = json.dumps({"reason": reason, "message": message.to_dict()})
            key = f"{self._quarantine(found.lane.route)}{message.digest_with(message.to)}-{found.name.ulid}.json"
            self._root.objects.put(self._root.bucket, key, content)

        for _ in parallel(keep, messages):
            pass

    def undeliverable_count(self, route: str) -> int:
        """Return how many messages are in the quarantine of a route, up to the number of one page of a listing."""
        listed = self._root.objects.list_under(self._root.bucket, self._quarantine(route))
        return sum(1 for _ in islice(listed, _MAX_COUNTED))

    def routes_with_undeliverable(self) -> Sequence[str]:
        """Return the names of the routes that have messages in quarantine."""
        return self._root.objects.folders(self._root.bucket, self._root.key("quarantine", "routes", ""))

    def undeliverable_messages(self, route: str) -> Iterator[Undeliverable]:
        """Yield the messages in the quarantine of a route, by key. Few of them are in memory at a time.

        Raises:
            ValueError: an object was changed from outside. The message names it.
        """
        objects, bucket = self._root.objects, self._root.bucket
        listed = iter(objects.list_under(bucket, self._quarantine(route)))
        while some := list(islice(listed, _AT_ONCE)):
            for item, body in zip(some, parallel(lambda item: objects.get(bucket, item.key), some), strict=True):
                if body is not None:
                    yield self._parse_undeliverable(item.key, body, datetime.fromtimestamp(item.modified, UTC))

    def send_again(self, route: str, messages: Sequence[Undeliverable]) -> None:
        """Move messages from the quarantine of a route to its outbox.

        They are read again, and deleted in quarantine after they are in the outbox.
        """
        objects, bucket = self._root.objects, self._root.bucket
        bodies = list(parallel(lambda kept: objects.get(bucket, kept.key), messages))
        by_lane: dict[Lane, list[Outgoing]] = {}
        for kept, body in zip(messages, bodies, strict=True):
            if body is not None:
                message = self._parse_undeliverable(kept.key, body, kept.at).message
                by_lane.setdefault(Lane(route, message.to), []).append(message)
        self.put(by_lane.items())
        seam("redrive-sent")
        objects.delete(bucket, [kept.key for kept in messages])

    def _parse_undeliverable(self, key: str, body: bytes, at: datetime) -> Undeliverable:
        with reading(self._root.address(key), "a message that Tidegate quarantined", "move it away"):
            content = read_note(body, ["reason", "message"], "a message")
            return Undeliverable(key, at, content["reason"], Outgoing.from_dict(content["message"]))

    def _quarantine(self, route: str) -> str:
        return self._root.key("quarantine", "routes", route, "")

    def _folder(self, lane: Lane) -> str:
        parts = ("outbox", lane.route, "to", lane.queue, "") if lane.queue else ("outbox", lane.route, "")
        return self._root.key(*parts)

    def _key(self, found: OutboxObject) -> str:
        return f"{self._folder(found.lane)}{found.name}"
