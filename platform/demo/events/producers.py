"""The services of the demo's company: what they put into the bucket, and what happens to the notifications.

The result is a list of operations, always the same for the same numbers. `operations.jsonl` has one operation per line,
in order:

    {"op": "put", "key": "events/agreed/orders/created/date=2026-03-02/000017.json", "kind": "event", "body": "{…}\n"}
    {"op": "send", "key": null, "kind": "redelivered", "body": "{\"Records\": […]}"}

A `put` writes an object, which the bucket notifies. No key is put twice. A `send` sends a body to the queue of the lake
as it is. It refers to keys of operations that are at least `BARRIER` lines above, which are done by then.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from itertools import cycle
from pathlib import Path
from typing import Any

from tidegate.platform.demo.events.catalog import Contract, EventType
from tidegate.platform.demo.operations import notification

BUCKET = "tidegate-landing"
#: Operations that are done in parallel. The next ones begin when all of them are done.
BARRIER = 100
#: Of so many objects, one is notified twice.
_REDELIVERED_EVERY = 40
#: Of so many objects, one is poison.
_POISON_EVERY = 1_000
#: After so many objects, messages come that are rare in S3: with several records, or in the wrong order.
_RARE_EVERY = 300
#: Datasets that wait for a signal: a folder for each day, with so many parts.
_SETTLEMENTS, _PARTS = "exports/settlements/", 5
_SEED = 20_260_302
_DAYS = ("2026-03-02", "2026-03-03", "2026-03-04")
_CREATED, _REMOVED = "ObjectCreated:Put", "ObjectRemoved:Delete"

Operation = dict[str, Any]


def produce_events(types: Sequence[EventType], objects: int) -> Iterator[Operation]:
    """Yield the operations. Every event type has an event.

    Args:
        objects: number of objects of event types, at least one for each.

    Raises:
        ValueError: there are fewer objects than event types.
    """
    if objects < len(types):
        raise ValueError(f"{objects} objects are too few for {len(types)} event types")
    chance = random.Random(_SEED)
    order = [types[place % len(types)] for place in range(objects)]
    chance.shuffle(order)
    yield from _settlements()
    settled: list[str] = []
    recent: list[str] = []
    poison = max(len(_POISON), objects // _POISON_EVERY)
    poisonous = dict(zip(chance.sample(range(objects), poison), cycle(_POISON), strict=False))
    for number, event_type in enumerate(order):
        key = f"{event_type.folder}date={_DAYS[number * len(_DAYS) // objects]}/{number:06d}.json"
        if kind := poisonous.get(number):
            yield _put(key, _POISON[kind], kind)
        else:
            yield _put(key, _lines(event_type, number, objects), "event")
            recent.append(key)
        if len(recent) >= 2 * BARRIER:
            settled, recent = [*settled, *recent[:BARRIER]], recent[BARRIER:]
        if settled and number % _REDELIVERED_EVERY == 0:
            yield _send([chance.choice(settled)], _CREATED, "redelivered")
        if settled and number % _RARE_EVERY == 0:
            yield _send(chance.sample(settled, 5), _CREATED, "redelivered, several in one message")
            yield _send([chance.choice(settled)], _REMOVED, "out of order: the removal of an object that exists")
            yield _send([key.replace(".json", "-gone.json")], _CREATED, "out of order: an object that is gone")
    yield from _stray_operations()
    for day in _DAYS[:-1]:  # the signal of the last day never comes
        yield _put(f"{_SETTLEMENTS}day={day}/_SUCCESS", "", "completion signal")


def write_operations(operations: Iterator[Operation], folder: Path) -> list[Operation]:
    """Write `operations.jsonl` into a folder. Returns the operations."""
    folder.mkdir(parents=True, exist_ok=True)
    found = list(operations)
    with (folder / "operations.jsonl").open("w", encoding="utf-8") as lines:
        lines.writelines(json.dumps(operation) + "\n" for operation in found)
    return found


def _settlements() -> Iterator[Operation]:
    """Yield the files of a dataset of each day. A signal says later that they are complete."""
    for day in _DAYS:
        for part in range(_PARTS):
            rows = [{"id": f"settlement-{day}-{part}-{place}", "cents": 100 * part + place} for place in range(_PARTS)]
            body = "".join(f"{json.dumps(row)}\n" for row in rows)
            yield _put(f"{_SETTLEMENTS}day={day}/part-{part}.json", body, "part of a dataset")


def _stray_operations() -> Iterator[Operation]:
    """Yield what belongs to no table, and what is not a notification."""
    yield _put("exports/README.txt", "Ask the data team before you delete anything here.\n", "of no table")
    yield _put("events/unfinished.json", "{}\n", "of no table")
    yield {"op": "send", "key": None, "kind": "poison: a message that is not JSON", "body": "Dear data team, "}
    yield {"op": "send", "key": None, "kind": "poison: a message without records", "body": '{"Records": "none"}'}
    record = notification("another-bucket", "events/agreed/orders/created/1.json", _CREATED, {})
    body = json.dumps({"Records": [record]})
    yield {"op": "send", "key": None, "kind": "of a bucket that the lake does not read", "body": body}


def _lines(event_type: EventType, number: int, objects: int) -> str:
    rows = [_row(event_type, number, place, 2 * number > objects) for place in range(1 + number % 4)]
    if event_type.contract is Contract.DRIFTING and number % 20 == 3:
        rows[-1]["cents"] = f"{rows[-1]['cents'] / 100:.2f} EUR"
    lines = [json.dumps(row) for row in rows]
    if event_type.contract is Contract.OPEN and number % 50 == 1:
        lines[-1] = lines[-1].replace("{", '{"id": "twice", ', 1)
    return "".join(f"{line}\n" for line in lines)


def _row(event_type: EventType, number: int, place: int, late: bool) -> dict[str, Any]:
    row: dict[str, Any] = {"id": f"{event_type.name}-{number:06d}-{place}", "type": event_type.name}
    day = _DAYS[number % len(_DAYS)]
    at = f"{day}T{number // 3600 % 24:02d}:{number // 60 % 60:02d}:{number % 60:02d}Z"
    if event_type.contract is Contract.OPEN:
        return row | {"at": [at, number, None][number % 3], "payload": _payload(number, place)}
    row |= {"at": at, "cents": number * 7 % 100_000 + place, "currency": "EUR", f"{event_type.service}_id": number}
    if event_type.contract is Contract.BULKY and number % 7:
        row |= {"region": ("eu", "us")[number % 2]}
    if event_type.contract is Contract.DRIFTING and late:
        row |= {"channel": ("app", "web", "shop")[number % 3], "details": {"version": 2, "step": place}}
    return row


def _payload(number: int, place: int) -> Any:
    shapes: tuple[Any, ...] = (
        number,
        f"number {number}",
        [number, place],
        {"total": {"cents": number}},
        {"total": f"{number}"},
        number / 4,
        place == 0,
    )
    return shapes[(number + place) % len(shapes)]


_POISON = {
    "poison: a truncated object": '{"id": "orders.created-1", "type": "orders.cre',
    "poison: an error page": "<html><body>502 Bad Gateway</body></html>\n",
    "poison: an empty object": "",
}


def _put(key: str, body: str, kind: str) -> Operation:
    return {"op": "put", "key": key, "kind": kind, "body": body}


def _send(keys: Sequence[str], event: str, kind: str) -> Operation:
    records = [notification(BUCKET, key, event, {}) for key in keys]
    return {"op": "send", "key": None, "kind": kind, "body": json.dumps({"Records": records})}
