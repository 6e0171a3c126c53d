"""Shared by measurements of queues: sends messages, and runs the bare loop that a tick is compared with."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

_MAX_PER_CALL = 10


def send_all(sqs: Any, url: str, messages: int, body: Callable[[int], str]) -> None:
    """Send messages to a queue. `body` makes the body of the n-th message, so none is kept in memory."""

    def send(first: int) -> None:
        some = range(first, min(first + _MAX_PER_CALL, messages))
        entries = [{"Id": str(n), "MessageBody": body(n)} for n in some]
        failed = sqs.send_message_batch(QueueUrl=url, Entries=entries).get("Failed")
        assert not failed, failed

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(send, range(0, messages, _MAX_PER_CALL)))


def receive_all(sqs: Any, url: str, threads: int) -> int:
    """Receive and delete until a long poll of a second returns nothing. Returns the number of messages."""

    def work(_: int) -> int:
        done = 0
        while messages := sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=_MAX_PER_CALL, WaitTimeSeconds=1).get(
            "Messages"
        ):
            entries = [{"Id": str(i), "ReceiptHandle": item["ReceiptHandle"]} for i, item in enumerate(messages)]
            sqs.delete_message_batch(QueueUrl=url, Entries=entries)
            done += len(messages)
        return done

    with ThreadPoolExecutor(threads) as pool:
        return sum(pool.map(work, range(threads)))
