"""Actions of routes on objects: tags, and arrays that become lines."""

from __future__ import annotations

import gzip
import json
from contextlib import suppress
from itertools import product
from random import Random
from threading import Barrier, BrokenBarrierError, Thread
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import ValidationError

from tidegate.platform.core.bronze.object_state import S3Forbidden, S3Found, S3Gone, S3Unavailable
from tidegate.platform.core.config.after_load import moved_key
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.config.routes import RouteSpec
from tidegate.platform.core.forwarding.outbox_message import Outgoing
from tidegate.platform.core.routing.route import is_forwarded, route_takes
from tidegate.platform.lake.aws.s3 import ObjectForbidden, ObjectGone, StoreError
from tidegate.platform.lake.forwarding import unwrap_arrays as module
from tidegate.platform.lake.forwarding.delivery import deliver
from tidegate.platform.lake.forwarding.object_action import ObjectAction, tag_objects
from tidegate.platform.lake.forwarding.unwrap_arrays import unwrap_arrays


class Bucket:
    """S3: bodies, tags and refusals by key."""

    def __init__(self) -> None:
        self.bodies: dict[str, bytes] = {}
        self.labels: dict[str, dict[str, str]] = {}
        self.errors: dict[str, Exception] = {}
        self.probes: dict[str, Any] = {}
        self.writes = 0

    def tags(self, bucket: str, key: str) -> dict[str, str]:
        if key in self.errors:
            raise self.errors[key]
        return dict(self.labels[key])

    def put_tags(self, bucket: str, key: str, tags: dict[str, str]) -> None:
        self.writes += 1
        self.labels[key] = dict(tags)

    def head_with_body(self, bucket: str, key: str, max_bytes: int) -> Any:
        if key in self.probes:
            return self.probes[key], None
        if key not in self.bodies:
            return S3Gone(), None
        body = self.bodies[key]
        return S3Found("e", len(body), 0), body if len(body) <= max_bytes else None

    def put(self, bucket: str, key: str, body: bytes) -> None:
        self.writes += 1
        self.bodies[f"{bucket}/{key}"] = body


def message(*keys: str, name: str = "ObjectCreated:Put", event_type: str | None = "orders") -> Outgoing:
    records = [
        {
            "eventSource": "aws:s3",
            "eventName": name,
            "s3": {"bucket": {"name": "landing"}, "object": {"key": key}},
        }
        for key in keys
    ]
    return Outgoing(f"m-{keys[0]}", event_type, "g", 1, json.dumps({"Records": records}))


def route(**given: Any) -> RouteSpec:
    return RouteSpec.model_validate({"name": "r", **given})


def tagger(bucket: Bucket, **given: Any) -> ObjectAction:
    return ObjectAction("tags", tag_objects(route(**given), bucket))  # type: ignore[arg-type]


def unwrapper(bucket: Bucket) -> ObjectAction:
    return ObjectAction("lines", unwrap_arrays(route(unwrap="s3://out/lines/"), bucket))  # type: ignore[arg-type]


def test_an_object_gets_tags_next_to_those_that_it_has() -> None:
    bucket = Bucket()
    bucket.labels["in/shop/1.json"] = {"owner": "x", "team": "old"}
    action = tagger(bucket, key="in/{team}/*.json", tag={"team": "{team}", "kind": "t-{type}"})
    for _ in range(2):
        assert action.send([message("in/shop/1.json")]) == []
    assert bucket.labels["in/shop/1.json"] == {"owner": "x", "team": "shop", "kind": "t-orders"}
    assert bucket.writes == 1, "what is there is not written again"


def test_an_object_that_is_gone_or_was_removed_needs_no_tag() -> None:
    bucket = Bucket()
    bucket.errors["gone"] = ObjectGone("gone")
    action = tagger(bucket, tag={"a": "b"})
    assert action.send([message("gone"), message("removed", name="ObjectRemoved:Delete")]) == []


@pytest.mark.parametrize(
    ("labels", "event_type", "reason"),
    [
        ({str(n): "x" for n in range(10)}, "orders", "it would have 11 tags, and S3 takes 10"),
        ({}, None, "the tag 'kind' needs a part that the event does not have: t-{type}"),
        ({}, "o" * 255, "the tag 'kind' would have 257 characters, and S3 takes 256"),
    ],
)
def test_a_tag_that_s3_never_takes_is_named(labels: dict[str, str], event_type: str | None, reason: str) -> None:
    bucket = Bucket()
    bucket.labels["k"] = labels
    delivery = deliver(
        tagger(bucket, tag={"kind": "t-{type}"}), [message("k", event_type=event_type)], until=0, clock=lambda: 0
    )
    assert [why for _, why in delivery.undeliverable] == [f"s3://landing/k: {reason}"]


