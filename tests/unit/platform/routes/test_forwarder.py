"""From the messages of a queue over the outbox to the destinations, with S3 in memory and destinations that fail."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import dagster as dg
import pytest
from botocore.exceptions import EndpointConnectionError

from tests.support.lakes.objects import Objects
from tests.support.lakes.seams import dying_in
from tests.support.ticks import evaluate
from tidegate.assets.keys import LakeNames
from tidegate.assets.routes.report import route_state
from tidegate.platform.core.bronze.object_state import S3Unavailable
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.forwarding import message_bodies
from tidegate.platform.core.forwarding.outbox_message import Outgoing
from tidegate.platform.definitions import build_definitions
from tidegate.platform.intake import forwarded_messages as forwards_module
from tidegate.platform.intake import store_and_delete as storing
from tidegate.platform.intake.event_typing import EventTyping, Types
from tidegate.platform.intake.forwarded_messages import Forwards, Made
from tidegate.platform.intake.intake_result import IntakeResult
from tidegate.platform.intake.message_routing import parse_messages, route_events
from tidegate.platform.intake.store_and_delete import store_and_delete
from tidegate.platform.intake.tick import take_in
from tidegate.platform.lake.aws.message import Message
from tidegate.platform.lake.aws.s3 import ObjectForbidden, ObjectGone, StoreError
from tidegate.platform.lake.aws.sqs import Queue
from tidegate.platform.lake.forwarding.destination import Refusal
from tidegate.platform.lake.lake_root import outbox as outbox_module
from tidegate.platform.lake.lake_root.outbox import Lane
from tidegate.platform.lake.lake_root.store import LakeStore
from tidegate.platform.operations.redrive import Choice, RedriveRequest, redrive_route, undeliverable_messages
from tidegate.platform.routes import lane as lane_module
from tidegate.platform.routes import lane as spread_module
from tidegate.platform.routes.forwarder import Forwarder
from tidegate.platform.routes.lane import LaneResult
from tidegate.resources.aws_resource import AwsResource
from tidegate.resources.lake_resource import LakeResource
from tidegate.sensors.forward import forward_events

TOPIC = "arn:aws:sns:eu-central-1:123456789012:events"
CONFIG = LakeConfig.model_validate(
    {
        "lake": {"root": "s3://lake/root"},
        "queues": [{"name": "events"}],
        "buckets": ["landing"],
        "tables": [
            {
                "name": "orders",
                "prefix": "s3://landing/events/orders/",
                "mode": "load",
                "after_load": {"move": "s3://landing/done/"},
            }
        ],
        "event_types": [{"key": "events/{type}/**"}, {"attribute": "kind"}, {"tag": "kind"}],
        "routes": [
            {"name": "all", "topic": TOPIC},
            {"name": "ordered", "queue": {"name": "ordered.fifo"}, "group": "table", "types": ["orders", "clicks"]},
            {"name": "tagged", "queues_tagged": "event-type", "unmatched": "nobody"},
        ],
    }
)


def record(key: str, bucket: str = "landing") -> dict[str, Any]:
    return {
        "eventSource": "aws:s3",
        "eventName": "ObjectCreated:Put",
        "s3": {"bucket": {"name": bucket}, "object": {"key": key}},
    }


def body(*keys: str, bucket: str = "landing") -> str:
    return json.dumps({"Records": [record(key, bucket) for key in keys]}, indent=1)


def message(id: str, text: str, **attributes: str) -> Message:
    given = {name.replace("_", "-"): {"DataType": "String", "StringValue": value} for name, value in attributes.items()}
    return Message(id, text, "r", 1_000, None, given)


class Tagged:
    """The Tagging API: the queues of each type."""

    def __init__(self, **queues: Sequence[str]) -> None:
        self.queues = queues

    def names_with_value(self, value: str) -> tuple[str, ...]:
        return tuple(self.queues.get(value, ()))

    def has(self, name: str) -> bool:
        return any(name in names for names in self.queues.values())

    def forget(self) -> None:
        pass


class Network:
    """Every destination: what it got, and how it behaves.

    Args:
        queues: the queues of each type.
    """

    def __init__(self, **queues: Sequence[str]) -> None:
        self.tags = Tagged(**queues)
        self.got: dict[str, list[Outgoing]] = {}
        self.down: set[str] = set()
        self.never: set[str] = set()
        self.later: set[str] = set()
        self.picky: set[str] = set()

    def find(self, route: Any) -> Any:
        return self._at(route.name, ordered=route.fifo)

    def queue(self, route: Any, name: str) -> Any:
        return self._at(name, ordered=False)

    def tagged_queues(self, route: Any) -> Tagged:
        return self.tags

    def _at(self, name: str, *, ordered: bool) -> Any:
        def send(messages: Sequence[Outgoing]) -> list[Refusal]:
            if name in self.down:
                raise EndpointConnectionError(endpoint_url=name)
            never = self.never if not self.picky or name in self.picky else set()
            refused = [Refusal(place, "never", True) for place, outgoing in enumerate(messages) if outgoing.id in never]
            refused += [
                Refusal(place, "later", False) for place, outgoing in enumerate(messages) if outgoing.id in self.later
            ]
            places = {refusal.place for refusal in refused}
            self.got.setdefault(name, []).extend(
                outgoing for place, outgoing in enumerate(messages) if place not in places
            )
            return refused

        return SimpleNamespace(name=name, ordered=ordered, max_bytes=100_000, one_by_one=False, send=send)

    def ids(self, name: str) -> list[str]:
        return [outgoing.id for outgoing in self.got.get(name, [])]


class Tags(Objects):
    """S3 in memory, with tags of the objects of other buckets."""

    def __init__(self) -> None:
        super().__init__()
        self.tagged: dict[str, Any] = {}

    def tags(self, bucket: str, key: str) -> dict[str, str]:
        found = self.tagged.get(key, ObjectGone(key))
        if isinstance(found, Exception):
            raise found
        return found  # type: ignore[no-any-return]

    def head(self, bucket: str, key: str) -> S3Unavailable:
        return S3Unavailable("it is asked whether a folder becomes a table, and need not say")


def make_lake(network: Network | None = None) -> Any:
    return SimpleNamespace(
        config=CONFIG,
        id="lake-id",
        store=LakeStore(Tags(), CONFIG.lake.root),
        destinations=network or Network(),  # type: ignore[arg-type]
    )


def made(lake: Any, *messages: Message) -> dict[str, list[Outgoing]]:
    typing = EventTyping(lake)
    opened = typing.open_messages(parse_messages(messages))
    return Forwards(lake).build_messages(opened, typing.find_types(opened).by_event).outgoing


def take(lake: Any, *messages: Message) -> None:
    lake.store.outbox.put((Lane(route), found) for route, found in made(lake, *messages).items())


def tick(lake: Any, forwarder: Forwarder | None = None) -> dict[str, LaneResult]:
    results = (forwarder or Forwarder()).tick(lake, lake.store.outbox.lanes())
    return {str(result.lane): result for result in results}


def test_a_body_is_forwarded_unchanged_with_its_type() -> None:
    text = body("events/orders/1.json")
    found = made(make_lake(), message("m1", text))
    assert set(found) == {"all", "ordered", "tagged"}
    for (outgoing,) in found.values():
        assert outgoing == Outgoing("m1", "orders", "s3://landing/events/orders/", 1_000, text)


def test_a_route_gets_the_types_that_it_names() -> None:
    text = body("events/orders/1.json", "events/returns/1.json", "events/clicks/1.json", "events/clicks/2.json")
    found = made(make_lake(), message("m1", text))
    assert [(outgoing.id, outgoing.event_type) for outgoing in found["ordered"]] == [
        ("m1#0", "orders"),
        ("m1#2", "clicks"),
    ]
    assert [outgoing.event_type for outgoing in found["all"]] == ["orders", "returns", "clicks"]
    assert [len(json.loads(outgoing.body)["Records"]) for outgoing in found["all"]] == [1, 1, 2]


def test_what_tidegate_itself_writes_is_not_forwarded() -> None:
    own = [
        message("m1", body("root/x.json", bucket="lake")),
        message("m2", body("events/orders/_delta_log/0.json")),
        message("m3", body("done/orders/1.json")),
        message("m4", body("events/orders/1.json"), tidegate_lake="lake-id"),
        message("m5", json.dumps({"Event": "s3:TestEvent"})),
        message("m6", "no JSON"),
        message("m7", body("x/1.json", bucket="another")),
    ]
    assert made(make_lake(), *own) == {}
    assert set(made(make_lake(), message("m8", body("events/orders/_SUCCESS"), tidegate_lake="another"))) > {"all"}


def test_a_type_may_be_an_attribute_or_a_tag() -> None:
    lake = make_lake()
    lake.store.objects.tagged = {"z/2.json": {"kind": "tagged"}, "z/4.json": {}}
    messages = [
        message("m1", body("z/1.json"), kind="attribute"),
        message("m2", body("z/2.json")),
        message("m3", body("z/gone.json")),
        message("m4", body("z/4.json")),
    ]
    assert [outgoing.event_type for outgoing in made(lake, *messages)["all"]] == ["attribute", "tagged", None, None]


def test_of_hundreds_of_attributes_one_gives_the_type_and_an_odd_one_gives_none() -> None:
    many = {f"a{n}": str(n) for n in range(300)}
    text = message("m1", body("x/1.json"), kind="orders", **many)
    odd = message("m2", body("x/2.json"), **many)
    odd.attributes["kind"] = {"DataType": "Binary", "BinaryValue": b"orders"}
    found = made(make_lake(), text, odd)["all"]
    assert [(outgoing.id, outgoing.event_type) for outgoing in found] == [("m1", "orders"), ("m2", None)]
    assert [outgoing.body for outgoing in found] == [text.body, odd.body]


def test_tags_that_s3_refuses_leave_their_message_in_its_queue_and_no_other() -> None:
    lake, network = make_lake(Network()), Network()
    lake.destinations = network
    refused = ObjectForbidden("s3://landing/z/1.json: Access Denied")
    lake.store.objects.tagged = {"z/1.json": refused, "z/3.json": {"kind": "tagged"}}
    envelope = {"Type": "Notification", "MessageId": "sns", "TopicArn": TOPIC, "Message": body("z/1.json", "z/3.json")}
    sqs = Sqs(json.dumps(envelope), body("events/orders/1.json"), body("z/1.json"), body("z/3.json"))
    lake.queues = [Queue(sqs, "https://sqs/1/events")]  # type: ignore[arg-type]
    found = take_in(lake, seconds=10)
    assert sorted(sqs.bodies) == ["m0", "m2"]
    assert (found.received, found.failures) == (2, {})
    assert {hint.key: hint.event_type for hints in found.hints.values() for hint in hints} == {
        "events/orders/1.json": "orders",
        "z/3.json": "tagged",
    }
    (left,) = found.left
    assert left.startswith("2 messages stay in the queue events: ")
    assert "s3://landing/z/1.json: Access Denied" in left
    tick(lake)
    assert sorted(network.ids("all")) == ["m1", "m3"]
    lake.store.objects.tagged["z/1.json"] = {"kind": "late"}
    sqs.hidden.clear()
    again = take_in(lake, seconds=10)
    assert (again.left, again.failures) == ([], {})
    assert sqs.bodies == {}


def test_messages_come_back_if_s3_does_not_answer_when_a_type_depends_on_tags() -> None:
    lake = make_lake()
    lake.store.objects.tagged = {"z/1.json": StoreError("s3://landing/z/1.json: SlowDown")}
    with pytest.raises(StoreError, match="SlowDown"):
        made(lake, message("m1", body("z/1.json")))


def test_an_envelope_that_lacks_members_of_sns_is_taken_off_all_the_same() -> None:
    inner = body("events/orders/1.json", "events/clicks/1.json")
    for text in (json.dumps({"Type": "Notification", "TopicArn": TOPIC, "Message": inner}), inner):
        found = made(make_lake(), message("m1", text))
        assert [(outgoing.id, outgoing.event_type) for outgoing in found["all"]] == [
            ("m1#0", "orders"),
            ("m1#1", "clicks"),
        ]
        assert [len(json.loads(outgoing.body)["Records"]) for outgoing in found["all"]] == [1, 1]


def test_a_body_that_cannot_be_divided_is_quarantined_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = message_bodies.parts_of

    def stumbling(found: Any, *given: Any) -> Any:
        if found.id == "m1":
            raise RecursionError("what nobody thought of")
        return parts(found, *given)

    monkeypatch.setattr(forwards_module, "parts_of", stumbling)
    lake, sqs = make_lake(), Sqs(*(body(f"events/orders/{number}.json") for number in range(3)))
    lake.queues = [Queue(sqs, "https://sqs/1/events")]  # type: ignore[arg-type]
    found = take_in(lake, seconds=10)
    assert (sqs.bodies, found.counters, found.failures) == ({}, {"malformed": 1}, {})
    assert [event.reason for event in found.unrouted] == [
        "reading it failed, please report it: RecursionError: what nobody thought of"
    ]
    tick(lake)
    assert lake.destinations.ids("all") == ["m0", "m2"]


def test_hints_and_events_without_a_table_have_the_types_that_routes_use() -> None:
    lake = make_lake()
    lake.store.objects.tagged = {"z/2.json": {"kind": "tagged"}}
    parsed = parse_messages(
        [
            message("m1", body("events/orders/1.json", "x/1.json", "top.json"), kind="attribute"),
            message("m2", body("events/orders/2.json"), tidegate_lake="lake-id"),
            message("m3", body("z/2.json", "gone.json")),
        ]
    )
    typing = EventTyping(lake)
    intake = route_events(parsed, CONFIG, set())
    intake.add_types(typing.find_types(typing.open_messages(parsed)).by_event)
    assert {hint.event_id: hint.event_type for hints in intake.hints.values() for hint in hints} == {
        "m1#0": "orders",
        "m1#1": "attribute",
        "m2#0": "orders",
        "m3#0": "tagged",
    }
    assert {event.event_id: event.event_type for event in intake.unrouted} == {"m1#2": "attribute", "m3#1": None}


def test_without_routes_tags_that_s3_refuses_keep_no_file_from_its_table() -> None:
    lake = make_lake()
    lake.config = CONFIG.model_copy(update={"routes": ()})
    lake.store.objects.tagged = {"z/1.json": ObjectForbidden("s3:GetObjectTagging"), "z/2.json": {"kind": "tagged"}}
    typing = EventTyping(lake)
    opened = typing.open_messages(parse_messages([message("m1", body("z/1.json", "z/2.json"))]))
    assert typing.find_types(opened) == Types({"m1#0": None, "m1#1": "tagged"})
    assert Forwards(lake).build_messages(opened, {}) == Made()


def test_a_message_is_deleted_after_the_outbox_has_it() -> None:
    lake, present = make_lake(), []
    queue: Any = SimpleNamespace(name="events", delete=lambda _: present.extend(lake.store.objects.bodies))
    received = [message("m1", body("events/orders/1.json"))]
    store_and_delete(lake, queue, received, IntakeResult(outgoing=made(lake, *received)))
    assert {key.split("/")[2] for key in present if key.startswith("root/outbox/")} == {"all", "ordered", "tagged"}


def test_what_is_left_of_an_object_is_stored_before_the_object_is_deleted() -> None:
    network = Network()
    lake = make_lake(network)
    take(lake, *(message(f"m{n}", body(f"x/{n}.json"), kind="a") for n in range(3)))
    network.later = {"m1"}
    write = lake.store.objects.put

    def dies(*_: Any) -> None:
        raise ConnectionError("S3 does not answer")

    lake.store.objects.put = dies
    assert isinstance(tick(lake)["all"].error, ConnectionError)
    lake.store.objects.put, network.later = write, set()
    tick(lake)
    assert set(network.ids("all")) == {"m0", "m1", "m2"}


def test_messages_reach_every_destination_once() -> None:
    network = Network(orders=["q1", "q2"], clicks=["q1"])
    lake = make_lake(network)
    take(lake, *(message(f"m{n}", body(f"events/{'orders' if n % 2 else 'clicks'}/{n}.json")) for n in range(20)))
    take(lake, message("m20", body("events/returns/1.json")), message("m21", body("z/gone.json")))
    results = tick(lake)
    assert {name: result.sent for name, result in results.items()} == {"all": 22, "ordered": 20, "tagged": 32}
    assert sorted(network.ids("all")) == sorted(f"m{n}" for n in range(22))
    assert sorted(network.ids("q1")) == sorted(f"m{n}" for n in range(20))
    assert sorted(network.ids("q2")) == sorted(f"m{n}" for n in range(1, 20, 2))
    assert network.ids("nobody") == ["m20", "m21"]
    assert lake.store.outbox.lanes() == []


def test_a_destination_that_is_down_delays_nobody_and_gets_everything_later() -> None:
    network = Network(orders=["q1", "q2"])
    network.down = {"all", "q1"}
    lake, now = make_lake(network), [0.0]
    forwarder = Forwarder(clock=lambda: now[0])
    take(lake, message("m1", body("events/orders/1.json")))
    results = tick(lake, forwarder)
    assert results["all"].error is not None
    assert (network.ids("ordered"), network.ids("q2"), network.ids("q1")) == (["m1"], ["m1"], [])
    assert {str(lane) for lane in lake.store.outbox.lanes()} >= {"all", "tagged to q1"}
    take(lake, message("m2", body("events/orders/2.json")))
    tick(lake, forwarder)
    assert network.ids("q2") == ["m1", "m2"]
    network.down = set()
    now[0] = 1_000.0
    for _ in range(3):
        tick(lake, forwarder)
        now[0] += 1_000.0
    assert network.ids("q1") == ["m1", "m2"], "in order"
    assert sorted(network.ids("all")) == ["m1", "m2"]
    assert lake.store.objects.bodies == {}


def test_a_lane_rests_longer_after_each_failure() -> None:
    network, now = Network(), [0.0]
    network.down = {"all"}
    lake, forwarder, served = make_lake(network), Forwarder(clock=lambda: now[0]), []
    take(lake, message("m1", body("x/1.json"), kind="another"))
    for second in range(0, 1_200, 5):
        now[0] = float(second)
        if "all" in tick(lake, forwarder):
            served.append(second)
    assert served[:6] == [0, 5, 15, 35, 75, 155]
    assert max(later - earlier for earlier, later in itertools.pairwise(served)) == 300
    assert "name or service" not in forwarder.errors()[Lane("all")]
    forwarder.tick(lake, [])
    assert forwarder.errors() == {}, "a lane that is gone is forgotten"


def test_a_queue_that_lost_its_tag_is_unmatched_and_nothing_is_dropped() -> None:
    network = Network(orders=["q1"])
    network.down = {"q1"}
    lake = make_lake(network)
    take(lake, message("m1", body("events/orders/1.json")))
    tick(lake)
    network.tags.queues = {}
    tick(lake)
    assert (network.ids("q1"), network.ids("nobody")) == ([], ["m1"])
    assert lake.store.outbox.lanes() == []


def test_a_route_that_left_lake_yaml_keeps_its_messages() -> None:
    lake = make_lake()
    lake.store.outbox.put([(Lane("former"), [Outgoing("m1", None, "g", 1, "{}")])])
    assert "'former', which is not in lake.yaml; add it again" in str(tick(lake)["former"].error)
    assert lake.store.outbox.lanes() == [Lane("former")]


def test_a_message_that_is_never_taken_is_quarantined_with_its_reason() -> None:
    network = Network()
    network.never = {"m1"}
    lake = make_lake(network)
    take(lake, message("m1", body("x/1.json"), kind="a"), message("m2", body("x/2.json"), kind="a"))
    assert tick(lake)["all"].undeliverable == 1
    assert network.ids("all") == ["m2"]
    kept = {key: json.loads(text) for key, text in lake.store.objects.bodies.items() if "/routes/all/" in key}
    assert [(item["reason"], item["message"]["id"]) for item in kept.values()] == [("never", "m1")]


def test_undeliverable_messages_with_one_id_are_all_kept_and_come_back() -> None:
    """The sender of an event writes its envelope, and so its id."""
    network = Network()
    network.never = {"m1"}
    lake = make_lake(network)
    given = [Outgoing("m1", None, "g", 1, text) for text in ("an honest body", "a forged body", "an honest body")]
    lake.store.outbox.put([(Lane("all"), given)])
    assert tick(lake)["all"].undeliverable == 3
    kept = list(lake.store.outbox.undeliverable_messages("all"))
    assert {item.message.body for item in kept} == {"an honest body", "a forged body"}
    # An older version named the object by the id alone.
    body = json.dumps({"reason": "never", "message": Outgoing("m0", None, "g", 1, "of before").to_dict()})
    lake.store.objects.bodies[lake.store.key("quarantine", "routes", "all", f"{'0' * 64}-{'0' * 26}.json")] = body
    lake.store.outbox.send_again("all", list(lake.store.outbox.undeliverable_messages("all")))
    assert list(lake.store.outbox.undeliverable_messages("all")) == []
    waiting = [
        item for found in lake.store.outbox.waiting_objects(Lane("all")) for item in lake.store.outbox.read(found)
    ]
    assert {item.body for item in waiting} == {"an honest body", "a forged body", "of before"}


def redriven(lake: Any, choice: Choice | None = None) -> list[str]:
    """Redrive the route `tagged`. Returns the reasons of its messages."""
    choice = choice or Choice()
    found = undeliverable_messages(lake.store.outbox, "tagged", choice)
    redrive_route(
        lake.store.outbox, lake.store.operations, "tagged", found, RedriveRequest("me", choice, sleep=lambda _: None)
    )
    return [kept.reason for kept in found]


def undeliverable_keys(lake: Any) -> set[str]:
    return {key for key in lake.store.objects.bodies if "quarantine/routes/tagged/" in key}


def lake_with_undeliverable(network: Network) -> Any:
    """Return a lake with a message that two of three queues of its type did not take."""
    network.tags.queues = {"orders": ["q1", "q2", "q3"]}
    network.never, network.picky = {"m1"}, {"q1", "q2"}
    lake = make_lake(network)
    take(lake, message("m1", body("events/orders/1.json")), message("m2", body("events/orders/2.json")))
    tick(lake)
    return lake


def test_undeliverable_messages_are_redriven_to_the_queue_that_did_not_take_them() -> None:
    network = Network()
    lake = lake_with_undeliverable(network)
    assert len(undeliverable_keys(lake)) == 2, "one for each queue"
    assert redriven(lake, Choice(reason="another")) == []
    assert redriven(lake) == ["never", "never"]
    assert undeliverable_keys(lake) == set()
    network.never = set()
    tick(lake)
    assert (network.ids("q1"), network.ids("q2"), network.ids("q3")) == (["m2", "m1"], ["m2", "m1"], ["m1", "m2"])
    entries = [entry for entry in lake.store.operations.entries() if entry["messages"]]
    assert [(entry["operation"], entry["route"], entry["by"], len(entry["messages"])) for entry in entries] == [
        ("redrive-route", "tagged", "me", 2)
    ]


def test_a_body_with_half_of_a_surrogate_pair_is_quarantined_and_comes_back() -> None:
    network = Network()
    network.never = {"m1"}
    lake = make_lake(network)
    outgoing = Outgoing("m1", None, "g", 1, "\ud800")
    lake.store.outbox.put([(Lane("all"), [outgoing])])
    assert tick(lake)["all"].undeliverable == 1
    for text in lake.store.objects.bodies.values():
        text.encode()
    assert [kept.message for kept in lake.store.outbox.undeliverable_messages("all")] == [outgoing]


def test_a_redrive_that_dies_or_meets_the_same_refusal_loses_nothing() -> None:
    network = Network()
    lake = lake_with_undeliverable(network)
    before = undeliverable_keys(lake)
    with dying_in(outbox_module, "redrive-sent"):
        redriven(lake)
    tick(lake)
    again = undeliverable_keys(lake)
    assert before < again, "what is refused again has a new object, which the end of the first redrive does not delete"
    assert len(again) == 4
    network.never = set()
    redriven(lake)
    tick(lake)
    assert (set(network.ids("q1")), undeliverable_keys(lake)) == ({"m1", "m2"}, set())


def test_a_message_that_was_sent_is_not_sent_again_although_another_was_divided() -> None:
    """The two halves of the other make the object as long as it was."""
    network = Network()
    lake = make_lake(network)
    large = json.dumps({"Records": [{"n": 1, "x": "x" * 60_000}, {"n": 2, "x": "x" * 60_000}]})
    messages = [Outgoing("m1", None, "g", 1_000, "{}"), Outgoing("m2", None, "g", 1_000, large)]
    lake.store.outbox.put([(Lane("all"), messages)])
    network.later = {"m2/0", "m2/1"}
    tick(lake)
    assert network.ids("all") == ["m1"]
    network.later = set()
    tick(lake)
    assert network.ids("all") == ["m1", "m2/0", "m2/1"]
    assert lake.store.objects.bodies == {}


@pytest.mark.parametrize(
    ("module", "seam"),
    [(lane_module, "forward-sent"), (spread_module, "forward-sent"), (spread_module, "forward-moved")],
)
def test_a_death_between_two_steps_loses_nothing(module: Any, seam: str) -> None:
    network = Network(orders=["q1", "q2"])
    network.down = {"q2"}
    lake = make_lake(network)
    take(lake, *(message(f"m{n}", body(f"events/orders/{n}.json")) for n in range(3)))
    with dying_in(module, seam):
        tick(lake)
    network.down = set()
    for _ in range(3):
        tick(lake)
    assert lake.store.objects.bodies == {}
    for name in ("all", "ordered", "q1", "q2"):
        assert set(network.ids(name)) == {"m0", "m1", "m2"}, name
        assert max(Counter(network.ids(name)).values()) <= 2


def test_an_object_that_another_wrote_is_named_and_holds_only_its_route() -> None:
    network = Network()
    lake = make_lake(network)
    take(lake, message("m1", body("events/orders/1.json")))
    (key,) = [key for key in lake.store.objects.bodies if "/all/" in key]
    lake.store.objects.bodies[key] = "{}\n"
    results = tick(lake)
    assert f"s3://lake/{key} is not an object of an outbox (" in str(results["all"].error)
    assert network.ids("ordered") == ["m1"]


def test_a_route_is_materialized_once_a_minute_and_its_check_when_it_changes() -> None:
    lake = make_lake()
    route = CONFIG.routes[0]
    lake.store.outbox.put([(Lane("all"), [Outgoing("m1", None, "g", 1_000, "{}")])])
    cursor: str | None = None
    log: list[list[tuple[str, Any]]] = []

    def step(now: float, sent: int, lanes: Sequence[Lane]) -> None:
        nonlocal cursor
        states = {"all": route_state(lake.store.outbox, route, now, lanes, {Lane("all"): "refused"})}
        events, cursor = forward_events(LakeNames(), [LaneResult(Lane("all"), sent)], states, cursor, now)
        log.append(
            [
                ("passed", event.passed)
                if isinstance(event, dg.AssetCheckEvaluation)
                else ("sent", event.metadata["sent"].value)
                for event in events
            ]
        )

    step(100, 2, [])
    step(110, 3, [])
    step(170, 4, [])
    step(2_000, 0, [Lane("all")])
    step(2_010, 0, [])
    assert log == [[("passed", True), ("sent", 2)], [], [("sent", 7)], [("passed", False)], [("passed", True)]]
    late = route_state(lake.store.outbox, route, 2_000, [Lane("all")], {Lane("all"): "refused"})
    assert late.check(LakeNames().route("all")).description == f"the oldest event for {TOPIC} waits for 1999 s: refused"


def test_the_definitions_of_a_lake_with_routes_load_and_a_tick_and_a_check_work(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    network = Network()
    lake = make_lake(network)
    take(lake, message("m1", body("events/orders/1.json")))
    network.down = {"ordered"}
    resource = LakeResource(lake_yaml="", spark_remote="sc://127.0.0.1:1", aws=AwsResource())
    monkeypatch.setattr(LakeResource, "open", lambda _: lake)
    definitions = build_definitions(CONFIG, resource)
    dg.Definitions.validate_loadable(definitions)
    graph = definitions.resolve_asset_graph()
    assert {key.to_user_string() for key in graph.get(LakeNames().route("all")).parent_keys} == {"sqs/events"}
    with dg.instance_for_test() as instance:
        done = evaluate("forward", definitions, instance, resource)
        events = {type(event): event for event in done.asset_events if event.asset_key == LakeNames().route("all")}
        assert events[dg.AssetMaterialization].metadata["sent"].value == 1
        assert "sent 2 messages" in (done.skip_message or "")


class Sqs:
    """A queue whose messages are hidden once they are received, and come again if they are not deleted."""

    def __init__(self, *bodies: str) -> None:
        self.bodies = {f"m{number}": text for number, text in enumerate(bodies)}
        self.hidden: set[str] = set()

    def receive_message(self, **_: Any) -> dict[str, Any]:
        found = [id for id in self.bodies if id not in self.hidden][:10]
        self.hidden.update(found)
        return {"Messages": [{"MessageId": id, "Body": self.bodies[id], "ReceiptHandle": id} for id in found]}

    def delete_message_batch(self, **given: Any) -> dict[str, Any]:
        for entry in given["Entries"]:
            self.bodies.pop(entry["ReceiptHandle"], None)
        return {}

    def get_queue_attributes(self, **_: Any) -> dict[str, Any]:
        return {"Attributes": {"VisibilityTimeout": "120"}}


def test_a_death_before_messages_are_deleted_forwards_them_again_and_loses_none() -> None:
    sqs, network = Sqs(*(body(f"events/orders/{number}.json") for number in range(5))), Network()
    lake = make_lake(network)
    lake.queues = [Queue(sqs, "https://sqs/1/events")]  # type: ignore[arg-type]
    with dying_in(storing, "intake-stored"):
        take_in(lake, seconds=10)
    assert len(sqs.bodies) == 5
    sqs.hidden.clear()
    tick(lake)
    assert sorted(network.ids("all")) == [f"m{number}" for number in range(5)], "the outbox has them already"
    assert take_in(lake, seconds=10).received == 5
    tick(lake)
    assert sqs.bodies == {}
    assert Counter(network.ids("all")) == {f"m{number}": 2 for number in range(5)}


def test_messages_that_are_refused_one_by_one_delay_none_behind_them() -> None:
    """They are at the end of the lane afterwards, also if nothing else was in their object."""
    lake, network = make_lake(Network()), Network()
    lake.destinations, network.later = network, {"m1", "m2", "m3", "m5"}
    for number in range(1, 8):
        take(lake, message(f"m{number}", body(f"events/returns/{number}.json")))
    forwarder = Forwarder(lambda: 0.0)
    assert tick(lake, forwarder)["all"].sent == 0, "three objects in a row brought nothing"
    assert tick(lake)["all"].sent == 3
    assert network.ids("all") == ["m4", "m6", "m7"]
    network.later = set()
    tick(lake)
    assert sorted(network.ids("all")) == [f"m{number}" for number in range(1, 8)]


def test_an_ordered_destination_waits_for_what_it_refused() -> None:
    lake, network = make_lake(Network()), Network()
    lake.destinations, network.later = network, {"m1"}
    for number in (1, 2):
        take(lake, message(f"m{number}", body(f"events/orders/{number}.json")))
    tick(lake)
    assert network.ids("ordered") == []
    network.later = set()
    tick(lake)
    assert network.ids("ordered") == ["m1", "m2"]
