from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tidegate.platform.core.config.load import LakeConfigError, load_lake
from tidegate.platform.core.config.routes import RouteSpec

BASE = """\
lake: {root: "s3://lake/root"}
queues: [{name: events, dlq: events-dlq}]
buckets: [landing]
"""
TYPES = "event_types: [{key: 'events/{type}/**'}, {type: other}]\n"
TOPIC = "arn:aws:sns:eu-central-1:123456789012:events"


def problems(tmp_path: Path, text: str) -> str:
    path = tmp_path / "lake.yaml"
    path.write_text(BASE + text)
    with pytest.raises(LakeConfigError) as error:
        load_lake(path, {})
    return str(error.value).replace(str(path), "lake.yaml")


def test_every_kind_of_route_loads(tmp_path: Path) -> None:
    (tmp_path / "lake.yaml").write_text(
        f"""{BASE}{TYPES}routes:
  - {{name: everything, topic: "{TOPIC}"}}
  - {{name: ordered, queue: {{name: ordered.fifo}}, group: table, types: [orders, "returns.*"]}}
  - {{name: fair, queue: {{url: "https://sqs.eu-west-1.amazonaws.com/123456789012/fair"}}, group: table}}
  - {{name: by-tag, queues_tagged: event-type, unmatched: nobody, max_lag: 60, owners: ["team:events"]}}
  - {{name: tags, key: "in/{{team}}/*.json", tag: {{team: "{{team}}", kind: "x-{{type}}"}}}}
  - {{name: lines, unwrap: "s3://landing/lines/", types: [orders]}}
"""
    )
    routes = {route.name: route for route in load_lake(tmp_path / "lake.yaml", {}).routes}
    assert [routes[name].fifo for name in ("everything", "ordered", "fair", "by-tag")] == [False, True, False, False]
    assert routes["everything"].topic_region == "eu-central-1"
    assert [routes["tags"].takes("orders", key) for key in ("in/shop/1.json", "in/1.json")] == [True, False]
    taken = [routes["ordered"].takes(name, "k") for name in ("orders", "returns.late", "returns", "orders.v2", None)]
    assert taken == [True, True, False, False, False]
    assert routes["everything"].takes(None, "k")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (
            "event_types: [{key: 'a/{type}'}, {type: x}, {tag: t}]",
            "lake.yaml:4: event_types[1]: this rule matches every event",
        ),
        ("event_types: [{tag: t}, {tag: t}]", "event_types[1]: this rule has the condition of event_types[0]"),
        ("event_types: [{key: 'a/{type}', tag: t}]", "give one of key, tag and attribute"),
        ("event_types: [{key: 'a/{name}'}]", "nothing says the event type"),
        (
            "event_types: [{key: 'a/{type}/{type}'}]",
            "the part {type} comes twice, so a key could have two values for it",
        ),
        ("event_types: [{key: 'a/{x}', type: '{y}'}]", "`type` has {y}, which is not part of `key` (its parts: x)"),
        ("event_types: [{type: 'a b'}]", "'a b' is not an event type"),
        ("event_types: [{}]", "give one of key, tag and attribute, or the `type`"),
        ("event_types: [{tag: t, type: x}]", "the value of the tag or attribute is the event type; remove `type`"),
        ("event_types: [{attribute: 'a..b'}]", "'a..b' is not a name of a message attribute"),
        (f"{TYPES}routes: [{{name: a}}]", "routes[0]: give exactly one of topic, queue, queues_tagged, tag and unwrap"),
        (
            f"{TYPES}routes: [{{name: a, key: 'x/**', tag: {{t: '{{y}}'}}}}]",
            "`tag` has {y}, which is neither",
        ),
        (
            f"{TYPES}routes: [{{name: a, queue: {{name: q}}, shards: 2}}]",
            "`shards` divides the event types",
        ),
        (f"{TYPES}routes: [{{name: a, tag: {{t: x}}, group: table}}]", "`group` is for topics and queues"),
        (
            f"{TYPES}routes: [{{name: a, unwrap: 's3://lake/root/x/'}}]",
            ".unwrap: s3://lake/root/x/ is below the lake root",
        ),
        (f"{TYPES}routes: [{{name: a, unwrap: 's3://landing'}}]", "is not a folder"),
        ("routes: [{name: a, bucket: other, tag: {t: x}}]", "routes[0].bucket: the bucket 'other' is not in `buckets`"),
        (
            "routes: [{name: a, unwrap: 's3://out/a/'}, {name: b, unwrap: 's3://out/a/b/'}]",
            "routes[1].unwrap: s3://out/a/b/ overlaps s3://out/a/ of routes[0].unwrap",
        ),
        (
            "routes: [{name: a, unwrap: 's3://out/l/'}]\n"
            "tables: [{name: t, prefix: 's3://landing/t/', mode: load, after_load: {move: 's3://out/l/t/'}}]",
            "routes[0].unwrap: s3://out/l/ overlaps s3://out/l/t/ of tables[0].after_load.move",
        ),
        (f"{TYPES}routes: [{{name: a, topic: events}}]", "'events' is not an ARN of an SNS topic"),
        (f"{TYPES}routes: [{{name: A, topic: '{TOPIC}'}}]", "'A': use up to 63 lower-case letters"),
        (f"{TYPES}routes: [{{name: a, queues_tagged: t}}]", "`queues_tagged` needs `unmatched`"),
        (f"{TYPES}routes: [{{name: a, topic: '{TOPIC}', unmatched: q}}]", "give it with queues_tagged only"),
        (f"{TYPES}routes: [{{name: a, topic: '{TOPIC}', group: table}}]", "a standard topic has no message groups"),
        (f"{TYPES}routes: [{{name: a, queue: {{name: q.fifo}}}}]", "a FIFO destination needs a message group"),
        (f"{TYPES}routes: [{{name: a, queue: {{name: q, dlq: d}}}}]", "`dlq` is for queues that Tidegate reads"),
        (
            f"{TYPES}routes: [{{name: a, queue: {{name: events}}}}]",
            "routes[0].queue: 'events' is a queue that Tidegate reads",
        ),
        (
            f"{TYPES}routes: [{{name: a, queues_tagged: t, unmatched: events-dlq}}]",
            "routes[0].unmatched: 'events-dlq' is a queue",
        ),
        (f"routes: [{{name: a, topic: '{TOPIC}', types: [x]}}]", "routes[0].types: no event has a type"),
        (
            f"{TYPES}routes: [{{name: a, topic: '{TOPIC}'}}, {{name: a, topic: '{TOPIC}'}}]",
            "routes[1].name: 'a' is also the name of routes[0]",
        ),
    ],
)
def test_a_mistake_is_named_with_its_line_and_remedy(tmp_path: Path, text: str, line: str) -> None:
    assert line in problems(tmp_path, text)


