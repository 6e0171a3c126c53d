"""Messages that take long, come back, and are sent again, through a real queue."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import count, pairwise
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.lakes.objects import Objects
from tests.support.lakes.seams import Died
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.times import parse_time
from tidegate.platform.intake.tick import take_in
from tidegate.platform.lake.aws.message import Message
from tidegate.platform.lake.aws.sqs import Queue
from tidegate.platform.lake.lake_root.store import LakeStore
from tidegate.platform.local.aws import REGION, LocalAws
from tidegate.platform.local.provision import Clients
from tidegate.platform.operations import dead_letters
from tidegate.platform.operations.dead_letters import UNDERSTOOD, dead_letter_queues, peek, redrive_dead_letters
from tidegate.platform.operations.redrive import Choice, RedriveRequest

MakeLake = Callable[..., Any]
LAKE = {
    "lake": {"root": "s3://lake/root"},
    "queues": [{"name": "events"}],
    "buckets": ["landing"],
    "intake": {"threads": 2},
}


@pytest.fixture(scope="module")
def sqs(local_aws: LocalAws) -> Any:
    return Clients.connect(local_aws.endpoint, REGION, key="test", secret="test").sqs


@pytest.fixture
def make_lake(sqs: Any, request: pytest.FixtureRequest) -> MakeLake:
    """Return a lake with a queue and its dead-letter queue in SQS, and its own objects in a dictionary."""

    numbers = count()

    def make(visibility: int = 30) -> Any:
        name = f"{request.node.name.split('[')[0][-60:]}-{next(numbers)}"
        sqs.create_queue(QueueName=f"{name}-dlq")
        url = sqs.create_queue(QueueName=name, Attributes={"VisibilityTimeout": str(visibility)})["QueueUrl"]
        tables = [{"name": "orders", "prefix": "s3://landing/orders/"}]
        config = LakeConfig.model_validate({**LAKE, "queues": [{"name": name, "dlq": f"{name}-dlq"}], "tables": tables})
        store = LakeStore(Objects(), config.lake.root)  # type: ignore[arg-type]
        return SimpleNamespace(config=config, store=store, queues=[Queue(sqs, url)])

    return make


def event(key: str, time: str = "2026-01-02T10:00:00.000Z") -> str:
    record = {
        "eventSource": "aws:s3",
        "eventTime": time,
        "eventName": "ObjectCreated:Put",
        "s3": {"bucket": {"name": "landing"}, "object": {"key": key, "size": 1}},
    }
    return json.dumps({"Records": [record]})


def hints(lake: Any) -> list[str]:
    ids = [manifest.id for manifest in lake.store.inbox.waiting_manifests("landing.orders")]
    return [
        hint.key for manifest in lake.store.inbox.table_inbox("landing.orders").read(ids) for hint in manifest.hints
    ]


class _Beats:
    """When messages were received and hidden again. A machine that pauses for seconds proves nothing."""

    def __init__(self, queue: Any, visibility: int) -> None:
        self._hide, self._visibility, self._at = queue.hide, visibility, [time.monotonic()]
        queue.hide = self._noted

    def _noted(self, messages: Any, seconds: int) -> int:
        refused: int = self._hide(messages, seconds)
        self._at.append(time.monotonic())
        return refused

    def were_in_time(self) -> bool:
        """Return whether no two calls, and no call and now, are further apart than the messages stay hidden."""
        at = [*self._at, time.monotonic()]
        return max(after - before for before, after in pairwise(at)) < self._visibility - 0.5


def _on_a_machine_that_works(attempt: Callable[[], bool]) -> None:
    """Try until an attempt was not disturbed, and require that one was."""
    assert any(attempt() for _ in range(5)), "the machine stood still for seconds in each attempt"


def test_f15_a_message_is_nobody_else_s_while_its_hints_are_written(make_lake: MakeLake) -> None:
    """Its visibility is four seconds, and writing takes seven: the second consumer polls all that time."""

    def attempt() -> bool:
        lake = make_lake(visibility=4)
        queue, put = lake.queues[0], lake.store.inbox.put
        elsewhere: list[Message] = []
        in_time: list[bool] = []

        def slowly(manifests: Any) -> None:
            elsewhere.extend(queue.receive(hidden=1, wait=7))
            in_time.append(beats.were_in_time())
            put(manifests)

        queue.send(event("orders/a.csv"))
        lake.store.inbox.put = slowly
        beats = _Beats(queue, 4)
        assert take_in(lake, seconds=3).received == 1
        if not all(in_time):
            return False
        assert in_time
        assert elsewhere == []
        assert hints(lake) == ["orders/a.csv"]
        assert queue.receive(hidden=1, wait=2) == [], "it was deleted at the end"
        return True

    _on_a_machine_that_works(attempt)


def test_f15_a_tick_that_dies_gives_its_messages_back(make_lake: MakeLake) -> None:
    """They come back at the queue's own timeout."""

    def attempt() -> bool:
        lake = make_lake(visibility=4)
        queue = lake.queues[0]
        elsewhere: list[Message] = []
        in_time: list[bool] = []

        def dying(manifests: Any) -> None:
            elsewhere.extend(queue.receive(hidden=1, wait=7))
            in_time.append(beats.were_in_time())
            raise Died

        queue.send(event("orders/b.csv"))
        lake.store.inbox.put = dying
        beats = _Beats(queue, 4)
        with pytest.raises(Died):
            take_in(lake, seconds=3)
        if not all(in_time):
            return False
        assert in_time
        assert elsewhere == []
        (again,) = queue.receive(hidden=1, wait=20)
        assert again.body == event("orders/b.csv")
        return True

    _on_a_machine_that_works(attempt)


