"""Batches: complete, canonical, and sealed by a digest."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.platform.core.bronze.batch import Add, Batch, Create, Evolve, Remove
from tidegate.platform.core.bronze.hint import Event, Hint, Listed, Redriven
from tidegate.platform.core.bronze.ledger import LedgerRow, Status
from tidegate.platform.core.schema.column_types import Array, Decimal, Field, Map, Simple, Struct
from tidegate.platform.core.schema.table_schema import TableSchema

EXAMPLE = Batch(
    lake="11111111-1111-1111-1111-111111111111",
    table="landing.orders",
    generation="22222222-2222-2222-2222-222222222222",
    n=1,
    location="s3a://landing/orders",
    after_version=-1,
    manifests=("01HXYZ0000000000000000000A-2",),
    rows=(
        LedgerRow("orders/ü.parquet", Status.COMMITTED, etag="e1", size=9, event_id="m#0", manifest="m", rows=3),
        LedgerRow("orders/b.parquet", Status.REMOVED, "gone before it was read"),
    ),
    adds=(
        Add(
            "day=1/%C3%BC.parquet",
            {"day": "1", "none": None},
            9,
            1700000000000,
            '{"numRecords":3}',
            "e1",
            "orders/ü.parquet",
        ),
    ),
    removes=(Remove("old.parquet"), Remove("with_dv.parquet", "dv1")),
    deferred=(Hint("orders/later.parquet", Event("m#1", "Listed")),),
    create=Create(TableSchema((), ("day",)), {"tidegate.table": "landing.orders"}, "orders"),
    run_id="r1",
    decided_at="2024-05-01T10:00:00+00:00",
)

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
ROWS = st.builds(
    LedgerRow,
    key=TEXT,
    status=st.sampled_from(Status),
    reason=st.none() | TEXT,
    etag=st.none() | TEXT,
    size=st.none() | st.integers(0, 2**50),
    event_id=st.none() | TEXT,
    rows=st.none() | st.integers(0, 2**40),
    bad_rows=st.none() | st.integers(0, 2**40),
)
CAUSES = st.sampled_from([Listed(), Redriven(), Event("m#0")])
ADDS = st.builds(
    Add,
    path=TEXT,
    partition_values=st.dictionaries(TEXT, st.none() | TEXT, max_size=3),
    size=st.integers(0, 2**50),
    modification_time=st.integers(0, 2**45),
    stats=st.just('{"numRecords":4}'),
    etag=st.none() | TEXT,
    source_key=st.none() | TEXT,
)
TYPES = st.recursive(
    st.builds(Simple, st.sampled_from(["long", "string", "date"])) | st.just(Decimal(9, 2)),
    lambda inner: (
        st.builds(Array, inner)
        | st.builds(Map, inner, inner)
        | st.builds(Struct, st.lists(st.builds(Field, TEXT, inner), max_size=2).map(tuple))
    ),
    max_leaves=3,
)
FIELDS = st.builds(Field, TEXT, TYPES) | st.builds(Field, TEXT, TYPES, st.integers(1, 9), TEXT)
COLUMNS = st.builds(Struct, st.lists(FIELDS, max_size=3).map(tuple))
CREATES = st.builds(
    Create,
    schema=st.builds(TableSchema, st.lists(FIELDS, max_size=3).map(tuple), st.lists(TEXT, max_size=2).map(tuple)),
    properties=st.dictionaries(TEXT, TEXT, max_size=2),
    name=TEXT,
)
BATCHES = st.builds(
    Batch,
    lake=TEXT,
    table=TEXT,
    generation=TEXT,
    n=st.integers(1, 2**40),
    location=TEXT,
    after_version=st.integers(-1, 2**40),
    manifests=st.lists(TEXT, max_size=3).map(tuple),
    rows=st.lists(ROWS, max_size=3).map(tuple),
    adds=st.lists(ADDS, max_size=3).map(tuple),
    removes=st.lists(st.builds(Remove, TEXT, st.none() | TEXT), max_size=2).map(tuple),
    deferred=st.lists(st.builds(Hint, TEXT, st.sampled_from([Listed(), Redriven(), Event("m#0")])), max_size=2).map(
        tuple
    ),
    create=st.none() | CREATES,
    evolve=st.none() | st.builds(Evolve, COLUMNS, COLUMNS, st.dictionaries(TEXT, TEXT, max_size=2)),
    run_id=TEXT,
    decided_at=TEXT,
)


@given(BATCHES)
def test_a_batch_is_read_back_as_it_was_written(batch: Batch) -> None:
    sealed = batch.seal()
    again = Batch.from_json(sealed.to_json(), "s3://lake/batches/x")
    assert again == sealed
    assert again.to_json() == sealed.to_json()
    assert again.seal() == again


def test_the_digest_of_an_example_is_pinned() -> None:
    """Delta commits and ledgers keep digests for ever, so a digest must not depend on the version that computes it."""
    assert EXAMPLE.seal().digest == "1ca23d9125dc237759d37a92cf25c0578a938c3bac08f743edb3b4450e45bbfe"


def test_the_json_is_canonical() -> None:
    text = EXAMPLE.seal().to_json()
    body = json.loads(text)
    assert text == json.dumps(body, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    assert "ü" in text
    assert body["format"] == 1
    assert body["app_id"] == (
        "tidegate:11111111-1111-1111-1111-111111111111:landing.orders:22222222-2222-2222-2222-222222222222"
    )
    # The order of the keys of a dictionary has no meaning in a batch.
    turned = replace(EXAMPLE.adds[0], partition_values={"none": None, "day": "1"})
    assert replace(EXAMPLE, adds=(turned,)).seal().digest == EXAMPLE.seal().digest


def _column(name: str, kind: Any, **more: Any) -> dict[str, Any]:
    return {"name": name, "type": kind, "nullable": True, "metadata": {}} | more


def _struct(*columns: Any) -> dict[str, Any]:
    return {"type": "struct", "fields": list(columns)}


def _mapped(number: int, physical: str) -> dict[str, Any]:
    return {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": physical}


_DAY = _column("day", "date")
_CREATED = {"partition_columns": ["day"], "properties": {"tidegate.lake": "l"}, "name": "orders"}
_BY_NAME = {"delta.columnMapping.mode": "name"}


@pytest.mark.parametrize(
    "effect",
    [
        pytest.param({"create": _CREATED | {"schema": _struct()}}, id="no columns"),
        pytest.param({"create": _CREATED | {"schema": _struct(_column("id", "long"), _DAY)}}, id="as written today"),
        pytest.param(
            {"create": _CREATED | {"schema": _struct(_column("a b", "long", metadata=_mapped(1, "a b")), _DAY)}},
            id="mapped",
        ),
        pytest.param({"create": _CREATED | {"schema": _struct(_DAY, _column("id", "long"))}}, id="path first"),
        pytest.param(
            {
                "create": _CREATED
                | {"schema": _struct(_column("id", "long", nullable=False, metadata={"comment": "c"}))}
            },
            id="nullability and comments",
        ),
        pytest.param(
            {
                "create": _CREATED
                | {
                    "schema": _struct(
                        _column("n", "decimal(9, 2)"),
                        _column("l", {"type": "array", "elementType": "long", "containsNull": False}),
                        _column(
                            "m",
                            {"type": "map", "keyType": "string", "valueType": "long", "valueContainsNull": False},
                        ),
                        _column("u", {"type": "udt", "class": "x"}),
                        {"name": "bare", "type": "string"},
                    )
                }
            },
            id="inner nullability, other types and missing keys",
        ),
        pytest.param({"create": _CREATED | {"schema": {}}}, id="no fields"),
        pytest.param(
            {
                "create": None,
                "evolve": {
                    "base": _struct(_column("id", "long"), _DAY),
                    "schema": _struct(
                        _column("id", "long", metadata=_mapped(1, "id")),
                        _column("o", _struct(_column("x y", "string", metadata=_mapped(4, "x y")))),
                        _column("day", "date", metadata=_mapped(2, "day")),
                    ),
                    "properties": _BY_NAME,
                },
            },
            id="new columns",
        ),
        pytest.param(
            {
                "create": None,
                "evolve": {
                    "base": _struct(_column("id", "long", nullable=False, metadata={"comment": "c"})),
                    "schema": _struct(_column("id", "long", metadata={"comment": "c"}), _column("n", "integer")),
                    "properties": {},
                },
            },
            id="new columns next to comments",
        ),
    ],
)
def test_a_stored_batch_is_intact_whatever_an_older_version_wrote(effect: dict[str, Any]) -> None:
    """Older versions wrote the schema that Spark gave them, with nullability, comments and types of its own."""
    text = _stored(effect)
    assert Batch.from_json(text, "s3://lake/batches/x").digest == json.loads(text)["digest"]
    altered = {**json.loads(text), "run_id": "another"}
    with pytest.raises(ValueError, match="was altered"):
        Batch.from_json(_canonical(altered), "s3://lake/batches/x")


@pytest.mark.parametrize(
    "effect",
    [
        {"create": _CREATED | {"schema": _struct(), "more": 1}},
        {"create": {name: value for name, value in _CREATED.items() if name != "properties"} | {"schema": _struct()}},
        {"create": None, "evolve": {"base": _struct(), "schema": _struct(), "properties": {}, "more": 1}},
        {"create": None, "evolve": {"base": _struct(), "properties": {}}},
    ],
)
def test_an_effect_that_this_version_does_not_know_is_refused(effect: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"^s3://lake/batches/x(: | is not a batch \()"):
        Batch.from_json(_stored(effect), "s3://lake/batches/x")


def _stored(effect: dict[str, Any]) -> str:
    """Return a batch as the lake has it, with a digest of its own."""
    body = {**json.loads(EXAMPLE.seal().to_json()), **effect}
    del body["digest"]
    digest = hashlib.sha256(_canonical(body).encode()).hexdigest()
    return _canonical({**body, "digest": digest})


def _canonical(body: dict[str, Any]) -> str:
    return json.dumps(body, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def test_an_unsealed_batch_is_not_written() -> None:
    with pytest.raises(AssertionError, match=r"batch 1 of landing\.orders has no digest"):
        EXAMPLE.to_json()


@pytest.mark.parametrize("field", sorted(set(json.loads(EXAMPLE.seal().to_json())) - {"format", "app_id"}))
def test_an_altered_batch_is_an_error_that_names_the_object(field: str) -> None:
    body: dict[str, Any] = json.loads(EXAMPLE.seal().to_json())
    match body[field]:
        case str(text):
            body[field] = text + "x"
        case int(number):
            body[field] = number + 1
        case list(items):
            body[field] = items[1:]
        case _:
            body[field] = None
    with pytest.raises(ValueError, match=r"^s3://lake/batches/1\.json was altered: .*restore"):
        Batch.from_json(json.dumps(body), "s3://lake/batches/1.json")


@pytest.mark.parametrize("field", sorted(json.loads(EXAMPLE.seal().to_json())))
def test_a_missing_field_is_an_error_that_names_the_object(field: str) -> None:
    body = json.loads(EXAMPLE.seal().to_json())
    del body[field]
    with pytest.raises(ValueError, match=r"^s3://lake/batches/1\.json "):
        Batch.from_json(json.dumps(body), "s3://lake/batches/1.json")


@pytest.mark.parametrize("body", ["", "x", "[]", "null", "3", '{"format":1,"more":1}'])
def test_what_is_not_a_batch_is_an_error_that_names_the_object(body: str) -> None:
    with pytest.raises(ValueError, match=r"^here is not a batch \("):
        Batch.from_json(body, "here")


def test_rows_of_a_file_come_from_its_statistics() -> None:
    assert EXAMPLE.adds[0].records == 3


def test_counts_are_by_status() -> None:
    assert EXAMPLE.counts() == {"committed": 1, "removed": 1}
