"""A queue that fails or hangs does not delay the other queues."""

from __future__ import annotations

import random
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError

from tests.support.lakes.objects import Objects
from tests.unit.platform.intake.test_tick import LAKE, body, count_parses, record
from tidegate.platform.core.bronze.object_state import S3Found
from tidegate.platform.core.config.lake import DiscoverySpec
from tidegate.platform.intake import store_and_delete
from tidegate.platform.intake import tick as intake_tick
from tidegate.platform.intake.fair_drain import DrainBudget, DrainSlots, QueueLimits, QueueOrder, TickOver
from tidegate.platform.intake.intake_result import IntakeResult
from tidegate.platform.intake.known_tables import KnownTables
from tidegate.platform.intake.message_routing import ParsedMessage, parse_messages
from tidegate.platform.intake.tick import take_in
from tidegate.platform.lake.aws.message import Message
from tidegate.platform.lake.aws.sqs import Queue
from tidegate.platform.lake.lake_root.store import LakeStore
from tidegate.platform.lake.threads import ConcurrentCalls

DEADLINE = 30.0


class Sqs:
    """A queue with a number of messages. A subclass may replace its answers."""

    def __init__(self, name: str, messages: int = 0) -> None:
        self.name, self.left = name, messages
        self.asked: Counter[str] = Counter()
        self.deleted = 0

    def receive_message(self, **given: Any) -> dict[str, Any]:
        self.asked["receive"] += 1
        taken = min(10, self.left)
        self.left -= taken
        entry = {"Body": body(record(f"orders/{self.name}.json")), "ReceiptHandle": "r"}
        return {"Messages": [{"MessageId": f"{self.left + n}", **entry} for n in range(taken)]}

    def delete_message_batch(self, **given: Any) -> dict[str, Any]:
        self.deleted += len(given["Entries"])
        return {}

    def get_queue_attributes(self, **_: Any) -> dict[str, Any]:
        return {"Attributes": {"VisibilityTimeout": "120"}}


class Dead(Sqs):
    """Does not answer."""

    def receive_message(self, **given: Any) -> dict[str, Any]:
        self.asked["receive"] += 1
        raise EndpointConnectionError(endpoint_url="https://sqs")


class Undeletable(Sqs):
    """Its policy allows receiving, but not deleting."""

    def delete_message_batch(self, **given: Any) -> dict[str, Any]:
        raise ClientError({"Error": {"Code": "AccessDenied", "Message": "no"}}, "DeleteMessageBatch")


class Hanging(Sqs):
    """Answers after an event."""

    def __init__(self, name: str, until: threading.Event) -> None:
        super().__init__(name)
        self.until = until

    def receive_message(self, **given: Any) -> dict[str, Any]:
        assert self.until.wait(DEADLINE), "nobody else was served meanwhile"
        return super().receive_message(**given)


def tick(
    *clients: Sqs, order: QueueOrder | None = None, seconds: float = 60.0, **more: Any
) -> tuple[IntakeResult, Counter]:
    """Run a tick. Returns its result and the number of hints of each queue in the inbox."""
    store = LakeStore(Objects(), "s3://lake/root")  # type: ignore[arg-type]
    config = LAKE.model_copy(update={"intake": LAKE.intake.model_copy(update={"threads": 1})})
    queues = [Queue(client, f"https://sqs/1/{client.name}") for client in clients]  # type: ignore[arg-type]
    lake = SimpleNamespace(config=config, queues=queues, store=store)
    found = take_in(lake, seconds=seconds, order=order, **more)  # type: ignore[arg-type]
    waiting = store.inbox.table_inbox("landing.orders").read(
        [manifest.id for manifest in store.inbox.waiting_manifests()]
    )
    return found, Counter(hint.key[7:-5] for manifest in waiting for hint in manifest.hints)


@pytest.mark.parametrize("kind", [Dead, Undeletable])
def test_a_queue_that_is_dead_or_refuses_a_delete_delays_nobody(kind: type[Sqs]) -> None:
    failing, healthy = kind("ill", 40), Sqs("well", 40)
    found, hints = tick(failing, healthy)
    assert list(found.failures) == ["ill"]
    assert (hints["well"], healthy.deleted, failing.deleted) == (40, 40, 0)
    assert hints["ill"] == (40 if kind is Undeletable else 0), "kept before its messages come again"


def test_a_queue_whose_work_fails_delays_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = KnownTables.route_messages

    def routed(self: KnownTables, parsed: list[ParsedMessage]) -> IntakeResult:
        if "/ill.json" in parsed[0].message.body:
            raise OSError("S3 does not take it")
        return whole(self, parsed)

    monkeypatch.setattr(KnownTables, "route_messages", routed)
    failing, healthy = Sqs("ill", 40), Sqs("well", 40)
    found, hints = tick(failing, healthy)
    assert {name: str(error) for name, error in found.failures.items()} == {"ill": "S3 does not take it"}
    assert (hints, failing.deleted, healthy.deleted) == ({"well": 40}, 0, 40), "what is not kept comes again"


