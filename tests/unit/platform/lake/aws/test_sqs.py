"""The queue against a client that fails as SQS does."""

from __future__ import annotations

import itertools
import threading
import time
from contextlib import closing
from typing import Any

import pytest

from tidegate.platform.core.events.row_queue import RowOrigin
from tidegate.platform.lake.aws.message import Message
from tidegate.platform.lake.aws.sqs import Queue

URL = "https://sqs.example/1/events"


class Sqs:
    """A stand-in for the client. It hands out messages, and each deletion fails as often as `failures` says."""

    def __init__(self, bodies: list[str] = (), failures: dict[str, int] | None = None) -> None:  # type: ignore[assignment]
        self.waiting = [{"MessageId": f"m{i}", "Body": body, "ReceiptHandle": f"r{i}"} for i, body in enumerate(bodies)]
        self.failures = dict(failures or {})
        self.deleted: list[str] = []
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.lookups = 0

    def get_queue_url(self, **given: str) -> dict[str, str]:
        self.lookups += 1
        return {"QueueUrl": f"https://sqs.example/1/{given['QueueName']}"}

    def receive_message(self, **given: Any) -> dict[str, Any]:
        self.calls.append(("receive", given))
        batch, self.waiting = self.waiting[:10], self.waiting[10:]
        return {"Messages": batch} if batch else {}

    def delete_message_batch(self, **given: Any) -> dict[str, Any]:
        self.calls.append(("delete", given))
        failed = []
        for entry in given["Entries"]:
            if self.failures.get(entry["ReceiptHandle"], 0) > 0:
                self.failures[entry["ReceiptHandle"]] -= 1
                failed.append({"Id": entry["Id"], "SenderFault": False, "Code": "InternalError"})
            else:
                self.deleted.append(entry["ReceiptHandle"])
        return {"Successful": [], "Failed": failed}


def queue(client: Sqs) -> Queue:
    return Queue(client, URL)  # type: ignore[arg-type]


def drained(client: Sqs, **budget: Any) -> list[Message]:
    return [message for chunk in queue(client).drain(**budget) for message in chunk]


def messages(number: int) -> list[Message]:
    return [Message(f"m{i}", "", f"r{i}") for i in range(number)]


def test_a_name_is_looked_up_once_and_only_when_it_is_needed() -> None:
    client = Sqs()
    named = Queue(client, "events")  # type: ignore[arg-type]
    assert (named.name, client.lookups) == ("events", 0)
    assert named.url == named.url == "https://sqs.example/1/events"
    assert client.lookups == 1
    assert (queue(client).url, queue(client).name, client.lookups) == (URL, "events", 1)


def test_everything_is_drained() -> None:
    client = Sqs([f"b{i}" for i in range(35)])
    found = drained(client, seconds=30, messages=1000, threads=1)
    assert [(message.id, message.body, message.receipt) for message in found] == [
        (f"m{i}", f"b{i}", f"r{i}") for i in range(35)
    ]
    assert all(call["MaxNumberOfMessages"] == 10 for _, call in client.calls)


def test_what_has_come_in_is_given_out_while_more_is_received() -> None:
    client = Sqs(["b"] * 20_000)
    left = []
    for chunk in queue(client).drain(seconds=30, messages=20_000, threads=2):
        assert chunk
        left.append(len(client.waiting))
    assert left[-1] == 0
    assert left[0] >= 7980, "no more are held than will be worked off soon"


def test_who_stops_taking_stops_the_receives() -> None:
    client = Sqs(["b"] * 36_000)
    with closing(queue(client).drain(seconds=600, messages=36_000, threads=2)) as chunks:
        next(chunks)
    assert len(client.waiting) > 20_000


def test_what_came_in_before_an_error_is_given_out() -> None:
    class Failing(Sqs):
        def receive_message(self, **given: Any) -> dict[str, Any]:
            if not self.waiting:
                raise ConnectionError("cut")
            return super().receive_message(**given)

    chunks = queue(Failing(["b"] * 20)).drain(seconds=5, messages=1000, threads=1)
    assert len(next(chunks)) == 20
    with pytest.raises(ConnectionError):
        next(chunks)


