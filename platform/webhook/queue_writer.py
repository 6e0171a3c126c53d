"""Sends rows to one queue: what waits while a call is under way leaves together in the next call."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from botocore.exceptions import BotoCoreError, ClientError

from tidegate.platform.core.events.row_queue import RowOrigin
from tidegate.platform.core.webhook.refusal import Reason, Refusal
from tidegate.platform.lake.aws.answers import code_of, is_of_one_message

_MAX_PER_CALL = 10  # SQS's limit
#: Bytes of a call with several rows. A larger row is sent alone.
_MAX_BYTES = 200_000
#: Bytes that SQS counts for the attributes of a row, besides its id.
_ATTRIBUTES = 200
#: Calls under way. More of them would mean fewer rows a call.
_THREADS = 8
#: Seconds that a delivery waits for SQS. Senders give up after five to thirty.
_PATIENCE = 20.0
_RETRY_AFTER = 10

Rows = Sequence[tuple[str, RowOrigin]]


@dataclass(frozen=True, slots=True)
class _Entry:
    row: tuple[str, RowOrigin]
    size: int
    answer: asyncio.Future[str]


class QueueWriter:
    """Rows on their way to one queue. Its methods are called in one event loop.

    Args:
        send: sends rows in one call, and returns for each SQS's error code, or an empty text if the row is stored.
        say: takes a line of the log for each error of SQS.
        patience: seconds that a delivery waits for SQS.
    """

    def __init__(
        self, send: Callable[[Rows], list[str]], say: Callable[[str], None], patience: float = _PATIENCE
    ) -> None:
        self._send, self._say, self._patience = send, say, patience
        self._waiting: deque[_Entry] = deque()
        self._tasks: set[asyncio.Task[None]] = set()
        self._idle = _THREADS
        self._pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="writer")

    async def put(self, text: str, origin: RowOrigin) -> None:
        """Send a row. Returns when SQS has stored it.

        Raises:
            Refusal: SQS did not store the row, or did not say so in time.
        """
        answer: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        size = len(text.encode()) + len(origin.message_id) + _ATTRIBUTES
        self._waiting.append(_Entry((text, origin), size, answer))
        self._start_posts()
        try:
            code = await asyncio.wait_for(answer, self._patience)
        except TimeoutError:
            code = f"no answer in {self._patience:g} s"
        if code:
            raise Refusal(Reason.UNAVAILABLE, f"the queue did not store the row ({code}); send it again", _RETRY_AFTER)

    def close(self) -> None:
        """Send no more."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _start_posts(self) -> None:
        while self._idle and (batch := self._next_entries()):
            self._idle -= 1
            task = asyncio.ensure_future(self._post(batch))
            self._tasks.add(task)  # the loop itself does not keep it
            task.add_done_callback(self._tasks.discard)

    def _next_entries(self) -> list[_Entry]:
        batch: list[_Entry] = []
        size = 0
        while self._waiting and len(batch) < _MAX_PER_CALL:
            entry = self._waiting[0]
            if entry.answer.done():  # its sender was answered that it took too long
                self._waiting.popleft()
                continue
            size += entry.size
            if batch and size > _MAX_BYTES:
                break
            batch.append(self._waiting.popleft())
        return batch

    async def _post(self, batch: list[_Entry]) -> None:
        try:
            rows = [entry.row for entry in batch]
            codes = await asyncio.get_running_loop().run_in_executor(self._pool, self._codes, rows)
        except Exception as error:  # whatever it is, no delivery may hang, and none was stored for certain
            codes = [type(error).__name__] * len(batch)
        finally:
            self._idle += 1
        if any(codes):
            self._say(
                f"SQS did not store {sum(map(bool, codes))} of {len(codes)} rows: {', '.join(sorted({*codes} - {''}))}"
            )
        for entry, code in zip(batch, codes, strict=True):
            if not entry.answer.done():
                entry.answer.set_result(code)
        self._start_posts()

    def _codes(self, rows: Rows) -> list[str]:
        """Send rows, each alone if one of them may be why SQS refuses all."""
        try:
            return self._send(rows)
        except ClientError as error:
            code = code_of(error) or "unknown"
            if len(rows) > 1 and is_of_one_message(error):
                return [self._codes([row])[0] for row in rows]
            return [code] * len(rows)
        except BotoCoreError as error:
            return [type(error).__name__] * len(rows)
