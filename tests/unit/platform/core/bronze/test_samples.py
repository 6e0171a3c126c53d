"""What lakes have on disk is read and written by every version: samples of each format, as versions wrote them."""

from __future__ import annotations

import json
from dataclasses import fields
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.lakes import samples
from tests.support.lakes.objects import Objects
from tidegate.platform.core.bronze.batch import Batch
from tidegate.platform.core.bronze.birth import Birth
from tidegate.platform.core.bronze.ledger import (
    COLUMNS,
    Cause,
    Effort,
    Header,
    LastState,
    LedgerRow,
    Stamp,
    Status,
    columns_of,
)
from tidegate.platform.core.bronze.manifest import Manifest, tally_of
from tidegate.platform.inventory.growth import KeptHistory
from tidegate.platform.lake.lake_root.store import LakeStore
from tidegate.platform.lake.ledger import Ledger
from tidegate.platform.lake.spark.results import CommitResult

#: Members of a hint, as JSON. They never change.
_HINT = {
    "key", "event_id", "event_name", "event_time", "version_id", "sequencer", "redriven", "read", "size", "taken",
    "replaces", "decided", "told", "event_type",
}  # fmt: skip
CLASSES = {"manifests": samples.MANIFESTS, "batches": samples.BATCHES, **samples.OTHERS}


@pytest.fixture
def store() -> LakeStore:
    return LakeStore(Objects(), "s3://lake/root")  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", [*CLASSES, "ledgers"])
def test_every_class_of_a_format_has_a_sample(kind: str) -> None:
    assert samples.names(kind) == sorted(CLASSES.get(kind, samples.LEDGERS))


@pytest.mark.parametrize(
    ("kind", "name"), [(kind, name) for kind, classes in CLASSES.items() for name in sorted(classes)]
)
def test_a_sample_is_of_its_class(kind: str, name: str) -> None:
    assert CLASSES[kind][name](samples.body(kind, name))


def test_every_field_and_status_is_in_a_sample() -> None:
    """A field that is added needs a class with a sample."""
    hints = [hint for name in samples.MANIFESTS for hint in samples.body("manifests", name)["hints"]]
    batches = [samples.body("batches", name) for name in samples.BATCHES]
    rows = [row for batch in batches for row in batch["rows"]]
    ledgers = [row for name in samples.LEDGERS for row in samples.body("ledgers", name)]
    assert {name for hint in hints for name in hint} == _HINT
    assert {name for batch in batches for name in batch} == {field.name for field in fields(Batch)} | {
        "format",
        "app_id",
    }
    assert {name for row in rows for name in row} == set(columns_of(LedgerRow))
    assert {row["status"] for row in rows} == set(map(str, Status)) - {Status.PREEXISTING}
    assert {name for row in ledgers for name in row} == set(COLUMNS)


@pytest.mark.parametrize("name", samples.MANIFESTS)
def test_a_manifest_is_written_as_it_was_read(name: str) -> None:
    text = samples.read("manifests", name)
    manifest = Manifest.from_json(text, "s3://lake/inbox/x")
    assert manifest.to_json() == text
    assert tally_of(manifest.id).hints == len(manifest.hints)


@pytest.mark.parametrize("name", samples.BATCHES)
def test_a_batch_is_read_whole_and_its_digest_is_right(name: str) -> None:
    stored = samples.body("batches", name)
    batch = Batch.from_json(samples.read("batches", name), "s3://lake/batches/x")
    assert json.loads(batch.to_json()) == {**stored, "rows": [_with_facts(row) for row in stored["rows"]]}