def test_dead_letters_are_looked_at_chosen_and_taken_in(make_lake: MakeLake) -> None:
    lake = make_lake()
    (letters,) = dead_letter_queues(lake.config, lake.queues)
    source, dead = letters.source, letters.queue
    late = "2026-02-02T10:00:00.000Z"
    for body in (event("orders/a.csv"), event("orders/b.csv", late), event("elsewhere.csv"), "{ no JSON"):
        dead.send(body)
    attributes = {"tenant": {"DataType": "String", "StringValue": "acme"}}
    dead.send_again([Message("x", event("orders/c.csv"), "", attributes=attributes)])
    for _ in range(2):  # reading changes nothing, not even for the next read
        seen = {
            letter.keys[0] if "/" in letter.keys[0] else letter.reason[:24]: letter.reason
            for letter in peek(lake.config, lake.store, letters, 100)
        }
        assert seen.pop("the body is not JSON: Ex").startswith("the body is not JSON")
        assert seen.pop("it is in no folder, and ").startswith("it is in no folder")
        assert seen == dict.fromkeys(["orders/a.csv", "orders/b.csv", "orders/c.csv"], UNDERSTOOD)

    def redriven(**choice: Any) -> list[Message]:
        redrive_dead_letters(
            lake.config, lake.store, letters, RedriveRequest("somebody", Choice(**choice), sleep=lambda _: None)
        )
        got = source.receive(hidden=30, wait=1)
        source.delete(got)
        return got

    assert [message.body for message in redriven(reason="not JSON")] == ["{ no JSON"]
    since = redriven(since=parse_time("2026-02-01"))
    assert [json.loads(message.body)["Records"][0]["eventTime"] for message in since] == [late]
    (carried,) = redriven(key="orders/c*")
    assert (carried.body, carried.attributes) == (event("orders/c.csv"), attributes)
    assert redriven(key="orders/zzz") == []

    # What is left is taken in by the consumer, which is the intake itself.
    taken = take_in(lake, seconds=5, queues=[dead])
    assert (hints(lake), taken.counters) == (["orders/a.csv"], {"no_table": 1})
    assert [event.queue for event in taken.unrouted] == [dead.name]
    assert dead.depth() == source.depth() == (0, 0)


