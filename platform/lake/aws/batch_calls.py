"""Calls of SQS for many messages, divided and repeated for those that failed, and calls for one queue after another."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from botocore.exceptions import BotoCoreError, ClientError

from tidegate.platform.core.wording import first_line
from tidegate.platform.lake.aws.answers import is_of_one_message

T = TypeVar("T")
R = TypeVar("R")

#: SQS's limit for receives and calls for many messages.
MAX_PER_CALL = 10
#: Bytes of bodies and attributes that one call may send. SQS takes a larger message in a call of its own.
_MAX_BYTES = 200_000
_ATTEMPTS = 3


def failed_entries(
    call: Callable[..., Any],
    url: str,
    entries: Sequence[Mapping[str, Any]],
    sizes: Sequence[int] = (),
    note: Callable[[Any], None] = lambda _: None,
) -> list[int]:
    """Call for many entries, and repeat failed ones. Returns the positions of those that failed each time.

    Args:
        call: the client's method.
        url: the queue's URL.
        entries: an entry for each message, without its id.
        sizes: bytes of each entry; empty if the calls need no bound in bytes.
        note: receives each answer. The id of an entry is its position.

    Raises:
        ClientError: SQS refuses not only a message, but the caller or the queue.
        BotoCoreError: SQS does not answer.
    """
    parts = _parts(len(entries), sizes)
    if not parts:
        return []

    def send_repeatedly(left: list[int]) -> list[int]:
        for _ in range(_ATTEMPTS):
            try:
                answer = call(QueueUrl=url, Entries=[{"Id": str(place), **entries[place]} for place in left])
            except ClientError as error:
                if not is_of_one_message(error):
                    raise
                return left if len(left) == 1 else [failed for place in left for failed in send_repeatedly([place])]
            note(answer)
            left = [int(item["Id"]) for item in answer.get("Failed", [])]
            if not left:
                break
        return left

    with ThreadPoolExecutor(min(8, len(parts))) as pool:
        try:
            return [place for failed in pool.map(send_repeatedly, parts) for place in failed]
        except BaseException:
            # The rest would fail as well, each after its client's timeouts.
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _parts(number: int, sizes: Sequence[int]) -> list[list[int]]:
    parts: list[list[int]] = []
    size = 0
    for place in range(number):
        size += sizes[place] if sizes else 0
        if not parts or len(parts[-1]) == MAX_PER_CALL or size > _MAX_BYTES:
            parts.append([])
            size = sizes[place] if sizes else 0
        parts[-1].append(place)
    return parts


def each_queue(
    call: Callable[[T], R], queues: Iterable[T], name: Callable[[T], str], log: Callable[[str], object]
) -> tuple[list[R], Exception | None]:
    """Call a function for each queue, also after one for which AWS refuses the call or does not answer.

    Args:
        call: the function.
        name: returns a queue's name.
        log: takes a line for each queue that failed.

    Returns:
        The results of the other queues, and the first error. The caller raises it after it has used the results.
    """
    results: list[R] = []
    troubles: list[Exception] = []
    for queue in queues:
        try:
            results.append(call(queue))
        except (BotoCoreError, ClientError) as error:
            log(f"queue {name(queue)}: {first_line(error)}; the other queues continue")
            troubles.append(error)
    return results, troubles[0] if troubles else None