@pytest.mark.parametrize("name", samples.LEDGERS)
def test_a_batch_is_recorded_as_it_was(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The header has facts of the commit. The other rows come from the batch.

    Older versions did not record what a batch took.
    """
    monkeypatch.setattr(Ledger, "_create", lambda ledger: None)  # asks Spark
    recorded = samples.body("ledgers", name)
    appended = _appended(Batch.from_json(samples.read("batches", name), "s3://lake/batches/x"), recorded[0])
    assert [{**row, "recorded_at": 0} for row in appended] == [
        ({"milliseconds": None} if row["kind"] == "header" else {}) | _with_facts(row) | {"recorded_at": 0}
        for row in recorded
    ]


@pytest.mark.parametrize("name", samples.LEDGERS)
def test_rows_of_a_ledger_are_read(name: str) -> None:
    header, *rows = samples.body("ledgers", name)
    batch = Batch.from_json(samples.read("batches", name), "s3://lake/batches/x")
    assert Header(**{field: header[field] for field in columns_of(Header)}).digest == batch.digest
    for row, decided in zip(rows, batch.rows, strict=True):
        stamp = Stamp(**{field: row.pop(field) for field in columns_of(Stamp)})
        assert stamp.n == batch.n
        read = LedgerRow.from_dict({**row, "event_time": decided.event_time})  # microseconds, here in ISO 8601
        assert read == decided


@pytest.mark.parametrize("name", samples.LEDGERS)
def test_cause_and_folder_are_read_from_columns_or_from_the_reason_of_an_older_version(name: str) -> None:
    for row in samples.body("ledgers", name)[1:]:
        state = LastState.from_row({column: row.get(column) for column in columns_of(LastState)})
        facts = _with_facts(row)
        assert (state.cause, state.bad_rows_folder) == (facts.get("cause"), facts.get("bad_rows_folder"))
        assert state.cause is None or type(state.cause) is Cause


@pytest.mark.parametrize("name", samples.OTHERS["births"])
def test_a_birth_is_read(name: str, store: LakeStore) -> None:
    text = samples.read("births", name)
    store.objects.put("lake", "root/tables/landing.orders.json", text)
    birth = store.births.read("landing.orders")
    stored = json.loads(text)
    if stored.get("output") is True:
        stored["output"] = "repartition"  # The only mode of the versions that wrote no name.
    assert birth == Birth(generation_folder=stored.pop("folder", ""), **stored)
    store.births.replace("landing.orders", birth)
    later = {"folder": "", "after_version": -1}
    assert _written(store, "tables/") == {**later, **json.loads(text)}


@pytest.mark.parametrize("name", samples.OTHERS["intake"])
def test_an_entry_of_the_intake_log_is_written_as_it_was_read(name: str, store: LakeStore) -> None:
    text = samples.read("intake", name)
    store.objects.put("lake", "root/intake/2026-01-02/01.json", text)
    (entry,) = store.intake_log.entries("2026-01-02")
    store.objects.delete("lake", ["root/intake/2026-01-02/01.json"])
    store.intake_log.put(entry.counters, entry.unrouted)
    assert _written(store, "intake/") == json.loads(text)


@pytest.mark.parametrize("name", samples.OTHERS["messages"])
def test_a_quarantined_message_is_written_as_it_was_read(name: str, store: LakeStore) -> None:
    text = samples.read("messages", name)
    store.objects.put("lake", "root/quarantine/messages/m-0.json", text)
    (message,) = store.quarantine.messages()
    store.quarantine.release(message)
    assert _written(store, "quarantine/") == json.loads(text)


@pytest.mark.parametrize("name", samples.OTHERS["forgotten"])
def test_requests_to_forget(store: LakeStore, name: str) -> None:
    text = samples.read("forgotten", name)
    store.objects.put("lake", store.key("forgotten", "requests", "1.json"), text)  # type: ignore[attr-defined]
    (request,) = store.forgotten.requests()
    assert request.to_json() == text


@pytest.mark.parametrize("name", samples.OTHERS["history"])
def test_the_history_of_inventories_is_written_as_it_was_read(name: str, store: LakeStore) -> None:
    text = samples.read("history", name)
    history = KeptHistory(store, "landing.orders", "g")
    store.objects.put("lake", f"root/history/landing.orders/g-{1:020d}.json", text)
    assert history.read().to_json() == text


@pytest.mark.parametrize("name", samples.OTHERS["after"])
def test_a_note_of_after_load_is_written_as_it_was_read(name: str, store: LakeStore) -> None:
    notes, text = store.after_notes("landing.orders"), samples.read("after", name)
    size = len(json.loads(text)["keys"])
    store.objects.put("lake", f"root/after/landing.orders/01JD0000000000000000000000-{size}.json", text)
    (note,) = notes.read(notes.ids())
    notes.delete([note.id])
    notes.put(note.keys, size)
    assert _written(store, "after/") == json.loads(text)


def _with_facts(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row of a ledger with the columns that an older version lacked, whose content it put into the reason."""
    reason = row.get("reason") or ""
    cause = {"cause": "overwritten"} if reason.startswith("overwritten: ") else {}
    folder = {"bad_rows_folder": reason[reason.index("s3a://") :]} if "; see s3a://" in reason else {}
    return {**row, **cause, **folder}


def _appended(batch: Batch, header: dict[str, Any]) -> list[dict[str, Any]]:
    """Return what is appended to a ledger with all columns when the batch is recorded."""
    appended: list[dict[str, Any]] = []
    schema = SimpleNamespace(fields=[SimpleNamespace(name=name) for name in COLUMNS])
    state = SimpleNamespace(version=1, exists=True, txn=batch.n, schema=schema)
    delta = SimpleNamespace(
        append=lambda location, rows, app_id, number, seen: appended.extend(rows), table_state=lambda *_: state
    )
    landed = CommitResult(header["bronze_version"], header["outcome"], header["digest"], header["reason"], False)
    effort = Effort(header.get("milliseconds"))
    Ledger(delta, "s3a://lake/ledger/t", "t").append(batch, landed, header["run_id"], effort)  # type: ignore[arg-type]
    return appended


def _written(store: LakeStore, folder: str) -> Any:
    """Return the only object of a folder."""
    (item,) = store.objects.list_under("lake", f"root/{folder}")
    return json.loads(store.objects.get("lake", item.key) or "")