def test_one_receive_waits_for_a_message_and_reports_an_idle_queue() -> None:
    idle = Sqs()
    assert drained(idle, seconds=30, messages=1000, threads=4, patience=4) == []
    assert [call["WaitTimeSeconds"] for _, call in idle.calls] == [4]
    busy = Sqs(["b"])
    assert len(drained(busy, seconds=30, messages=1000, threads=4, patience=4)) == 1
    # After a message came, no receive waits long for more.
    assert [call["WaitTimeSeconds"] for _, call in busy.calls] == [4, 1, 1, 1, 1]


def test_the_count_budget_stops_the_receives() -> None:
    client = Sqs(["b"] * 100)
    found = drained(client, seconds=30, messages=20, threads=1)
    assert len(found) == 20
    assert len(client.waiting) == 80


def test_threads_overshoot_the_count_budget_by_one_receive_each_at_most() -> None:
    client = Sqs(["b"] * 1000)
    assert 20 <= len(drained(client, seconds=30, messages=20, threads=4)) <= 20 + 4 * 10


def test_the_time_budget_stops_the_receives(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = itertools.count(0.0, 1.0)
    monkeypatch.setattr("tidegate.platform.lake.aws.sqs.time.monotonic", lambda: next(clock))
    client = Sqs(["b"] * 1000)
    found = drained(client, seconds=4, messages=1000, threads=1, patience=20)
    assert 0 < len(found) < 50
    assert all(0 <= call["WaitTimeSeconds"] <= 4 for _, call in client.calls)  # a long poll never outlasts the budget


def test_no_time_left_means_no_receive() -> None:
    client = Sqs(["b"])
    assert drained(client, seconds=0, messages=10, threads=2) == []
    assert client.calls == []


def test_an_error_of_one_thread_is_the_drain_s() -> None:
    class Broken(Sqs):
        def receive_message(self, **given: Any) -> dict[str, Any]:
            raise ConnectionError("cut")

    with pytest.raises(ConnectionError):
        drained(Broken(), seconds=5, messages=10, threads=2)


def test_deletes_go_by_tens() -> None:
    client = Sqs()
    assert queue(client).delete(messages(25)) == 0
    assert sorted(client.deleted) == sorted(f"r{i}" for i in range(25))
    assert sorted(len(call["Entries"]) for _, call in client.calls) == [5, 10, 10]


def test_failed_deletes_are_repeated_and_only_they() -> None:
    client = Sqs(failures={"r1": 1, "r3": 2})
    assert queue(client).delete(messages(5)) == 0
    assert sorted(client.deleted) == ["r0", "r1", "r2", "r3", "r4"]
    asked = [[entry["ReceiptHandle"] for entry in call["Entries"]] for _, call in client.calls]
    assert asked == [["r0", "r1", "r2", "r3", "r4"], ["r1", "r3"], ["r3"]]


def test_deletes_that_keep_failing_are_counted_and_given_up() -> None:
    client = Sqs(failures={"r0": 99, "r12": 99})
    assert queue(client).delete(messages(13)) == 2
    assert len(client.calls) == 6


def test_nothing_to_delete_asks_nothing() -> None:
    client = Sqs()
    assert queue(client).delete([]) == 0
    assert client.calls == []


def test_f17_what_a_call_for_many_leaves_is_repeated_by_itself() -> None:
    """Like deleting, hiding and sending repeat only what failed, a few times, and report what still fails."""
    client = Sqs(["body"], failures={"r1": 2, "r2": 99})
    batches: list[list[str]] = []

    def answer(**given: Any) -> dict[str, Any]:
        batches.append([entry["ReceiptHandle"] for entry in given["Entries"]])
        assert {entry["VisibilityTimeout"] for entry in given["Entries"]} == {30}
        return client.delete_message_batch(**given)

    client.change_message_visibility_batch = answer  # type: ignore[attr-defined]
    assert queue(client).hide(messages(3), 30) == 1
    assert batches == [["r0", "r1", "r2"], ["r1", "r2"], ["r1", "r2"]]

    sent: list[list[str]] = []

    def send(**given: Any) -> dict[str, Any]:
        sent.append([entry["MessageBody"] for entry in given["Entries"]])
        refused = {"b1": 1, "b3": 99}
        failing = [
            e
            for e in given["Entries"]
            if sum(e["MessageBody"] in bodies for bodies in sent) <= refused.get(e["MessageBody"], 0)
        ]
        return {
            "Successful": [
                {"Id": e["Id"], "MessageId": f"new {e['MessageBody']}"} for e in given["Entries"] if e not in failing
            ],
            "Failed": [{"Id": e["Id"]} for e in failing],
        }

    client.send_message_batch = send  # type: ignore[attr-defined]
    again = queue(client).send_again([Message(f"m{i}", f"b{i}", "r") for i in range(4)])
    assert sent == [["b0", "b1", "b2", "b3"], ["b1", "b3"], ["b3"]]
    assert again == {"m0": "new b0", "m1": "new b1", "m2": "new b2"}


def test_large_messages_are_sent_in_calls_that_sqs_takes() -> None:
    client, sizes = Sqs(), []

    def send(**given: Any) -> dict[str, Any]:
        sizes.append(sum(len(entry["MessageBody"]) for entry in given["Entries"]))
        return {"Successful": [{"Id": entry["Id"], "MessageId": "new"} for entry in given["Entries"]]}

    client.send_message_batch = send  # type: ignore[attr-defined]
    bodies = [100, 150_000, 60_000, 900_000, 10, 20]
    sent = queue(client).send_again([Message(f"m{i}", "x" * size, "r") for i, size in enumerate(bodies)])
    assert len(sent) == len(bodies)
    assert sorted(sizes) == sorted([150_100, 60_000, 900_000, 30])


class Impatient(Sqs):
    """A queue that shows a message again after a second, unless the message is hidden again. No receive waits."""

    def __init__(self, *bodies: str) -> None:
        super().__init__(list(bodies))
        self.hidden = threading.Event()

    def get_queue_attributes(self, **_: Any) -> dict[str, Any]:
        return {"Attributes": {"VisibilityTimeout": "1"}}

    def change_message_visibility_batch(self, **given: Any) -> dict[str, Any]:
        self.calls.append(("hide", given))
        self.hidden.set()
        return {}


def test_f15_what_is_worked_on_is_hidden_again_until_it_is_done() -> None:
    client = Impatient("a", "b")
    chunks = queue(client).drain(seconds=5, messages=10, threads=1, hold=60)
    assert len(next(chunks)) == 2
    assert client.hidden.wait(30), "while the chunk is worked on"
    with closing(chunks):
        assert list(chunks) == []
    hidden = [call["Entries"] for name, call in client.calls if name == "hide"]
    assert all({entry["ReceiptHandle"] for entry in entries} <= {"r0", "r1"} for entries in hidden)
    assert {entry["ReceiptHandle"] for entry in hidden[0]} == {"r0", "r1"}
    assert {entry["VisibilityTimeout"] for entry in hidden[0]} == {1}, "as long as the queue would, and no longer"
    assert not [thread for thread in threading.enumerate() if thread.name == "held-messages"]


@pytest.mark.parametrize(("hold", "visibility"), [(0.0, "1"), (1e-9, "1"), (60.0, "0")])
def test_nothing_is_hidden_after_the_deadline_or_where_the_queue_hides_nothing(hold: float, visibility: str) -> None:
    client = Impatient("a")
    client.get_queue_attributes = lambda **_: {"Attributes": {"VisibilityTimeout": visibility}}  # type: ignore[method-assign]
    chunks = queue(client).drain(seconds=5, messages=10, threads=1, hold=hold)
    next(chunks)
    ended = time.monotonic() + 30
    while [thread for thread in threading.enumerate() if thread.name == "held-messages"] and time.monotonic() < ended:
        time.sleep(0.01)
    chunks.close()
    assert not client.hidden.is_set()


def test_few_large_messages_are_given_out_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tidegate.platform.lake.aws.drain._CHUNK_SIZE", 1000)
    client = Sqs(["b" * 100] * 200)
    chunks = [len(chunk) for chunk in queue(client).drain(seconds=30, messages=200, threads=2)]
    # A chunk has up to twice the size, and also what each of the two threads was receiving then.
    assert sum(chunks) == 200
    assert max(chunks) <= 40


def test_a_message_that_is_sent_again_is_what_it_was_when_it_came_first() -> None:
    sent: list[dict[str, Any]] = []
    client = Sqs(["a", "b", "c"])
    client.send_message = lambda **given: sent.append(given)  # type: ignore[attr-defined]
    queue(client).send("a", RowOrigin("first", 17))
    attributes = sent[0]["MessageAttributes"]
    for item in client.waiting:
        item["Attributes"] = {"SentTimestamp": "99"}  # type: ignore[assignment]
    client.waiting[0]["MessageAttributes"] = attributes
    client.waiting[1]["MessageAttributes"] = {**attributes, "tidegate-sent-at": {"StringValue": "noon"}}
    found = drained(client, seconds=30, messages=10, threads=1)
    assert [message.origin for message in found] == [RowOrigin("first", 17), RowOrigin("m1", 99), RowOrigin("m2", 99)]
    # SQS returns only the attributes that a call asks for.
    arguments = client.calls[0][1]
    assert arguments["AttributeNames"] == ["SentTimestamp"]
    assert set(arguments["MessageAttributeNames"]) == {*attributes, "tidegate-sent-since"}


def test_rows_are_sent_with_their_identities_and_the_answer_of_each_is_returned() -> None:
    sent: list[dict[str, Any]] = []
    client = Sqs(["a", "b"])

    def send(**given: Any) -> dict[str, Any]:
        sent.extend(given["Entries"])
        return {"Successful": [{"Id": "0"}], "Failed": [{"Id": "2", "Code": "InternalError"}]}

    client.send_message_batch = send  # type: ignore[attr-defined]
    origins = [RowOrigin("shop:1", 1_000, 17), RowOrigin("shop:2", 2_000), RowOrigin("shop:3", 3_000)]
    found = queue(client).send_rows([("{}", origin) for origin in origins])
    assert found == ["", "unknown", "InternalError"], "what SQS does not mention is not stored"
    for item, entry in zip(client.waiting, sent, strict=False):
        item["MessageAttributes"] = entry["MessageAttributes"]
        item["Attributes"] = {"SentTimestamp": "99"}  # type: ignore[assignment]
    client.waiting[1]["MessageAttributes"]["tidegate-sent-at"] = {"StringValue": "9" * 5000}
    received = drained(client, seconds=30, messages=10, threads=1)
    assert [message.origin for message in received] == [origins[0], RowOrigin("m1", 99)]


def test_a_lone_row_is_sent_with_its_identity_by_a_call_for_one_message() -> None:
    sent: list[dict[str, Any]] = []
    client = Sqs()
    client.send_message = lambda **given: sent.append(given)  # type: ignore[attr-defined]
    origin = RowOrigin("shop:1", 1_000, 17)
    assert queue(client).send_rows([("{}", origin)]) == [""]
    (call,) = sent
    client.waiting = [
        {
            "MessageId": "m",
            "Body": call["MessageBody"],
            "ReceiptHandle": "r",
            "MessageAttributes": call["MessageAttributes"],  # type: ignore[dict-item]
            "Attributes": {"SentTimestamp": "99"},  # type: ignore[dict-item]
        }
    ]
    (received,) = drained(client, seconds=30, messages=10, threads=1)
    assert (received.body, received.origin) == ("{}", origin)