def test_a_queue_that_hangs_keeps_nobody_from_being_served() -> None:
    """The queue hangs until all messages of the other queue are deleted."""
    served = threading.Event()

    class Well(Sqs):
        def delete_message_batch(self, **given: Any) -> dict[str, Any]:
            answer = super().delete_message_batch(**given)
            if self.deleted == 40:
                served.set()
            return answer

    found, hints = tick(Hanging("ill", served), Well("well", 40))
    assert (hints, found.failures) == ({"well": 40}, {})


def test_a_tick_continues_without_a_queue_that_does_not_end_and_then_asks_it_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    waits, order, over = ConcurrentCalls.wait, QueueOrder(), threading.Event()
    monkeypatch.setattr(intake_tick, "_TROUBLED_WAIT", 0.0)
    # The time is up as soon as the other queue is served.
    monkeypatch.setattr(ConcurrentCalls, "wait", lambda self, *_, **__: waits(self, DEADLINE, only={"well"}))
    failing, healthy = Hanging("ill", over), Sqs("well", 40)
    try:
        found, hints = tick(failing, healthy, order=order)
        assert hints == {"well": 40}
        assert "continues without it" in str(found.failures["ill"])
        assert (order.healthy_queues(["ill", "well"]), order.failing_queues(["ill", "well"])) == (["well"], ["ill"])
        # From now on no tick waits for it, even if there is time.
        monkeypatch.setattr(ConcurrentCalls, "wait", waits)
        healthy.left = 40
        found, hints = tick(failing, healthy, order=order)
        assert (hints, list(found.failures)) == ({"well": 40}, ["ill"])
    finally:
        over.set()


def test_a_queue_that_was_in_trouble_is_asked_little_until_it_is_well() -> None:
    order = QueueOrder()
    tick(Dead("ill"), Sqs("well"), order=order)
    recovered = Sqs("ill", 400)
    found, hints = tick(recovered, Sqs("well"), order=order)
    assert (hints, found.failures, recovered.asked["receive"]) == ({"ill": 10}, {}, 1)
    assert order.failing_queues(["ill", "well"]) == []
    assert tick(recovered, Sqs("well"), order=order)[1] == {"ill": 390}


def test_a_delete_that_is_refused_is_not_tried_for_all_others(monkeypatch: pytest.MonkeyPatch) -> None:
    given_up, asked = threading.Event(), []
    shutdown = ThreadPoolExecutor.shutdown

    def gives_up(self: ThreadPoolExecutor, *args: Any, **more: Any) -> None:
        shutdown(self, *args, **more) if more.get("cancel_futures") else None
        given_up.set()
        shutdown(self, *args, **more)

    class Refusing(Undeletable):
        def delete_message_batch(self, **given: Any) -> dict[str, Any]:
            asked.append(given)
            if len(asked) > 1:
                assert given_up.wait(DEADLINE)
            return super().delete_message_batch(**given)

    monkeypatch.setattr(ThreadPoolExecutor, "shutdown", gives_up)
    with pytest.raises(ClientError):
        Queue(Refusing("ill"), "https://sqs/1/ill").delete(Message(f"{n}", "", "r") for n in range(4000))  # type: ignore[arg-type]
    assert len(asked) <= 9, "the eight that were under way, and not each of four hundred after its client's timeouts"


