"""The teams that take events of the lake: by a filter of a topic, by a tag of their queue, and one whose queue is gone.

A subscriber receives until the demo ends, and remembers which objects it was notified of, by event type. A team with
a pipeline of its own runs the consumer of examples/ as a process.
"""

from __future__ import annotations

import json
import sys
import threading
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote_plus

from tidegate.platform.core.errors import BadSetting
from tidegate.platform.demo.events.producers import BUCKET
from tidegate.platform.local.aws import ACCOUNT, REGION
from tidegate.platform.local.process.process import Process, spawn
from tidegate.platform.local.provision import Clients

TOPIC = f"arn:aws:sns:{REGION}:{ACCOUNT}:landing-events"
#: The queue of the team "search", which subscribes to the topic with a filter.
SEARCH, SEARCH_FILTER = "search-events", {"event_type": [{"prefix": "orders."}]}
#: The queue of the team "payments", which has the type that it wants as a tag.
TAGGED, TAG, TAGGED_TYPE = "payments-created-events", "event-type", "payments.created"
#: The queue of the events of all other types.
UNMATCHED = "events-without-a-queue"
#: The queue of the team "finance". It is deleted before the first event.
BROKEN, BROKEN_ROUTE = "reports-events", "reports"


def subscribe(clients: Clients) -> dict[str, str]:
    """Do what the teams do before the first event. Returns the URLs of their queues, by name."""
    urls = {name: str(clients.sqs.create_queue(QueueName=name)["QueueUrl"]) for name in (SEARCH, TAGGED, UNMATCHED)}
    clients.sqs.tag_queue(QueueUrl=urls[TAGGED], Tags={TAG: TAGGED_TYPE})
    clients.sns(REGION, ACCOUNT).subscribe(
        TopicArn=TOPIC,
        Protocol="sqs",
        Endpoint=f"arn:aws:sqs:{REGION}:{ACCOUNT}:{SEARCH}",
        Attributes={"RawMessageDelivery": "true", "FilterPolicy": json.dumps(SEARCH_FILTER)},
    )
    clients.sqs.delete_queue(QueueUrl=clients.sqs.get_queue_url(QueueName=BROKEN)["QueueUrl"])
    return urls


class Subscriber:
    """Receives the messages of a queue in a thread of its own.

    Args:
        sqs: the boto3 client of SQS.
        url: the queue.

    Attributes:
        messages: number of messages by event type; empty for a message without one.
        keys: keys of the objects of their events, by event type.
    """

    def __init__(self, sqs: Any, url: str) -> None:
        self._sqs, self._url = sqs, url
        self.messages: Counter[str] = Counter()
        self.keys: dict[str, set[str]] = {}
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        """Begin to receive."""
        self._thread.start()

    def stop(self) -> None:
        """Receive no more. Returns when the thread has ended."""
        self._stopped.set()
        self._thread.join(timeout=30)

    def _run(self) -> None:
        while not self._stopped.is_set():
            answer = self._sqs.receive_message(
                QueueUrl=self._url, MaxNumberOfMessages=10, WaitTimeSeconds=1, MessageAttributeNames=["event_type"]
            )
            messages = answer.get("Messages", [])
            for message in messages:
                self._take(message)
            if messages:
                entries = [
                    {"Id": str(place), "ReceiptHandle": message["ReceiptHandle"]}
                    for place, message in enumerate(messages)
                ]
                self._sqs.delete_message_batch(QueueUrl=self._url, Entries=entries)

    def _take(self, message: dict[str, Any]) -> None:
        event_type = message.get("MessageAttributes", {}).get("event_type", {}).get("StringValue", "")
        self.messages[event_type] += 1
        for record in json.loads(message["Body"]).get("Records", []):
            if record["s3"]["bucket"]["name"] == BUCKET:
                self.keys.setdefault(event_type, set()).add(unquote_plus(record["s3"]["object"]["key"]))


class ConsumerProcess:
    """Runs `consumer.py` on a queue until it is stopped.

    Args:
        url: the queue.
        home: folder of the demo; the log is below it.
        environ: environment of the process, with the AWS settings.
    """

    def __init__(self, url: str, home: Path, environ: Mapping[str, str]) -> None:
        self._url, self._home, self._environ = url, home, environ
        self.log = home / "logs" / "consumer.log"
        self._process: Process | None = None

    def start(self) -> None:
        """Start the process."""
        program = Path(__file__).with_name("consumer.py")
        self._process = spawn(
            "consumer", [sys.executable, str(program), self._url], log=self.log, env=self._environ, cwd=self._home
        )

    def stop(self) -> None:
        """End the process after the message that it works on."""
        if self._process is not None:
            self._process.stop()

    def processed_keys(self) -> dict[str, set[str]]:
        """Return the keys of the objects that it processed, by event type.

        Raises:
            BadSetting: an object was processed twice.
        """
        found: dict[str, set[str]] = {}
        for line in self.log.read_text().splitlines():
            if line.startswith("{"):
                done = json.loads(line)
                keys = found.setdefault(done["type"], set())
                if done["key"] in keys:
                    raise BadSetting(f"the consumer processed {done['key']} twice")
                keys.add(done["key"])
        return found