def test_what_s3_refuses_waits_and_delays_no_other_object() -> None:
    bucket = Bucket()
    bucket.errors["no"] = ObjectForbidden("s3://landing/no: denied")
    bucket.labels["yes"] = {}
    delivery = deliver(tagger(bucket, tag={"a": "b"}), [message("no"), message("yes")], until=0, clock=lambda: 0)
    assert (delivery.sent, [outgoing.id for outgoing in delivery.left]) == (1, ["m-no"])
    assert "denied" in str(delivery.error)
    bucket.errors["no"] = StoreError("S3 does not answer")
    delivery = deliver(tagger(bucket, tag={"a": "b"}), [message("no")], until=0, clock=lambda: 0)
    assert "S3 does not answer" in str(delivery.error)


def test_an_array_becomes_lines_under_a_name_of_its_own() -> None:
    bucket = Bucket()
    bucket.bodies = {
        "a.json": b'[{"n": 1.50},\n {"n": 2}]',
        "b.json.gz": gzip.compress(b"[1, 2]"),
        "c.jsonl": b"1\n2\n",
    }
    action = unwrapper(bucket)
    written = []
    for _ in range(2):
        assert action.send([message("a.json", "b.json.gz", "c.jsonl", "gone.json")]) == []
        written.append({key: body for key, body in bucket.bodies.items() if key.startswith("out/")})
    assert written[0] == written[1], "the same bytes, so the same etag"
    assert written[0]["out/lines/a.json.jsonl"] == b'{"n": 1.50}\n{"n": 2}\n'
    assert gzip.decompress(written[0]["out/lines/b.json.gz.jsonl.gz"]) == b"1\n2\n"
    assert written[0]["out/lines/c.jsonl.jsonl"] == b"1\n2\n"
    assert len(written[0]) == 3


@pytest.mark.parametrize(
    "packed",
    [
        gzip.compress(b"[1, 2, 3]"),
        gzip.compress(b"[1, 2") + gzip.compress(b", 3]"),
        gzip.compress(b"") + gzip.compress(b"[1, 2, 3]"),
    ],
    ids=["one", "two", "an empty one before"],
)
def test_an_array_over_all_members_of_a_gzip_file_becomes_lines(packed: bytes) -> None:
    bucket = Bucket()
    bucket.bodies["k.json.gz"] = packed
    assert unwrapper(bucket).send([message("k.json.gz")]) == []
    assert gzip.decompress(bucket.bodies["out/lines/k.json.gz.jsonl.gz"]) == b"1\n2\n3\n"