def test_dead_letters_of_a_row_queue_are_rows_and_keep_their_identity(make_lake: MakeLake, sqs: Any) -> None:
    lake = make_lake()
    url, name = lake.queues[0].url, lake.queues[0].name
    sqs.create_queue(QueueName=f"{name}-events")
    config = {**LAKE, "tables": [{"name": "clicks", "row_queue": {"name": name, "dlq": f"{name}-dlq"}}]}
    lake.config, lake.queues = LakeConfig.model_validate(config), [Queue(sqs, f"{url}-events"), Queue(sqs, url)]
    (letters,) = [queue for queue in dead_letter_queues(lake.config, lake.queues, name)]
    source, dead = letters.source, letters.queue
    dead.send('{"id": 1}')
    dead.send("1, 2")
    seen = peek(lake.config, lake.store, letters, 10)
    assert sorted(letter.reason.split(":")[0] for letter in seen) == [UNDERSTOOD.split(":")[0], "the row is not JSON"]

    redrive_dead_letters(
        lake.config,
        lake.store,
        letters,
        RedriveRequest("somebody", Choice(reason="received too often"), sleep=lambda _: None),
    )
    (again,) = source.receive(hidden=0, wait=1)
    (first,) = [letter.message.origin for letter in seen if letter.reason == UNDERSTOOD]
    assert (again.origin, again.id != first.message_id) == (first, True)

    # The consumer: a row becomes a row, and what is none goes back to the row queue by `redrive --messages`.
    dead.send('{"id": 2}')
    taken = take_in(lake, seconds=5, queues=[dead])
    assert [hint.cause.name for hints in taken.hints.values() for hint in hints] == ["RowsSent"]
    (kept,) = lake.store.quarantine.messages()
    assert (kept.body, kept.queue) == ("1, 2", name)


def test_f31_ten_thousand_dead_letters_go_back_once_at_a_rate_and_on_record(
    make_lake: MakeLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = make_lake()
    (letters,) = dead_letter_queues(lake.config, lake.queues)
    bodies = [event(f"orders/{number}.csv") for number in range(10_000)]
    letters.queue.send_again([Message(str(n), body, "") for n, body in enumerate(bodies)])
    seams: list[str] = []
    slept: list[float] = []
    sent: Counter[str] = Counter()
    send = letters.source.send_again

    def counted(messages: Sequence[Message]) -> dict[str, str]:
        done = send(messages)
        sent.update(message.body for message in messages if message.id in done)
        return done

    monkeypatch.setattr(letters.source, "send_again", counted)

    def die_at_the_third_send(name: str) -> None:
        seams.append(name)
        if seams.count("redrive-sent") == 3:
            raise Died

    def go() -> str:
        return redrive_dead_letters(
            lake.config, lake.store, letters, RedriveRequest("somebody", rate=500, sleep=slept.append)
        )

    with monkeypatch.context() as patch:
        patch.setattr(dead_letters, "seam", die_at_the_third_send)
        # The messages that the redrive held when it died come back while the next redrive works.
        patch.setattr(dead_letters, "_HIDDEN_SECONDS", 1)
        with pytest.raises(Died):
            go()
    slept.clear()
    address = go()
    assert letters.queue.depth() == (0, 0)
    assert 18 <= sum(slept) <= 20, "500 a second, without what went before the death"
    go()
    assert letters.source.depth()[0] == 10_010, "what was sent when it died is there twice"

    assert set(sent) == set(bodies)
    assert Counter(sent.values()) == {1: 9_990, 2: 10}, "and an event that comes twice is a duplicate"
    entries = list(lake.store.operations.entries())
    assert [(entry["operation"], entry["by"]) for entry in entries] == [
        ("redrive-dead-letters", "somebody"),
        ("redriven-dead-letters", "somebody"),
    ] * 3
    depths = [entry["depth"] for entry in entries if "depth" in entry]
    assert (depths[0], depths[-1]) == (10_000, 0)
    assert [entry["moved"] for entry in entries if "moved" in entry] == [20, 9_980, 0]
    assert entries[3]["asked"] == address
