"""A row queue whose messages come twice, late and in random order, and whose ticks die. It records the sent rows."""

from __future__ import annotations

import json
import random
from collections import Counter
from unittest.mock import patch

from tests.support.lakes.harness import FaultLake
from tests.support.lakes.seams import Died
from tests.support.servers.client import wait_until
from tidegate.platform.core.events.row_queue import RowOrigin
from tidegate.platform.intake.tick import take_in
from tidegate.platform.lake.aws.message import Message
from tidegate.platform.lake.aws.sqs import Queue
from tidegate.platform.lake.lake_root.inbox import Inbox

#: Copies of a message that arrive at once. With none, a file's message is lost, and a row's comes in a later round.
COPIES, WEIGHTS = (0, 1, 2, 3), (15, 60, 20, 5)
#: Steps before which ticks die: between object and manifest, and between manifest and delete.
_DEATHS = ((Inbox, "put"), (Queue, "delete"))


class RowCourse:
    """Random changes of the messages of a row queue.

    No message is lost: a queue cannot be listed, so a message that is lost before its receipt could not be found.

    Args:
        lake: it has a table `rows` with a row queue; the table has no rows yet.
        rng: source of all choices.

    Attributes:
        table_key: the table key.
        happened: number of each kind of event.
    """

    def __init__(self, lake: FaultLake, rng: random.Random) -> None:
        self.lake, self.rng, self.table_key = lake, rng, lake.key("rows")
        self.happened: Counter[str] = Counter()
        self._sent = 0
        self._late: list[tuple[str, RowOrigin]] = []
        # What a dead tick has received comes again soon.
        lake.clients.sqs.set_queue_attributes(QueueUrl=self._queue.url, Attributes={"VisibilityTimeout": "2"})

    def round(self) -> None:
        """Send rows, tamper with their messages, and let a tick receive what it finds, or die."""
        new = [self._sent + i for i in range(self.rng.randint(2, 5))]
        self._sent += len(new)
        for i in new:
            self._queue.send(json.dumps({"id": i, "name": f"row {i}"}))
        self.happened["rows"] += len(new)
        late, self._late = self._late, []
        self._send(late + self._tampered({*new}))
        if self.rng.random() < 0.6:
            self._die()
        else:
            self._tick()

    def all_come(self) -> None:
        """Let late messages arrive, and those that dead ticks received, until no message is left."""
        late, self._late = self._late, []
        self._send(late)
        wait_until(lambda: not self._tick() and self._queue.depth() == (0, 0), "a row queue without messages")

    def check(self) -> None:
        """Check that every row exists once, and that nothing waits."""
        assert not self.lake.lake.store.inbox.waiting_manifests(self.table_key)
        birth = self.lake.lake.table(self.table_key).birth
        assert birth is not None
        found = self.lake.lake.delta.session.read.format("delta").load(birth.location).select("id", "name").collect()
        assert all(row["name"] == f"row {row['id']}" for row in found)
        ids, sent = Counter(row["id"] for row in found), Counter(range(self._sent))
        assert ids == sent, f"missing {dict(sent - ids)}, too many {dict(ids - sent)}"

    @property
    def _queue(self) -> Queue:
        return self.lake.lake.queues[1]

    def _tampered(self, new: set[int]) -> list[tuple[str, RowOrigin]]:
        """Remove the messages of these rows from the queue. Returns those that arrive now, some of them twice."""
        kept: list[tuple[str, RowOrigin]] = []

        def all_came() -> bool:
            messages = self._queue.receive(hidden=60)
            for message in messages:
                new.discard(json.loads(message.body)["id"])
                kept.extend([(message.body, message.origin)] * self._copies(message))
            self._queue.delete(messages)
            return not new

        wait_until(all_came, "the messages of all rows")
        return kept

    def _copies(self, message: Message) -> int:
        copies = self.rng.choices(COPIES, WEIGHTS)[0]
        if not copies:
            self._late.append((message.body, message.origin))
            self.happened["rows late"] += 1
        self.happened["rows doubled"] += copies > 1
        return copies

    def _send(self, messages: list[tuple[str, RowOrigin]]) -> None:
        for body, origin in self.rng.sample(messages, len(messages)):
            self._queue.send(body, origin)

    def _tick(self) -> int:
        return take_in(self.lake.lake, seconds=0.9, queues=[self._queue]).received

    def _die(self) -> None:
        """Let a tick die before a step, if it reaches the step. Its messages come again."""
        owner, step = self.rng.choice(_DEATHS)

        def die(*_: object) -> None:
            raise Died(step)

        try:
            with patch.object(owner, step, die):
                self._tick()
        except Died:
            self.happened["ticks' deaths"] += 1
