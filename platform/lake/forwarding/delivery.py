"""Delivers messages to one destination, in calls for many messages, with repeats by message."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import chain, repeat
from math import inf

from botocore.exceptions import BotoCoreError, ClientError

from tidegate.platform.core.errors import DataError
from tidegate.platform.core.forwarding.message_bodies import split_in_halves
from tidegate.platform.core.forwarding.outbox_message import Outgoing
from tidegate.platform.core.portions import portions
from tidegate.platform.lake.aws.s3 import StoreError
from tidegate.platform.lake.forwarding.destination import MAX_ENTRIES, Destination, Refusal, send_with_fallback

_CALLS_IN_PARALLEL = 8
#: Calls with a message until it has to wait for the next delivery.
_ATTEMPTS = 3


@dataclass
class Delivery:
    """The outcome of a delivery. Each message is in exactly one of the lists, or was sent.

    Attributes:
        sent: number of messages that were sent.
        left: messages to send later, in their order.
        undeliverable: messages that the destination never takes, with reasons.
        error: why messages are left; None if only time ran out.
    """

    sent: int = 0
    left: list[Outgoing] = field(default_factory=list)
    undeliverable: list[tuple[Outgoing, str]] = field(default_factory=list)
    error: Exception | None = None


class EntriesRefused(DataError):
    """The destination answers, but did not take some messages at each of several attempts."""


def deliver(
    destination: Destination,
    messages: Sequence[Outgoing],
    *,
    until: float,
    clock: Callable[[], float] = time.monotonic,
) -> Delivery:
    """Send messages. At-least-once: a message whose answer is lost is sent again.

    An ordered destination gets the next message of a group only after it took the one before, and calls contain
    at most one message of a group, because SQS may take a later entry of a call and refuse an earlier one.

    Args:
        destination: where to.
        messages: in their order.
        until: when to begin no further call, by `clock`. The first call is made in any case.
        clock: returns seconds.
    """
    outcome = Delivery()
    sending = _DeliveryState(destination, outcome, messages, clock)
    limits = chain([inf], repeat(until))
    with ThreadPoolExecutor(_CALLS_IN_PARALLEL) as pool:
        while batches := list(sending.calls()):
            for batch, result in zip(batches, pool.map(sending.call, batches, limits), strict=True):
                sending.settle(batch, result)
            if outcome.error or clock() > until:
                break
    outcome.left = sending.unsettled_messages()
    if outcome.left and sending.refusal and not outcome.error:
        why = f"{destination.name} refuses {len(outcome.left)} messages for now: {sending.refusal}"
        outcome.error = EntriesRefused(why)
    return outcome


class _DeliveryState:
    """The state of a delivery: the messages that are not settled yet, by their places.

    Attributes:
        refusal: what the destination last said of a message that it may take later.
    """

    def __init__(
        self, destination: Destination, outcome: Delivery, messages: Sequence[Outgoing], clock: Callable[[], float]
    ) -> None:
        self._destination, self._outcome, self._clock = destination, outcome, clock
        self._pending = dict(enumerate(self._fit_messages(messages)))
        self._groups = {place: message.group_id for place, message in self._pending.items()}
        self._attempts = dict.fromkeys(self._pending, 0)
        self._stopped: set[str] = set()
        self.refusal = ""

    def unsettled_messages(self) -> list[Outgoing]:
        """Return the messages that are not settled, in their order."""
        return [self._pending[place] for place in sorted(self._pending)]

    def calls(self) -> Iterator[list[int]]:
        """Yield the calls of the next round, each as the places of its messages."""
        return portions(
            self._next_places(),
            lambda place: self._pending[place].size,
            max_items=1 if self._destination.one_by_one else MAX_ENTRIES,
            max_size=self._destination.max_bytes,
        )

    def _next_places(self) -> Iterator[int]:
        """Yield the places of the messages of the next round: of an ordered group, only the first."""
        groups = set(self._stopped)
        for place in sorted(self._pending):
            group = self._groups[place]
            if self._attempts[place] == _ATTEMPTS or (self._destination.ordered and group in groups):
                continue
            groups.add(group)
            yield place

    def call(self, batch: Sequence[int], until: float) -> list[Refusal] | Exception | None:
        """Send the messages of one call. Returns those that were refused, or the error of the call.

        Returns None without a call if the time is over.
        """
        if self._clock() > until:
            return None
        try:
            return send_with_fallback(self._destination, [self._pending[place] for place in batch])
        except (BotoCoreError, ClientError, StoreError) as error:
            return error

    def settle(self, batch: Sequence[int], result: list[Refusal] | Exception | None) -> None:
        """Take the result of a call."""
        if result is None:
            return
        if isinstance(result, Exception):
            self._outcome.error = result
            return
        refused = {batch[refusal.place]: refusal for refusal in result}
        for place in batch:
            refusal = refused.get(place)
            if refusal is None:
                self._outcome.sent += 1
                del self._pending[place]
            elif refusal.of_the_message:
                self._outcome.undeliverable.append((self._pending.pop(place), refusal.reason))
            else:
                self.refusal = refusal.reason
                self._attempts[place] += 1
                if self._attempts[place] == _ATTEMPTS:
                    self._stopped.add(self._groups[place])

    def _fit_messages(self, messages: Sequence[Outgoing]) -> Iterator[Outgoing]:
        """Yield messages that the destination takes. A body with several records is divided if necessary."""
        for message in messages:
            size = message.size
            fits = size <= self._destination.max_bytes
            parts = list[str]()
            if not fits or self._destination.one_by_one:
                try:
                    parts = split_in_halves(message.body)
                except ValueError as error:
                    if not fits:
                        why = f"its body, which is too large to send whole, {error}"
                        self._outcome.undeliverable.append((message, why))
                        continue
            if not parts and fits:
                yield message
            elif not parts:
                why = f"its body has {size:,} bytes, and a message of {self._destination.name} at most "
                self._outcome.undeliverable.append((message, f"{why}{self._destination.max_bytes:,}"))
            for place, part in enumerate(parts):
                yield from self._fit_messages([replace(message, id=f"{message.id}/{place}", body=part)])
