"""The producers of the demo of events make the same operations every time, of every event type, in a safe order."""

from __future__ import annotations

import ast
import json
from collections import Counter
from pathlib import Path
from urllib.parse import unquote_plus

import pytest

from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.config.load import load_lake
from tidegate.platform.core.routing.event_type import EventTypes, Typed
from tidegate.platform.core.routing.route import table_holding
from tidegate.platform.demo.events import catalog, events_lake_file, oracle, producers
from tidegate.platform.demo.events.catalog import MAX_TYPES, MIN_TYPES, Contract, event_types
from tidegate.platform.demo.events.producers import BARRIER, BUCKET, Operation, produce_events
from tidegate.platform.demo.events.subscribers import TAGGED_TYPE

OBJECTS = 4_000


@pytest.fixture(scope="module")
def operations() -> list[Operation]:
    return list(produce_events(event_types(MAX_TYPES), OBJECTS))


@pytest.fixture(scope="module")
def config() -> LakeConfig:
    url = "http://127.0.0.1:4566/000000000000/tidegate-events"
    return load_lake(events_lake_file(), env={"TIDEGATE_QUEUE_URL": url})


def test_the_operations_are_the_same_every_time(operations: list[Operation]) -> None:
    assert operations == list(produce_events(event_types(MAX_TYPES), OBJECTS))


def test_every_event_type_has_objects_and_no_key_is_put_twice(operations: list[Operation]) -> None:
    keys = [operation["key"] for operation in operations if operation["op"] == "put"]
    others = 2 + 3 * 5 + 2  # strays, parts of three datasets, and two signals
    assert len(keys) == len(set(keys)) == OBJECTS + others
    types = Counter(oracle.event_type_of(key) for key in keys)
    assert types.pop(oracle.OTHER) == others
    assert {name: 20 for name in types} == types
    assert set(types) == {event_type.name for event_type in event_types(MAX_TYPES)}


def test_what_goes_wrong_in_queues_and_files_is_there(operations: list[Operation]) -> None:
    kinds = Counter(operation["kind"].partition(":")[0] for operation in operations)
    assert kinds["poison"] == 4 + 2  # objects, and messages
    assert kinds["redelivered"] > 50
    assert kinds["redelivered, several in one message"] == kinds["out of order"] // 2 > 10


def test_a_message_about_an_object_is_sent_after_it_was_put(operations: list[Operation]) -> None:
    """What is between two barriers is done at the same time."""
    put_at = {operation["key"]: place for place, operation in enumerate(operations) if operation["op"] == "put"}
    named = 0
    for place, operation in enumerate(operations):
        if operation["op"] == "send" and "redelivered" in operation["kind"]:
            for record in json.loads(operation["body"])["Records"]:
                assert put_at[unquote_plus(record["s3"]["object"]["key"])] // BARRIER < place // BARRIER
                named += 1
    assert named > 50


def test_a_signal_is_put_after_the_files_that_it_completes(operations: list[Operation]) -> None:
    puts = [operation["key"] for operation in operations if operation["op"] == "put"]
    folders = {key.rpartition("/")[0] for key in puts if key.startswith("exports/settlements/")}
    signalled = {folder for folder in folders if f"{folder}/_SUCCESS" in puts}
    assert (len(folders), len(signalled)) == (3, 2)
    for folder in signalled:
        last = max(place for place, key in enumerate(puts) if key.startswith(f"{folder}/part-"))
        assert last // BARRIER < puts.index(f"{folder}/_SUCCESS") // BARRIER


def test_a_type_needs_a_service_and_an_object() -> None:
    for number in (MIN_TYPES - 1, MAX_TYPES + 1):
        with pytest.raises(ValueError, match="choose 5 to 200"):
            event_types(number)
    assert {event_type.contract for event_type in event_types(MIN_TYPES)} == set(Contract)
    with pytest.raises(ValueError, match="too few"):
        next(produce_events(event_types(30), 29))


def test_few_types_have_every_contract_subscriber_and_kind_of_trouble() -> None:
    """The demo in tests/browser has these numbers. What they leave out, no test of the demo shows."""
    types = event_types(MIN_TYPES)
    operations = list(produce_events(types, 350))
    every = Counter(operation["kind"] for operation in produce_events(event_types(MAX_TYPES), OBJECTS))
    assert {operation["kind"] for operation in operations} == set(every)
    expected = oracle.expected_table(operations)
    assert expected["outcomes"].keys() == {"committed", "quarantined", "no_table", "duplicate", "removed", "malformed"}
    assert {oracle.table_of(key) for key in expected["quarantined"]["rows"]} == {"invoices", "unagreed"}
    assert len({oracle.table_of(key) for key in expected["quarantined"]["objects"]}) == 3
    names = {event_type.name for event_type in types}
    assert TAGGED_TYPE in names
    # Those of the topic's filter and of the route that is broken.
    assert {name.split(".")[0] for name in names} >= {"orders", "invoices"}


def test_the_lake_knows_each_key_as_the_oracle_does(operations: list[Operation], config: LakeConfig) -> None:
    """Each key has the same type and the same table in both."""
    types = EventTypes(config.event_types)
    for operation in operations:
        if operation["op"] == "put":
            key = operation["key"]
            found = types.find_type(key, {})
            assert isinstance(found, Typed)
            assert found.name == oracle.event_type_of(key)
            spec = table_holding(BUCKET, key, config)
            assert (spec.name if spec else None) == oracle.table_of(key)


def test_producers_and_oracle_stand_alone() -> None:
    own = {"tidegate.platform.demo.events.catalog", "tidegate.platform.demo.operations"}
    assert _imports(str(producers.__file__)) <= own
    assert _imports(str(catalog.__file__)) == _imports(str(oracle.__file__)) == set()


def _imports(path: str) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(Path(path).read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add("." * node.level + (node.module or ""))
    return {name for name in found if name.startswith((".", "tidegate"))}