@pytest.mark.parametrize(
    ("key", "body", "reason"),
    [
        ("k.json", b"[1, 2", "neither ',' nor ']' follows"),
        ("k.json", b"\xff\xfe", "can't decode byte"),
        ("k.json.gz", b"[1]", "not a gzip file"),
        ("k.json.gz", gzip.compress(b"[1]", mtime=0)[:-9], "the gzip file is cut off"),
        ("k.json", b" " * 2_000, "it has more than 1,000 bytes, and an array of so many is not unwrapped"),
        ("k.json.gz", gzip.compress(b" " * 2_000, mtime=0), "it has more than 1,000 bytes when it is unpacked"),
        ("k.json.gz", gzip.compress(b"[1]") + gzip.compress(b"[2]"), "follows the array"),
        ("k.json.gz", gzip.compress(b"[1]") + b"rubbish", "not a gzip file"),
        ("k.json.gz", gzip.compress(b"[1]") + b"\0" * 512, "not a gzip file"),
    ],
    ids=["open", "not UTF-8", "not gzip", "cut off", "large", "large when unpacked", "two arrays", "rubbish", "zeros"],
)
def test_an_object_that_is_not_an_array_is_named_with_its_fault(
    key: str, body: bytes, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_BYTES", 1_000)
    bucket = Bucket()
    bucket.bodies[key] = body
    (refusal,) = unwrapper(bucket).send([message(key)])
    assert refusal.of_the_message
    assert refusal.reason.startswith(f"s3://landing/{key}: ")
    assert reason in refusal.reason
    assert bucket.writes == 0


@pytest.mark.parametrize("body", [b"[" + b"1," * 100 + b"1]", b"[" + b"[[[1]]]," * 100 + b"1]", b"1 2 3"])
def test_an_array_whose_elements_take_too_long_is_named_and_delays_no_other(
    body: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_SECONDS", 0)
    bucket = Bucket()
    bucket.bodies["k.json"] = body
    delivery = deliver(unwrapper(bucket), [message("k.json")], until=0, clock=lambda: 0)
    ((_, reason),) = delivery.undeliverable
    assert "its elements took longer than 0 seconds" in reason
    assert (bucket.writes, delivery.left) == (0, [])


def test_an_object_of_another_bucket_is_not_unwrapped_by_a_route_of_one() -> None:
    """Its message waited when lake.yaml got the line `bucket`."""
    bucket = Bucket()
    bucket.bodies["1.json"] = b"[1]"
    action = unwrap_arrays(route(unwrap="s3://out/lines/", bucket="other"), bucket)  # type: ignore[arg-type]
    (refusal,) = ObjectAction("lines", action).send([message("1.json")])
    assert (refusal.of_the_message, "objects of other only" in refusal.reason) == (True, True)
    assert bucket.writes == 0


@pytest.mark.seeds(1, 20)
def test_no_two_sources_are_written_to_one_object_whatever_lake_yaml_says(seed: int) -> None:
    chance, lakes = Random(seed), list[LakeConfig]()
    folders = ["s3://out/l/", "s3://out/l/x/", "s3://out/m/", "s3://bucket-1/y/"]
    keys = ["1.json", "x/1.json", "1.json.gz", "x/1.json.jsonl", "l/x/1.json"]
    for _ in range(400):
        names = [f"bucket-{number}" for number in range(chance.randint(1, 3))]
        given: dict[str, Any] = {"lake": {"root": "s3://lake/"}, "queues": [{"name": "events"}], "buckets": names}
        given["routes"] = [
            {"name": f"r{number}", "unwrap": chance.choice(folders), "bucket": chance.choice([None, *names])}
            for number in range(chance.randint(1, 3))
        ]
        if chance.random() < 0.5:
            loaded = {"name": "t", "prefix": f"s3://{names[0]}/x/", "mode": "load", "format": "json"}
            given["tables"] = [{**loaded, "after_load": {"move": chance.choice(folders)}}]
        with suppress(ValidationError):
            lakes.append(LakeConfig.model_validate(given))
    assert any(lake.buckets[1:] and lake.routes[1:] for lake in lakes)
    for lake in lakes:
        sources: dict[str, set[str]] = {}
        for name, key in product(lake.buckets, keys):
            written = Bucket()
            written.bodies[key] = gzip.compress(b"[]") if key.endswith(".gz") else b"[]"
            for each in lake.routes:
                if is_forwarded(name, key, lake) and route_takes(each, name, key, None, lake):
                    unwrap_arrays(each, written)(SimpleNamespace(bucket=name, key=key), None)  # type: ignore[arg-type]
            for target in written.bodies.keys() - {key}:
                sources.setdefault(target, set()).add(f"{name}/{key}")
            for table in lake.tables:
                if name == table.table_key.bucket and key.startswith(table.table_key.prefix):
                    target = moved_key(f"{table.moved_to}"[5:], key[len(table.table_key.prefix) :])
                    sources.setdefault(target, set()).add(f"{name}/{key}")
        assert all(len(found) == 1 for found in sources.values()), (lake, sources)


def test_an_object_that_s3_does_not_give_waits() -> None:
    bucket = Bucket()
    bucket.probes = {"no": S3Forbidden("denied"), "down": S3Unavailable("slow down")}
    (refusal,) = unwrapper(bucket).send([message("no")])
    assert (refusal.of_the_message, "denied" in refusal.reason) == (False, True)
    (refusal,) = unwrapper(bucket).send([message("down")])
    assert (refusal.of_the_message, "S3 did not give" in refusal.reason) == (False, True)
    with pytest.raises(StoreError):
        unwrapper(bucket).send([message("down"), message("down")])
    assert bucket.writes == 0


def test_large_arrays_are_in_memory_one_after_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_SMALL_BYTES", 100)
    together = Barrier(2)

    class Meeting(Bucket):
        def put(self, bucket: str, key: str, body: bytes) -> None:
            super().put(bucket, key, body)
            try:
                together.wait(0.3)
                self.met = True
            except BrokenBarrierError:
                pass

    for size, meet in ((90, True), (200, False)):
        together.reset()
        bucket = Meeting()
        bucket.met = False  # type: ignore[attr-defined]
        bucket.bodies = {key: b"[1," + b" " * size + b"2]" for key in ("a", "b")}
        threads = [Thread(target=unwrapper(bucket).send, args=([message(key)],)) for key in ("a", "b")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert bucket.met is meet  # type: ignore[attr-defined]
        assert bucket.bodies["out/lines/a.jsonl"] == b"1\n2\n"


def test_lines_whose_key_would_be_too_long_are_not_written() -> None:
    bucket = Bucket()
    key = "k" * 1_018
    bucket.bodies[key] = b"[1]"
    (refusal,) = unwrapper(bucket).send([message(key)])
    assert refusal.of_the_message
    assert "its lines would have a key of 1,030 bytes, and S3 takes 1,024" in refusal.reason
    assert bucket.writes == 0
