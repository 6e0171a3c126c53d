"""Redrive: what is in the quarantine is looked at again, after its cause was mended.

It produces hints, as a notification does, or messages, as a producer does; what becomes of them is decided where it
always is.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from fnmatch import fnmatchcase

from botocore.exceptions import ClientError

from tidegate.platform.core.bronze.hint import Hint
from tidegate.platform.core.bronze.ledger import Status
from tidegate.platform.core.bronze.manifest import chunked
from tidegate.platform.core.failpoints import seam
from tidegate.platform.core.first_line import first_line
from tidegate.resources.aws.sqs import Queue
from tidegate.resources.lake import Lake, Table
from tidegate.resources.lake_root.quarantine import KeptMessage
from tidegate.resources.ledger import Quarantined

#: Hints or messages a second, unless told otherwise.
RATE = 500
#: What SQS says of a message that it takes from nobody.
_REFUSED = frozenset({"InvalidMessageContents", "InvalidParameterValue"})


@dataclass(frozen=True)
class Choice:
    """What of the quarantine is meant.

    Attributes:
        reason: part of the reason, in any case of letters.
        key: glob over object keys; of a message, over its event id.
        since: quarantined at or after.
        until: quarantined before.
    """

    reason: str = ""
    key: str = "*"
    since: datetime | None = None
    until: datetime | None = None

    def takes(self, key: str, reason: str, at: datetime) -> bool:
        """Whether it is meant."""
        return (
            self.reason.lower() in reason.lower()
            and fnmatchcase(key, self.key)
            and (self.since is None or at >= self.since)
            and (self.until is None or at < self.until)
        )

    def plain(self) -> dict[str, str]:
        """What was given, as an entry of the operations log has it."""
        given = {name: value for name, value in asdict(self).items() if value is not None}
        return {
            name: value.astimezone(UTC).isoformat() if isinstance(value, datetime) else value
            for name, value in given.items()
        }


def quarantined_objects(lake: Lake, text: str, choice: Choice) -> list[Quarantined]:
    """The objects of a table that are in quarantine now, all of them or rows of them, and are meant, by key."""
    ledger = lake.table(text).ledger
    version, _ = ledger.clock()
    return [one for one in ledger.quarantined(version) if choice.takes(one.key, one.reason, one.at)]


def redrive_objects(
    lake: Lake,
    text: str,
    found: Sequence[Quarantined],
    choice: Choice,
    *,
    by: str,
    rate: int = RATE,
    log: Callable[[str], None] = lambda _: None,
    sleep: Callable[[float], None] = time.sleep,
) -> str:
    """Have quarantined objects looked at again, whatever their bytes; the entry in the operations log.

    Args:
        lake: handles.
        text: table key.
        found: the objects.
        choice: what they were chosen by, for the log.
        by: who asks for it.
        rate: hints a second.
        log: takes progress, a line at a time.
        sleep: waits, in seconds.
    """
    table = lake.table(text)
    size = min(rate, table.spec.max_files)
    hints = _hints(table, found)
    manifests = list(chunked(text, "redrive", hints, size))
    address = lake.store.operations.put(
        "redrive", by, table=text, choice=choice.plain(), objects=len(found), manifests=[one.id for one in manifests]
    )
    seam("redrive-log")
    done = 0
    for manifest in manifests:
        if done:
            sleep(size / rate)
        lake.store.inbox.put([manifest])
        seam("redrive-manifest")
        done += len(manifest.hints)
        log(f"{done} of {len(found)} objects of {text} are in the inbox")
    return address


def _hints(table: Table, found: Sequence[Quarantined]) -> list[Hint]:
    """Hints of objects; one whose rows are in the table, and that a rebuild refused, is read again in their place."""
    version, n = table.ledger.clock()
    states = table.ledger.memory(version, n, [one.key for one in found])[1]
    gone_since = any(one.in_table and one.status != Status.COMMITTED for one in states.values())
    # The last word of an object that was moved or removed is of a batch that brought no rows.
    readings = {(one.key, one.etag): one.n for one in table.ledger.committed(version)} if gone_since else {}

    def hint(key: str) -> Hint:
        plain = Hint(key, event_name="Redriven", redriven=True)
        state = states.get(key)
        if state is None or not state.in_table:
            return plain
        brought = state.n if state.status == Status.COMMITTED else readings.get((key, state.etag or ""))
        return replace(plain, replaces=brought, decided=state.n)

    return [hint(one.key) for one in found]


def quarantined_messages(lake: Lake, choice: Choice) -> list[KeptMessage]:
    """The messages in quarantine that are meant, in the order of their event ids, without their bodies."""
    kept = lake.store.quarantine.messages()
    return [replace(one, body="") for one in kept if choice.takes(one.event_id, one.reason, one.at)]


def redrive_messages(
    lake: Lake,
    found: Sequence[KeptMessage],
    choice: Choice,
    *,
    by: str,
    rate: int = RATE,
    log: Callable[[str], None] = lambda _: None,
    sleep: Callable[[float], None] = time.sleep,
) -> str:
    """Send quarantined messages to their queue again; the entry in the operations log.

    Those of S3's events go to the lake's first queue, those of a row queue to their own, as what they were when they
    came first. A message leaves the quarantine after it was sent; one that was sent twice is a duplicate like any
    other. One that SQS does not take stays there, and the others go on.

    Raises:
        ClientError: SQS refuses more than a message.
        BotoCoreError: it does not answer.
    """
    queues = {queue.name: queue for queue in lake.queues}
    ready = [one for one in found if not one.origin or one.queue in queues]
    for name, kept in Counter(one.queue for one in found if one.origin and one.queue not in queues).items():
        log(f"{kept} messages of {name} stay in quarantine: lake.yaml has no table with this row queue any more")
    address = lake.store.operations.put(
        "redrive-messages",
        by,
        choice=choice.plain(),
        queue=", ".join(dict.fromkeys(one.queue or lake.queues[0].name for one in ready)),
        messages=[one.key for one in ready],
    )
    seam("redrive-log")
    sent = 0
    for done, one in enumerate(ready, 1):
        if (message := lake.store.quarantine.message(one)) and _send(queues.get(one.queue), lake, message, log):
            seam("redrive-sent")
            lake.store.quarantine.release(message)
            sent += 1
        if done % rate == 0 and done < len(ready):
            log(f"{sent} of {len(ready)} messages were sent again")
            sleep(1.0)
    log(f"{sent} of {len(ready)} messages were sent again")
    return address


def _send(own: Queue | None, lake: Lake, message: KeptMessage, log: Callable[[str], None]) -> bool:
    """Send a message; False, and a line of the log, where SQS does not take this one."""
    try:
        if message.origin and own:
            own.send(message.body, message.origin)
        else:
            lake.queues[0].send(as_message(message.body))
    except ClientError as error:
        if error.response.get("Error", {}).get("Code") not in _REFUSED:
            raise
        log(f"{message.event_id} stays in quarantine, for SQS does not take it: {first_line(error)}")
        return False
    return True


def as_message(body: str) -> str:
    """A kept body as it came: a single record of a notification was cut out of it."""
    try:
        content = json.loads(body)
    except ValueError:
        return body
    if isinstance(content, dict) and "s3" in content and "Records" not in content:
        return json.dumps({"Records": [content]}, ensure_ascii=False)
    return body
