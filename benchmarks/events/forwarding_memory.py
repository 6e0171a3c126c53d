"""Memory of the processes that give events their types, forward messages and take webhooks, early and late.

Messages pass in portions of a thousand through the typing, the outbox (in memory) and the forwarding to ElasticMQ, in
this process. Webhooks are sent to a server of their own. Prints JSON: the peak of the resident memory during the first
and the last tenth, after a tenth as a warm-up.

    python -m benchmarks.events.forwarding_memory [--messages 100000] [--webhooks 100000]
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import boto3

from benchmarks.events import webhook
from benchmarks.support.elasticmq import elasticmq
from tests.support.lakes.objects import Objects
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.intake.event_typing import EventTyping
from tidegate.platform.intake.forwarded_messages import Forwards
from tidegate.platform.intake.message_routing import parse_messages
from tidegate.platform.lake.aws.clients import Aws
from tidegate.platform.lake.aws.message import Message
from tidegate.platform.lake.forwarding.destinations import Destinations
from tidegate.platform.lake.lake_root.outbox import Lane
from tidegate.platform.lake.lake_root.store import LakeStore
from tidegate.platform.local.aws import REGION
from tidegate.platform.routes.forwarder import Forwarder

_CREDENTIALS = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_REGION": REGION}
_PORTION, _CONNECTIONS = 1_000, 32
_CONFIG = LakeConfig.model_validate(
    {
        "lake": {"root": "s3://lake/root"},
        "queues": [{"name": "events"}],
        "buckets": ["landing"],
        "event_types": [{"key": "events/{type}/**"}],
        "routes": [{"name": "search", "queue": {"name": "search"}}],
    }
)


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.events.forwarding_memory")
    parser.add_argument("--messages", type=int, default=100_000)
    parser.add_argument("--webhooks", type=int, default=100_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tg") as folder, elasticmq(Path(folder) / "mq") as endpoint:
        os.environ.update(_CREDENTIALS, AWS_ENDPOINT_URL=endpoint, BENCH_SECRET=webhook._SECRET)
        sqs = boto3.client("sqs", region_name=REGION)
        urls = [sqs.create_queue(QueueName=name)["QueueUrl"] for name in ("search", "orders-rows")]

        def purge() -> None:
            for url in urls:
                sqs.purge_queue(QueueUrl=url)

        found: dict[str, Any] = {}
        if options.messages:
            forwarding = _peaks(options.messages, _forwarding(endpoint), os.getpid(), purge)
            found["forwarding"] = {"messages": options.messages, **forwarding}
        if options.webhooks:
            with webhook._server("webhook", Path(folder)) as (process, port):
                server = _peaks(options.webhooks, _webhooks(port), process.pid, purge)
            found["webhooks"] = {"deliveries": options.webhooks, **server}
    print(json.dumps(found, indent=2))


def _peaks(number: int, portion: Callable[[range], None], pid: int, purge: Callable[[], None]) -> dict[str, float]:
    """Pass all items. Returns the peak of the resident memory in MB early and late."""
    tenth = max(_PORTION, number // 10)
    sizes: list[tuple[int, float]] = []
    for place in _portions(number + tenth):
        portion(place)
        sizes.append((place.stop, _resident_mb(pid)))
        purge()
    early = [size for stop, size in sizes if tenth < stop <= 2 * tenth]
    late = [size for stop, size in sizes if stop > number]
    return {"early_mb": round(max(early), 1), "late_mb": round(max(late), 1)}


def _portions(number: int) -> Iterator[range]:
    for start in range(0, number, _PORTION):
        yield range(start, min(number, start + _PORTION))


def _forwarding(endpoint: str) -> Callable[[range], None]:
    aws = Aws(REGION, endpoint_url=endpoint, aws_access_key_id="test", aws_secret_access_key="test")
    objects: Any = Objects()
    store = LakeStore(objects, _CONFIG.lake.root)
    destinations = Destinations(_CONFIG, aws, lambda: "benchmark", objects)
    lake: Any = SimpleNamespace(config=_CONFIG, id="benchmark", store=store, destinations=destinations)
    forwarder, typing, forwards = Forwarder(), EventTyping(lake), Forwards(lake)

    def portion(numbers: range) -> None:
        opened = typing.open_messages(parse_messages([_message(number) for number in numbers]))
        made = forwards.build_messages(opened, typing.find_types(opened).by_event)
        store.outbox.put((Lane(route), messages) for route, messages in made.outgoing.items())
        while lanes := store.outbox.lanes():
            for result in forwarder.tick(lake, lanes):
                assert result.error is None, result.error

    return portion


def _message(number: int) -> Message:
    place = {"bucket": {"name": "landing"}, "object": {"key": f"events/type_{number}/{number}.json", "size": 1}}
    record = {"eventSource": "aws:s3", "eventName": "ObjectCreated:Put", "s3": place, "x": "x" * 900}
    return Message(f"m{number}", json.dumps({"Records": [record]}), "r", 1_000, None, {})


def _webhooks(port: int) -> Callable[[range], None]:
    def portion(numbers: range) -> None:
        webhook._drive(port, len(numbers), _CONNECTIONS)

    return portion


def _resident_mb(pid: int) -> float:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


if __name__ == "__main__":
    main()
