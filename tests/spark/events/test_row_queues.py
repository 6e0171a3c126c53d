"""Row queues: each message becomes one row, whatever dies and however often the message comes."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import pytest

from tests.support.lakes.seams import Died
from tests.support.servers.client import wait_until
from tidegate.platform.bronze.reconcile.listing import own_objects
from tidegate.platform.core.events.row_queue import RowOrigin
from tidegate.platform.core.webhook.delivery import delivery_of
from tidegate.platform.core.webhook.scheme import Received
from tidegate.platform.core.webhook.schemes import scheme_of
from tidegate.platform.intake.tick import take_in
from tidegate.platform.lake.aws.sqs import Queue
from tidegate.platform.lake.lake_root.inbox import Inbox
from tidegate.platform.operations.rebuild import rebuild_table
from tidegate.platform.operations.redrive import (
    Choice,
    RedriveRequest,
    quarantined_messages,
    redrive_messages,
    redrive_objects,
)
from tidegate.platform.operations.redrive import quarantined_objects as quarantined
from tidegate.platform.testing import TestLake

MakeLake = Callable[..., TestLake]
CLICKS = {"name": "clicks", "row_queue": {"name": "clicks"}}


def _queue(lake: TestLake) -> Queue:
    return lake.lake.queues[1]


def _send(lake: TestLake, *ids: int, **more: Any) -> None:
    for id in ids:
        _queue(lake).send(json.dumps({"id": id, **more}))


def _take_in(lake: TestLake, rows: int) -> None:
    """Run ticks until `rows` messages came. SQS hides the messages of a dead tick for two seconds."""
    received = 0

    def came() -> bool:
        nonlocal received
        received += take_in(lake.lake, seconds=0.9).received
        return received >= rows

    wait_until(came, "the messages")
    assert received == rows


def _ids(lake: TestLake, kit: Any) -> list[int]:
    return [row[0] for row in kit.bronze(lake, "clicks", "id")]


def _objects(lake: TestLake) -> int:
    table = lake.lake.table(lake.key("clicks"))
    return len(list(own_objects(table.source, table.key, lake.lake.config)))


def test_a_message_is_one_row_however_often_it_comes(
    tidegate_lake: MakeLake, kit: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = tidegate_lake([CLICKS])
    lake.intake()  # receives the s3:TestEvent of the bucket's set-up
    lake.clients.sqs.set_queue_attributes(QueueUrl=_queue(lake).url, Attributes={"VisibilityTimeout": "2"})

    def dies_before(owner: type, what: str) -> None:
        """Run a tick that dies before it calls this method. Its messages come again."""

        def die(*_: Any) -> None:
            raise Died(what)

        with monkeypatch.context() as patch:
            patch.setattr(owner, what, die)
            with pytest.raises(Died):
                wait_until(lambda: take_in(lake.lake, seconds=0.9).received < 0, "the death of a tick")

    # In one batch: a tick dies between the object and its manifest, the next tick between the manifest and the delete.
    _send(lake, 1, 2, price=12345678901234567890.25)
    dies_before(Inbox, "put")
    assert (_objects(lake), lake.lake.store.inbox.waiting_manifests(lake.key("clicks"))) == (1, [])
    dies_before(Queue, "delete")
    _take_in(lake, 2)
    assert _objects(lake) == 3
    kit.run(lake, "clicks")
    assert _ids(lake, kit) == [1, 2]
    again = "2 of its rows were in the table already, for their messages came again"
    assert sorted((row["rows"], row["reason"] or "") for row in kit.ledger(lake, "clicks")) == [
        (0, again),
        (0, again),
        (2, ""),
    ]
    found = [(field.name, field.type.sql()) for field in kit.state(lake, "clicks").schema.fields[5:7]]
    assert found == [("_message_id", "string"), ("_sent_at", "timestamp")]

    # In two batches: the rows of a dead tick are in the table when its messages come again, with a new message.
    _send(lake, 3, 4)
    dies_before(Queue, "delete")
    kit.run(lake, "clicks", listing=False)
    assert _ids(lake, kit) == [1, 2, 3, 4]
    _send(lake, 5)
    _take_in(lake, 3)
    kit.run(lake, "clicks", listing=False)
    assert _ids(lake, kit) == [1, 2, 3, 4, 5]
    files = kit.state(lake, "clicks").files

    # The only row is in the table already, so the batch has no files.
    columns = "id, _message_id, unix_millis(_sent_at)"
    _, first, sent = kit.bronze(lake, "clicks", columns)[-1]
    _queue(lake).send('{"id": 5}', RowOrigin(first, sent))
    _take_in(lake, 1)
    (again,) = kit.run(lake, "clicks", listing=False)
    assert (again.batch.adds, kit.state(lake, "clicks").files) == ((), files)
    assert len({row[0] for row in kit.bronze(lake, "clicks", "_message_id")}) == 5
    assert kit.run(lake, "clicks") == [], "a listing has nothing new"

    # All objects are read again. Rows that the batch removes do not count as rows of the table.
    before = kit.bronze(lake, "clicks", columns)
    rebuild_table(lake.lake, lake.key("clicks"), by="somebody")
    (done,) = kit.run(lake, "clicks", listing=False)
    assert (len(done.batch.removes), sum(row.rows or 0 for row in done.batch.rows)) == (files, 5)
    assert kit.bronze(lake, "clicks", columns) == before


def test_what_is_not_a_row_comes_back_as_the_message_that_it_was(tidegate_lake: MakeLake, kit: Any) -> None:
    lake = tidegate_lake([{**CLICKS, "columns": {"id": "int"}, "schema": "strict"}])
    lake.intake()
    _send(lake, 1)
    _queue(lake).send('{"id": 2')
    _queue(lake).send('{"id": "three"}')
    _take_in(lake, 3)
    kit.run(lake, "clicks", listing=False)
    assert _ids(lake, kit) == [1]
    (kept,) = quarantined_messages(lake.lake.store.quarantine, Choice())
    assert kept.reason.startswith("the row is not JSON: ")
    assert kept.origin

    # The kept message is fixed and sent again with its old id. It is one row, although a redrive died after its send.
    store = lake.lake.store
    store.quarantine.keep_message(kept.event_id, '{"id": 2}', kept.reason, kept.queue, kept.origin)
    (fixed,) = quarantined_messages(lake.lake.store.quarantine, Choice())
    _queue(lake).send('{"id": 2}', kept.origin)
    redrive_messages(lake.lake, [fixed], RedriveRequest("somebody"))
    assert quarantined_messages(lake.lake.store.quarantine, Choice()) == []
    _take_in(lake, 2)
    kit.run(lake, "clicks", listing=False)
    assert kit.bronze(lake, "clicks", "id, _message_id")[1] == (2, kept.origin.message_id)
    assert _ids(lake, kit) == [1, 2]

    # A row that did not fit is redriven with its object. Its other rows do not count as duplicates of themselves.
    table_key, key = lake.key("clicks"), Choice()
    redrive_objects(lake.lake, table_key, quarantined(lake.lake, table_key, key), RedriveRequest("somebody", key))
    kit.run(lake, "clicks", listing=False)
    assert _ids(lake, kit) == [1, 2]


def test_a_webhook_is_one_row_however_late_its_sender_repeats_it(tidegate_lake: MakeLake, kit: Any) -> None:
    lake = tidegate_lake([CLICKS])
    lake.intake()
    scheme, first, day = scheme_of("secret", "x-key"), int(time.time()) - 5 * 86_400, 86_400

    def deliver(id: str, at: float, row: int, sender: str = "shop") -> tuple[str, RowOrigin]:
        received = Received({"x-key": "s", "webhook-id": id}, json.dumps({"id": row}).encode(), at)
        delivery = delivery_of(scheme, sender, received, ("s",), 4)
        return delivery.text, delivery.origin

    def load(*rows: tuple[str, RowOrigin]) -> None:
        assert not any(_queue(lake).send_rows(rows))
        _take_in(lake, len(rows))
        kit.run(lake, "clicks", listing=False)

    # Twice in a batch, then from another machine whose clock is behind, then in a retry after days next to a new row.
    load(deliver("a", first, 1), deliver("a", first + 1, 1))
    load(deliver("a", first - 3, 1), deliver("b", first + 60, 2))
    load(deliver("a", first + 3 * day, 1), deliver("c", first + 3 * day, 3))
    assert kit.bronze(lake, "clicks", "id, _message_id") == [(1, "shop:a"), (2, "shop:b"), (3, "shop:c")]
    # The id belongs to the sender.
    load(deliver("a", first + 3 * day, 4, "bank"))
    assert kit.bronze(lake, "clicks", "id, _message_id")[-1] == (4, "bank:a")