def test_each_of_800_idle_queues_has_a_long_poll_in_every_tick(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock that advances by a second when all receivers, or all that are left, wait."""
    number, clock, inside, done = 800, [0.0], [0], [0]
    changed = threading.Condition()

    class Idle(Sqs):
        def receive_message(self, **given: Any) -> dict[str, Any]:
            with changed:
                inside[0] += 1
                second = clock[0]
                if inside[0] == min(64, number - done[0]):
                    clock[0] += 1.0
                    done[0] += inside[0]
                    inside[0] = 0
                    changed.notify_all()
                assert changed.wait_for(lambda: clock[0] > second, DEADLINE), "fewer are listened to at a time"
            self.asked[f"receive of {given['WaitTimeSeconds']} s"] += 1
            return {}

    monkeypatch.setattr("time.monotonic", lambda: clock[0])
    idle = [Idle(f"q{n}") for n in range(number)]
    tick(*idle, seconds=LAKE.intake.seconds * intake_tick.RECEIVE_SHARE, patience=4)
    assert {tuple(queue.asked.items()) for queue in idle} == {(("receive of 1 s", 1),)}
    assert clock[0] == 13


def test_half_of_800_queues_being_dead_delays_the_others_for_two_ticks_and_then_no_more() -> None:
    """By the order of queues alone: a tick has its receivers, six seconds for a dead queue, one for a healthy one."""
    names = [f"q{n:03}" for n in range(800)]
    dead = set(random.Random(8).sample(names, 400))
    order, last, tries = QueueOrder(), dict.fromkeys(names, 0), Counter[str]()
    for number in range(1, 101):
        free = [0.0] * 64
        failed, unreached, healthy = [], [], set()
        for name in order.healthy_queues(names):
            free.sort()
            if free[0] >= 15:
                unreached.append(name)
                continue
            free[0] += 6 if name in dead else 1
            (failed.append if name in dead else healthy.add)(name)  # type: ignore[func-returns-value]
            last[name] = number
        for name in order.failing_queues(names)[: 2 * 16]:
            failed.append(name)
            tries[name] += 1
        order.note(unreached, failed, healthy)
        if number > 4:
            assert all(last[name] == number for name in names if name not in dead), "each in every tick"
    assert min(tries[name] for name in dead) >= 5, "and those that are dead are not forgotten"
    assert max(tries[name] for name in dead) - min(tries[name] for name in dead) <= 2


def test_where_a_tick_s_time_is_too_short_the_next_one_begins_with_who_had_none() -> None:
    names = [f"q{n}" for n in range(10)]
    order, served = QueueOrder(), Counter[str]()
    for _ in range(10):
        mine = order.healthy_queues(names)
        served.update(mine[:3])
        order.note(mine[3:], [], set(mine[:3]))
    assert set(served.values()) == {3}
    assert order.healthy_queues(["other", *names])[0] != "other"


def test_a_slot_is_shared_by_the_queues_that_wait_for_it_and_the_messages_by_all() -> None:
    now = [0.0]
    budget, slots = DrainBudget(3, 300, deadline=12.0, clock=lambda: now[0]), DrainSlots(1)
    limits, entries = QueueLimits(budget, slots, lambda: None, probation=False), []
    others = [threading.Thread(target=lambda: entries.append(entered(slots))) for _ in range(2)]
    with limits.slot():
        now[0] = 11.9
        assert (limits.may_receive(99), limits.may_receive(100)) == (True, False), (
            "a third of the messages, and all of the time"
        )
        for other in others:
            other.start()
        while slots.rounds < 3:
            assert all(other.is_alive() for other in others), "they wait"
        now[0] = 3.9
        assert limits.may_receive(99)
        now[0] = 4.0
        assert not limits.may_receive(99), "two others wait for the slot"
        budget.record_end(20)
        assert budget.messages == 140, "what one leaves the others may take"
        slots.close()
        for other in others:
            other.join(DEADLINE)
    assert entries == [False, False], "nobody begins after the tick"


def entered(slots: DrainSlots) -> bool:
    try:
        with slots.slot():
            return True
    except TickOver:
        return False


def test_two_queues_together_bring_no_more_new_tables_than_the_day_may_have(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both have an event of a new folder, the day has room for one, and they route their messages at the same time."""
    store = LakeStore(Objects(), "s3://lake/root")  # type: ignore[arg-type]
    both, asked = threading.Barrier(2), []

    def head(bucket: str, key: str) -> S3Found:
        asked.append(key)
        if len(asked) <= 2:
            both.wait(DEADLINE)
        return S3Found("e", 1, 0)

    store.objects.head = head  # type: ignore[method-assign]
    config = LAKE.model_copy(update={"discovery": DiscoverySpec(per_day=1)})
    known = KnownTables(SimpleNamespace(config=config, store=store))  # type: ignore[arg-type]
    parses = count_parses(monkeypatch)
    received = [parse_messages([Message("m", body(record(key)), "r")]) for key in ("a/b/x.csv", "a/c/x.csv")]
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(known.route_messages, received))
    assert sorted(len(result.hints) for result in found) == [0, 1]
    assert sorted(len(result.held) for result in found) == [0, 1]
    assert len(parses) == 2, "to route again is not to parse again"
    assert len(known._read_tables()[0]) == 1


def test_what_could_not_be_understood_is_kept_and_then_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    """A body has up to a megabyte, so only the bodies that are not processed yet stay in memory."""

    class Odd(Sqs):
        def receive_message(self, **given: Any) -> dict[str, Any]:
            found = super().receive_message(**given)
            return {"Messages": [{**message, "Body": "{ no JSON"} for message in found["Messages"]]}

    monkeypatch.setattr(store_and_delete, "parallel", lambda call, items: map(call, items))
    found, _ = tick(Odd("odd", 40))
    assert (found.counters, found.rejects) == ({"malformed": 40}, [])
    assert len(found.unrouted) == 40
