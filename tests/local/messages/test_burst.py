"""26 tables exported at once: their events wait in one queue before the first tick."""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from benchmarks.support.messages import send_all
from tests.support.lakes.objects import Objects
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.intake.tick import take_in
from tidegate.platform.lake.aws.sqs import Queue
from tidegate.platform.lake.lake_root.store import LakeStore
from tidegate.platform.local.aws import REGION, LocalAws
from tidegate.platform.local.provision import Clients

_TABLES, _FILES, _TICKS = 26, 150, 6
_MESSAGES = _TABLES * _FILES


def _key(n: int) -> str:
    return f"export/table_{n % _TABLES:02d}/part-{n // _TABLES:05d}.parquet"


def _event(n: int) -> str:
    s3 = {"bucket": {"name": "landing"}, "object": {"key": _key(n), "size": 1_048_576}}
    record = {"eventSource": "aws:s3", "eventName": "ObjectCreated:Put", "eventTime": "2026-11-23T05:00:00.000Z"}
    return json.dumps({"Records": [{**record, "s3": s3}]})


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_26_tables_exported_at_once_are_taken_in_with_flat_memory(local_aws: LocalAws) -> None:
    """Each file becomes one hint of its table. No message stays in flight or goes to the DLQ. The last ticks need no
    more memory than the first. `benchmarks/events/intake.py` has a hundred thousand messages on a faster server."""
    sqs = Clients.connect(local_aws.endpoint, REGION, key="test", secret="test").sqs
    dead = sqs.create_queue(QueueName="burst-dlq")["QueueUrl"]
    arn = sqs.get_queue_attributes(QueueUrl=dead, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    once = json.dumps({"deadLetterTargetArn": arn, "maxReceiveCount": "1"})
    url = sqs.create_queue(QueueName="burst", Attributes={"VisibilityTimeout": "30", "RedrivePolicy": once})["QueueUrl"]
    tables = [{"name": f"table_{n:02d}", "prefix": f"s3://landing/export/table_{n:02d}/"} for n in range(_TABLES)]
    config = LakeConfig.model_validate(
        {
            "lake": {"root": "s3://lake/root"},
            "queues": [{"name": "burst", "dlq": "burst-dlq"}],
            "buckets": ["landing"],
            "intake": {"threads": 2, "events": _MESSAGES // _TICKS},
            "tables": tables,
        }
    )
    store = LakeStore(Objects(), config.lake.root)  # type: ignore[arg-type]
    lake: Any = SimpleNamespace(config=config, store=store, queues=[Queue(sqs, url)])
    send_all(sqs, url, _MESSAGES, _event)

    received, held = 0, []
    while received < _MESSAGES:
        taken = take_in(lake)
        assert taken.received, f"{_MESSAGES - received} messages never came"
        received += taken.received
        held.append(_resident())
        assert lake.queues[0].depth()[1] == 0, "a message that was worked off is still in flight"

    hints: Counter[str] = Counter()
    for spec in config.tables:
        table = spec.table_key.encode()
        ids = [waiting.id for waiting in store.inbox.waiting_manifests(table)]
        hints.update(hint.key for manifest in store.inbox.table_inbox(table).read(ids) for hint in manifest.hints)
    assert hints == Counter(_key(n) for n in range(_MESSAGES))
    assert Queue(sqs, dead).depth() == (0, 0)
    third = len(held) // 3
    assert third >= 2
    # The hints themselves, in a dictionary instead of S3, need less than a megabyte.
    assert max(held[-third:]) <= 1.1 * max(held[:third])
