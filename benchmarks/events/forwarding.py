"""Messages a second from the outbox to a queue, compared with a bare loop of the same calls, and the cost of a type.

Both send to ElasticMQ, in calls of ten messages and with eight calls at a time. The outbox is in memory. The types are
those of keys by 10 and by 4,200 rules. Prints JSON.

    python -m benchmarks.events.forwarding [--messages 20000] [--rounds 3]
"""

from __future__ import annotations

import json
import os
import statistics
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import boto3

from benchmarks.support.arguments import arguments
from benchmarks.support.elasticmq import elasticmq
from tests.support.lakes.objects import Objects
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.forwarding.outbox_message import Outgoing
from tidegate.platform.core.routing.event_type import EventTypes, Typed
from tidegate.platform.lake.aws.clients import Aws
from tidegate.platform.lake.forwarding.destinations import Destinations
from tidegate.platform.lake.lake_root.outbox import Lane
from tidegate.platform.lake.lake_root.store import LakeStore
from tidegate.platform.local.aws import REGION
from tidegate.platform.routes.forwarder import Forwarder

_CREDENTIALS = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_REGION": REGION}
_THREADS, _PER_CALL = 8, 10
_TYPED_EVENTS = 20_000


def main() -> None:
    """Run the command."""
    options = arguments("forwarding", messages=20_000, rounds=3)
    with tempfile.TemporaryDirectory(prefix="tg") as folder, elasticmq(Path(folder) / "mq") as endpoint:
        os.environ.update(_CREDENTIALS, AWS_ENDPOINT_URL=endpoint)
        sqs = boto3.client("sqs", region_name=REGION)
        url = sqs.create_queue(QueueName="search")["QueueUrl"]
        messages = [_message(number) for number in range(options.messages)]
        rates: dict[str, list[float]] = {"bare": [], "forwarding": []}
        for _ in range(options.rounds):
            for name, found in rates.items():
                begun = time.monotonic()
                _bare(url, messages) if name == "bare" else _forward(endpoint, messages)
                found.append(len(messages) / (time.monotonic() - begun))
                sqs.purge_queue(QueueUrl=url)
    shown = {f"{name}_a_second": round(statistics.median(found)) for name, found in rates.items()}
    ratio = statistics.median(rates["forwarding"]) / statistics.median(rates["bare"])
    typing = {f"microseconds_with_{rules}_rules": round(_microseconds(rules), 1) for rules in (10, 4_200)}
    print(json.dumps({"messages": options.messages, **shown, "ratio": round(ratio, 2), **typing}, indent=2))


def _message(number: int) -> Outgoing:
    body = {"Records": [{"eventName": "ObjectCreated:Put", "s3": {"object": {"key": f"{number}"}}, "x": "x" * 900}]}
    return Outgoing(f"m{number}", "orders", "s3://landing/orders/", 1, json.dumps(body))


def _bare(url: str, messages: Sequence[Outgoing]) -> None:
    sqs: Any = boto3.client("sqs", region_name=REGION)

    def send(some: Sequence[Outgoing]) -> None:
        attributes = {
            "event_type": {"DataType": "String", "StringValue": "orders"},
            "tidegate-lake": {"DataType": "String", "StringValue": "benchmark"},
        }
        entries = [
            {"Id": str(place), "MessageBody": message.body, "MessageAttributes": attributes}
            for place, message in enumerate(some)
        ]
        assert not sqs.send_message_batch(QueueUrl=url, Entries=entries).get("Failed")

    with ThreadPoolExecutor(_THREADS) as pool:
        list(pool.map(send, (messages[start : start + _PER_CALL] for start in range(0, len(messages), _PER_CALL))))


def _forward(endpoint: str, messages: Sequence[Outgoing]) -> None:
    config = LakeConfig.model_validate(
        {
            "lake": {"root": "s3://lake/root"},
            "queues": [{"name": "events"}],
            "buckets": ["landing"],
            "routes": [{"name": "search", "queue": {"name": "search"}}],
        }
    )
    aws = Aws(REGION, endpoint_url=endpoint, aws_access_key_id="test", aws_secret_access_key="test")
    objects: Any = Objects()
    store = LakeStore(objects, config.lake.root)
    destinations = Destinations(config, aws, lambda: "benchmark", objects)
    lake: Any = SimpleNamespace(config=config, store=store, destinations=destinations)
    store.outbox.put([(Lane("search"), messages)])
    forwarder = Forwarder()
    while lanes := store.outbox.lanes():
        for result in forwarder.tick(lake, lanes):
            assert result.error is None, result.error


def _microseconds(number: int) -> float:
    rules = [{"key": f"events/type_{n}/{{date}}/**", "type": f"type_{n}"} for n in range(number)]
    config = LakeConfig.model_validate(
        {
            "lake": {"root": "s3://lake/root"},
            "queues": [{"name": "events"}],
            "buckets": ["landing"],
            "event_types": rules,
        }
    )
    types = EventTypes(config.event_types)
    keys = [f"events/type_{n % number}/date=2026-01-02/part-{n}.json" for n in range(_TYPED_EVENTS)]
    for key in keys[:number]:
        types.find_type(key, {})  # The first event of a type compiles its pattern.
    begun = time.process_time()
    for key in keys:
        assert isinstance(types.find_type(key, {}), Typed)
    return (time.process_time() - begun) / len(keys) * 1e6


if __name__ == "__main__":
    main()
