"""Deliveries to destinations that refuse, hang and fail."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError

from tidegate.platform.core.config.routes import RouteSpec
from tidegate.platform.core.forwarding.outbox_message import Outgoing
from tidegate.platform.lake.forwarding.delivery import deliver
from tidegate.platform.lake.forwarding.destination import QueueDestination, Refusal, ShardedTopics, TopicDestination
from tidegate.platform.lake.forwarding.tagged_queues import TaggedQueues


def message(number: int, group: str = "g", body: str | None = None) -> Outgoing:
    return Outgoing(f"m{number}", "orders", group, number, body or f"{number}")


class Fake:
    """A destination that records what it took.

    Args:
        answer: what it says of a message, by the message and the number of times that it came. None: it is taken.
    """

    name = "fake"
    one_by_one = False

    def __init__(
        self,
        answer: Callable[[Outgoing, int], str | None] = lambda *_: None,
        *,
        ordered: bool = False,
        max_bytes: int = 1000,
    ) -> None:
        self.answer, self.ordered, self.max_bytes = answer, ordered, max_bytes
        self.calls: list[list[str]] = []
        self.took: list[Outgoing] = []
        self.seen: Counter[str] = Counter()
        self._lock = threading.Lock()

    def send(self, messages: Sequence[Outgoing]) -> list[Refusal]:
        with self._lock:
            self.calls.append([outgoing.id for outgoing in messages])
            refused = []
            for place, outgoing in enumerate(messages):
                self.seen[outgoing.id] += 1
                said = self.answer(outgoing, self.seen[outgoing.id])
                if said == "down":
                    raise EndpointConnectionError(endpoint_url="http://x")
                if said:
                    refused.append(Refusal(place, said, said == "never"))
                else:
                    self.took.append(outgoing)
            return refused


def test_messages_are_sent_ten_a_call() -> None:
    fake = Fake()
    delivery = deliver(fake, [message(n) for n in range(25)], until=0, clock=lambda: 0)
    assert (delivery.sent, delivery.left, delivery.error) == (25, [], None)
    assert sorted(len(call) for call in fake.calls) == [5, 10, 10]


def test_calls_are_bounded_in_bytes() -> None:
    fake = Fake(max_bytes=100)
    assert deliver(fake, [message(n, body="x" * 40) for n in range(5)], until=0, clock=lambda: 0).sent == 5
    assert max(len(call) for call in fake.calls) == 2


def test_only_the_refused_messages_of_a_call_are_sent_again() -> None:
    fake = Fake(lambda outgoing, times: "busy" if outgoing.id == "m3" and times < 3 else None)
    assert deliver(fake, [message(n) for n in range(10)], until=0, clock=lambda: 0).sent == 10
    assert fake.calls[1:] == [["m3"], ["m3"]]
    assert Counter(outgoing.id for outgoing in fake.took) == {f"m{n}": 1 for n in range(10)}


def test_a_message_that_is_refused_again_and_again_waits_with_the_reason() -> None:
    fake = Fake(lambda outgoing, _: "busy" if outgoing.id == "m3" else None)
    delivery = deliver(fake, [message(n) for n in range(10)], until=0, clock=lambda: 0)
    assert (delivery.sent, [outgoing.id for outgoing in delivery.left]) == (9, ["m3"])
    assert "fake refuses 1 messages for now: busy" in str(delivery.error)


def test_a_message_that_is_never_taken_delays_no_other() -> None:
    fake = Fake(lambda outgoing, _: "never" if outgoing.id == "m3" else None, ordered=True)
    delivery = deliver(fake, [message(n) for n in range(5)], until=0, clock=lambda: 0)
    assert [(outgoing.id, why) for outgoing, why in delivery.undeliverable] == [("m3", "never")]
    assert [outgoing.id for outgoing in fake.took] == ["m0", "m1", "m2", "m4"]
    assert (delivery.left, delivery.error) == ([], None)


def test_an_error_of_a_call_leaves_its_messages_and_ends_the_delivery() -> None:
    fake = Fake(lambda outgoing, _: "down" if outgoing.id == "m12" else None)
    delivery = deliver(fake, [message(n) for n in range(25)], until=0, clock=lambda: 0)
    assert [outgoing.id for outgoing in delivery.left] == [f"m{n}" for n in range(10, 20)]
    assert isinstance(delivery.error, EndpointConnectionError)
    assert delivery.sent == 15


def test_time_that_runs_out_leaves_the_rest_without_an_error() -> None:
    fake = Fake(ordered=True)
    delivery = deliver(fake, [message(n) for n in range(3)], until=0, clock=lambda: 1)
    assert (delivery.sent, [outgoing.id for outgoing in delivery.left], delivery.error) == (1, ["m1", "m2"], None)


@pytest.mark.parametrize("one_by_one", [False, True])
def test_no_call_begins_when_the_time_is_over(one_by_one: bool) -> None:
    """A round has a thousand messages, and an action on one of them may take seconds."""
    now = [0.0]

    def take(*_: object) -> None:
        now[0] += 1

    fake = Fake(take)
    fake.one_by_one = one_by_one
    delivery = deliver(fake, [message(n) for n in range(1_000)], until=50, clock=lambda: now[0])
    # Calls that began before are made: eight at a time, of ten messages.
    assert 50 < delivery.sent < 50 + 8 * (1 if one_by_one else 10) + 1
    assert (delivery.sent + len(delivery.left), delivery.error) == (1_000, None)


def test_a_message_of_many_events_is_divided_where_each_may_take_long() -> None:
    many = json.dumps({"Records": [{"s3": {"object": {"key": str(n)}}} for n in range(20)]})
    fake = Fake()
    fake.one_by_one = True
    now = [0.0]

    def clock() -> float:
        now[0] += 1
        return now[0]

    delivery = deliver(fake, [message(1, body=many), message(2)], until=5, clock=clock)
    records = [json.loads(outgoing.body)["Records"] for outgoing in [*fake.took, *delivery.left] if outgoing.id != "m2"]
    assert sorted(len(found) for found in records) == [1] * 20
    assert delivery.sent == len(fake.took) == len(fake.calls)
    assert 0 < delivery.sent < 20


def test_order_is_kept_within_a_group_and_a_refusal_stops_its_group_only() -> None:
    fake = Fake(lambda outgoing, _: "busy" if outgoing.id == "m3" else None, ordered=True)
    given = [message(n, group="abc"[n % 3]) for n in range(12)]
    delivery = deliver(fake, given, until=0, clock=lambda: 0)
    for group in "bc":
        ids = [outgoing.id for outgoing in given if outgoing.group == group]
        assert [outgoing.id for outgoing in fake.took if outgoing.group == group] == ids
    assert [outgoing.id for outgoing in fake.took if outgoing.group == "a"] == ["m0"]
    assert [outgoing.id for outgoing in delivery.left] == ["m3", "m6", "m9"]
    assert all(len({int(id[1:]) % 3 for id in call}) == len(call) for call in fake.calls), "one of a group a call"


def test_a_body_that_is_too_large_is_divided_and_a_single_record_is_kept() -> None:
    record = {"s3": {"object": {"key": "x" * 100}}}
    many = json.dumps({"Records": [record] * 8})
    single = json.dumps({"Records": [{**record, "more": "x" * 400}]})
    fake = Fake(max_bytes=400)
    delivery = deliver(fake, [message(1, body=many), message(2, body=single)], until=0, clock=lambda: 0)
    assert sum(len(json.loads(outgoing.body)["Records"]) for outgoing in fake.took) == 8
    assert len({outgoing.deduplication_id for outgoing in fake.took}) == len(fake.took) > 1
    (kept, why), *_ = delivery.undeliverable
    assert (kept.id, len(delivery.undeliverable)) == ("m2", 1)
    assert "bytes, and a message of fake at most 400" in why


def test_a_body_that_cannot_be_divided_delays_no_other() -> None:
    """It is deeper than any that the intake takes now. Outboxes may have such messages from before."""
    deep = '{"Records":[{},{"x":' + "[" * 970 + "]" * 970 + '}],"pad":"' + "x" * 1000 + '"}'
    fake = Fake()
    done = deliver(fake, [message(1), message(2, body=deep), message(3, body="x" * 2000), message(4)], until=1e9)
    assert sorted(outgoing.id for outgoing in fake.took) == ["m1", "m4"]
    assert [(outgoing.id, why[:25]) for outgoing, why in done.undeliverable] == [
        ("m2", "its body, which is too la"), ("m3", "its body, which is too la"),
    ]  # fmt: skip
    assert done.undeliverable[0][1].endswith("is nested too deeply")
    assert not done.left


def test_a_topic_that_fails_keeps_only_the_messages_of_its_types() -> None:
    route = RouteSpec.model_validate({"name": "r", "topic": "arn:aws:sns:x:123456789012:t", "shards": 3})
    topics = {arn: Fake() for arn in route.topics}
    down = route.topic_of("type-1")
    topics[down].answer = lambda *_: "down"
    given = [Outgoing(f"m{n}", f"type-{n}", "g", n, "b") for n in range(30)]
    delivery = deliver(ShardedTopics(route, topics), given, until=0, clock=lambda: 0)
    for arn, topic in topics.items():
        own = [outgoing.id for outgoing in given if route.topic_of(outgoing.event_type) == arn]
        assert own, "each topic has some of the types"
        assert sorted(outgoing.id for outgoing in topic.took) == ([] if arn == down else sorted(own))
    assert [route.topic_of(outgoing.event_type) for outgoing in delivery.left] == [down] * len(delivery.left)
    assert delivery.sent + len(delivery.left) == 30
    assert down in str(delivery.error)


class Client:
    """A client that records its calls. Its answer is given."""

    def __init__(self, **answer: Any) -> None:
        self.answer, self.asked = answer, {}

    def publish_batch(self, **given: Any) -> Any:
        self.asked = given
        return self.answer

    send_message_batch = publish_batch


class Named:
    """A queue with a name."""

    def __init__(self, name: str) -> None:
        self.name, self.url = name, f"http://sqs/1/{name}"


def test_a_topic_gets_the_body_and_the_type() -> None:
    client = Client()
    topic = TopicDestination(client, "arn:aws:sns:x:1:t", "lake-id", grouped=False)  # type: ignore[arg-type]
    assert topic.send([message(1), Outgoing("m2", None, "g", 0, "b")]) == []
    first, second = client.asked["PublishBatchRequestEntries"]
    attributes = {name: value["StringValue"] for name, value in first["MessageAttributes"].items()}
    assert (first["Message"], attributes) == ("1", {"event_type": "orders", "tidegate-lake": "lake-id"})
    assert "event_type" not in second["MessageAttributes"]
    assert "MessageGroupId" not in first


@pytest.mark.parametrize(
    ("name", "grouped", "members"),
    [
        ("q", False, set()),
        ("q", True, {"MessageGroupId"}),
        ("q.fifo", True, {"MessageGroupId", "MessageDeduplicationId"}),
    ],
)
def test_a_queue_gets_group_and_deduplication_as_it_needs(name: str, grouped: bool, members: set[str]) -> None:
    client = Client()
    queue = QueueDestination(client, Named(name), "lake-id", grouped=grouped)  # type: ignore[arg-type]
    queue.send([message(1)])
    (entry,) = client.asked["Entries"]
    assert entry.keys() - {"Id", "MessageBody", "MessageAttributes"} == members
    assert queue.ordered is name.endswith(".fifo")


def test_the_code_of_a_failure_says_whose_fault_it_is() -> None:
    failed = [
        {"Id": "0", "Code": "InternalError", "Message": "later"},
        {"Id": "2", "Code": "AWS.SimpleQueueService.InvalidMessageContents", "SenderFault": True},
        {"Id": "3", "Code": "KMS.AccessDenied", "SenderFault": True},
    ]
    queue = QueueDestination(Client(Failed=failed), Named("q"), "", grouped=False)  # type: ignore[arg-type]
    refused = queue.send([message(n) for n in range(4)])
    assert [(refusal.place, refusal.of_the_message) for refusal in refused] == [(0, False), (2, True), (3, False)]
    assert refused[0].reason == "InternalError: later"


class Tags:
    """The Tagging API: pages may be short or empty, and queues that lost their tags are still listed."""

    def __init__(self) -> None:
        self.pages: list[list[tuple[str, dict[str, str]]]] = []
        self.asked = 0

    def get_resources(self, **given: Any) -> Any:
        self.asked += 1
        place = int(given["PaginationToken"] or 0)
        listed = [
            {"ResourceARN": f"arn:aws:sqs:x:1:{name}", "Tags": [{"Key": k, "Value": v} for k, v in tags.items()]}
            for name, tags in self.pages[place]
        ]
        more = place + 1 < len(self.pages)
        return {"ResourceTagMappingList": listed, "PaginationToken": str(place + 1) if more else ""}


def test_queues_are_found_by_their_tag_on_all_pages() -> None:
    api = Tags()
    api.pages = [
        [("b", {"t": "orders"}), ("gone", {}), ("mine", {"t": "orders"})],
        [],
        [("a", {"t": "orders", "u": "x"}), ("c", {"u": "orders"}), ("d", {"t": "clicks"})],
    ]
    queues = TaggedQueues(lambda: api, "t", {"mine"})
    assert queues.names_with_value("orders") == ("a", "b")
    assert queues.names_with_value("returns") == ()
    assert [queues.has(name) for name in ("d", "gone", "mine", "c")] == [True, False, False, False]


def test_tags_are_read_again_after_a_minute_or_when_a_queue_was_missing() -> None:
    api, now = Tags(), [0.0]
    api.pages = [[("a", {"t": "orders"})]]
    queues = TaggedQueues(lambda: api, "t", (), clock=lambda: now[0])
    assert queues.names_with_value("orders") == ("a",)
    api.pages = [[]]
    assert (queues.names_with_value("orders"), api.asked) == (("a",), 1)
    queues.forget()
    assert queues.names_with_value("orders") == ()
    api.pages = [[("b", {"t": "orders"})]]
    now[0] = 61.0
    assert queues.names_with_value("orders") == ("b",)


def test_tags_that_cannot_be_read_are_an_error_and_no_empty_answer() -> None:
    def denied() -> Any:
        raise ClientError({"Error": {"Code": "AccessDeniedException"}}, "GetResources")

    with pytest.raises(ClientError):
        TaggedQueues(denied, "t", ()).names_with_value("orders")