def test_a_route_of_several_buckets_names_the_bucket_that_it_unwraps(tmp_path: Path) -> None:
    def lake(*routes: str) -> str:
        (tmp_path / "lake.yaml").write_text(
            BASE.replace("[landing]", "[landing, other]") + f"routes: [{', '.join(routes)}]"
        )
        try:
            load_lake(tmp_path / "lake.yaml", {})
        except LakeConfigError as error:
            return str(error)
        return ""

    assert "routes[0].unwrap: there are several `buckets`" in lake("{name: a, unwrap: 's3://out/a/'}")
    both = [f"{{name: {bucket}, bucket: {bucket}, unwrap: 's3://out/{bucket}/'}}" for bucket in ("landing", "other")]
    assert lake(*both) == ""
    same = [route.replace("s3://out/other/", "s3://out/landing/") for route in both]
    assert "overlaps s3://out/landing/ of routes[0].unwrap" in lake(*same)
    twice = [f"{{name: {name}, bucket: other, types: [], unwrap: 's3://out/l/'}}" for name in ("one", "two")]
    assert lake(*twice) == "", "the lines of an object are the same, whichever route writes them"


def test_a_conflict_is_found_next_to_an_invalid_part(tmp_path: Path) -> None:
    found = problems(tmp_path, "routes: [{name: a, queue: {name: events}}]\ntables: [{name: 1}]")
    assert "'events' is a queue that Tidegate reads" in found
    assert "tables[0]" in found


def test_event_types_are_divided_among_topics_evenly_and_for_ever() -> None:
    route = RouteSpec.model_validate({"name": "a", "topic": TOPIC, "shards": 28})
    assert (len(route.topics), route.topics[0]) == (28, f"{TOPIC}-0")
    of = Counter(route.topic_of(f"type-{number}") for number in range(4200))
    assert set(of) == set(route.topics)
    assert max(of.values()) <= 200, "each type can have a subscription with a filter policy of its own"
    assert (route.topic_of("orders"), route.topic_of(None)) == (f"{TOPIC}-26", f"{TOPIC}-0")
    fifo = {"name": "a", "topic": f"{TOPIC}.fifo", "shards": 2, "group": "table"}
    assert RouteSpec.model_validate(fifo).topics == (f"{TOPIC}-0.fifo", f"{TOPIC}-1.fifo")
    assert RouteSpec.model_validate({"name": "a", "topic": TOPIC}).topics == (TOPIC,)
