"""Gathered hints on a real S3: what a round writes, and that a tick brings all of it to the inbox."""

from __future__ import annotations

import json
import time
from types import SimpleNamespace
from typing import Any

from benchmarks.support.messages import send_all
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.intake.dealer import Dealer
from tidegate.platform.intake.round_manifests import PHASES
from tidegate.platform.intake.tick import take_in
from tidegate.platform.lake.aws.s3 import ObjectStore
from tidegate.platform.lake.aws.sqs import Queue
from tidegate.platform.lake.lake_root.store import LakeStore
from tidegate.platform.local.aws import REGION, LocalAws
from tidegate.platform.local.provision import Clients

_TABLES = 100


def test_a_round_of_many_tables_writes_a_few_objects_which_a_tick_deals(local_aws: LocalAws) -> None:
    """A key with characters that end lines elsewhere stays in its line."""
    clients = Clients.connect(local_aws.endpoint, REGION, key="test", secret="test")
    url = clients.sqs.create_queue(QueueName="gathered")["QueueUrl"]
    clients.s3.create_bucket(Bucket="gathered-lake")
    puts: list[str] = []
    clients.s3.meta.events.register("before-call.s3.PutObject", lambda params, **_: puts.append(params["url_path"]))
    tables = [{"name": f"t{n:03d}", "prefix": f"s3://landing/t{n:03d}/", "window": 300} for n in range(_TABLES)]
    config = LakeConfig.model_validate(
        {
            "lake": {"root": "s3://gathered-lake/root"},
            "queues": [{"name": "gathered"}],
            "buckets": ["landing"],
            "intake": {"every": 5},
            "tables": tables,
        }
    )
    store = LakeStore(ObjectStore(clients.s3), config.lake.root)
    lake: Any = SimpleNamespace(config=config, store=store, queues=[Queue(clients.sqs, url)])
    send_all(clients.sqs, url, 3 * _TABLES, _event)
    received = 0
    while received < 3 * _TABLES:
        received += take_in(lake).received
    gathered = [path for path in puts if "/gathered/" in path]
    assert len(puts) == len(gathered) <= 3 * PHASES
    keys = {_key(n) for n in range(3 * _TABLES)}
    waiting = {backlog.folder: backlog.hints for backlog in store.walk_backlogs()}
    assert list(waiting.values()) == [3] * _TABLES
    began = min(backlog.since for backlog in store.walk_backlogs())

    assert Dealer().deal(lake, time.time()) == []

    assert store.gathered.is_empty()
    assert {backlog.folder: backlog.hints for backlog in store.inbox.walk_backlogs()} == waiting
    assert len(puts) - len(gathered) == _TABLES
    found = {
        hint.key
        for table in waiting
        for inbox in [store.inbox.table_inbox(table)]
        for manifest in inbox.read([manifest.id for manifest in inbox.waiting_manifests()])
        for hint in manifest.hints
    }
    assert found == keys
    assert abs(min(backlog.since for backlog in store.inbox.walk_backlogs()) - began) < 0.01


def _key(n: int) -> str:
    return f"t{n % _TABLES:03d}/part\u2028\u0085{n:05d}.json"


def _event(n: int) -> str:
    s3 = {"bucket": {"name": "landing"}, "object": {"key": _key(n), "size": 900}}
    record = {"eventSource": "aws:s3", "eventName": "ObjectCreated:Put", "eventTime": "2026-11-23T05:00:00.000Z"}
    return json.dumps({"Records": [{**record, "s3": s3}]})
