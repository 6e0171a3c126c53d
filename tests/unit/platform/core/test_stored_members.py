"""What a newer version wrote is refused by name, at each place, and nothing of it is passed over."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import tidegate
from tests.support.lakes import samples
from tests.support.lakes.objects import Objects
from tidegate.platform.core.bronze.batch import Batch
from tidegate.platform.core.bronze.ledger import COLUMNS
from tidegate.platform.core.bronze.manifest import Manifest
from tidegate.platform.core.completion.waiting_datasets import WaitingDatasets
from tidegate.platform.core.config.silver_columns import KEY, ORDER
from tidegate.platform.core.forgetting.request import ForgetRequest, GoneRows, gone_rows
from tidegate.platform.core.forwarding.outbox_message import Outgoing
from tidegate.platform.core.schema.column_types import Field, Simple
from tidegate.platform.core.schema.table_schema import TableSchema
from tidegate.platform.core.silver.export_manifest import ExportManifest, ExportMark, exported_rows
from tidegate.platform.core.storage.history import StoredHistory
from tidegate.platform.core.stored_members import NewerVersionError
from tidegate.platform.core.table_properties import KNOWN, KNOWN_BEGINNINGS, require_known_properties
from tidegate.platform.lake.lake_root.batches import _retirement
from tidegate.platform.lake.lake_root.births import _from_json
from tidegate.platform.lake.lake_root.quarantine import _parse_kept_message
from tidegate.platform.lake.lake_root.store import LakeStore
from tidegate.platform.lake.ledger import Ledger
from tidegate.platform.lake.spark.results import TableState

WHERE = "s3://lake/root/x"
#: Members whose own members are data, not names that a version gives.
DATA = frozenset({"partition_values", "properties", "attributes", "columns", "schema", "base", "bounds", "metadata"})
READERS: dict[str, Callable[[str], Any]] = {
    "batches": lambda text: Batch.from_json(text, WHERE),
    "manifests": lambda text: Manifest.from_json(text, WHERE),
    "births": _from_json,
    "forgotten": lambda text: ForgetRequest.from_json(text, WHERE),
    "messages": lambda text: _parse_kept_message(WHERE, text.encode(), datetime.now(UTC)),
    "history": lambda text: StoredHistory.from_json(text, WHERE),
}


class Kind(NamedTuple):
    """A kind of object of which samples have no files.

    Attributes:
        data: further members whose own members are data.
    """

    reader: Callable[[str], Any]
    text: str
    data: frozenset[str] = frozenset()


def stored(key: str, read: Callable[[LakeStore], Any]) -> Callable[[str], Any]:
    """Return a reader of the body of an object of a lake."""

    def reader(text: str) -> Any:
        objects: Any = Objects()
        objects.put("lake", f"root/{key}", text)
        return read(LakeStore(objects, "s3://lake/root"))

    return reader


OUTGOING = Outgoing("m", "orders", "s3://landing/", 1, "{}", "queue")
UNDELIVERABLE = "quarantine/routes/all/0-x.json"
OTHERS: dict[str, Kind] = {
    "outgoing": Kind(Outgoing.from_json, OUTGOING.to_json()),
    "undeliverable": Kind(
        stored(UNDELIVERABLE, lambda store: list(store.outbox.undeliverable_messages("all"))),
        json.dumps({"reason": "r", "message": OUTGOING.to_dict()}),
    ),
    "mark": Kind(
        lambda text: ExportMark.from_json(text, WHERE),
        ExportMark(**{name: 1 for name in ExportMark.__dataclass_fields__}).to_json(),  # type: ignore[arg-type]
    ),
    "retirement": Kind(
        lambda text: _retirement(b'{"retired":%s}' % text.encode()),
        json.dumps({"generation": "g", "by": "eva", "at": "2026-11-30T00:00:00+00:00"}),
    ),
    "identity": Kind(stored("lake.json", lambda store: store.identity.read_uuid()), '{"lake": "u"}'),
    "listing times": Kind(
        stored("reconcile.json", lambda store: store.listing_times.read()),
        '{"format": 1, "asked": {"t": 1}}',
        frozenset({"asked"}),
    ),
    "generation listing": Kind(
        stored("listings/t..g.json", lambda store: store.generation_listings.read("t..g")),
        '{"format": 1, "key": "k", "whole": false}',
    ),
    "held listing": Kind(
        stored("held/t/listed.json", lambda store: store.held.last_listed_key("t")), '{"format": 1, "key": "k"}'
    ),
    "signal": Kind(
        stored("signals/t/p-s-1.json", lambda store: store.waiting_signals("t").read_all()),
        '{"format": 1, "signal": "s", "waits_for": "p"}',
    ),
    "waiting": Kind(
        stored("waiting/t.json", lambda store: store.waiting_notes.read("t")),
        WaitingDatasets().to_json(),
        frozenset({"signals"}),
    ),
    "after": Kind(
        stored("after/t/n.json", lambda store: store.after_notes("t").read(["n"])),
        samples.read("after", "failed"),
        frozenset({"keys"}),
    ),
    "forgetting note": Kind(
        stored("forgotten/found/r.json", lambda store: store.forgotten.note("r", "found")),
        '{"format": 1, "at": "x", "by": "eva", "tables": [], "not_searched": [], "subjects": {}}',
        frozenset({"subjects"}),
    ),
    "gone rows": Kind(lambda text: gone_rows((), [json.loads(text)], ()), json.dumps(asdict(GoneRows("t", 1, 1, 1)))),
}
EVERY = {
    f"{kind}/{name}": Kind(reader, samples.read(kind, name))
    for kind, reader in READERS.items()
    for name in samples.names(kind)
} | OTHERS


#: Which of these each function reads that reads JSON of a lake, so that a new one cannot be forgotten.
READ_BY = {
    "core/bronze/batch.py Batch.from_json": "batches",
    "core/bronze/manifest.py Manifest.from_json": "manifests",
    "core/completion/waiting_datasets.py WaitingDatasets.from_json": "waiting",
    "core/forgetting/request.py ForgetRequest.from_json": "forgotten",
    "core/forwarding/outbox_message.py Outgoing.from_json": "outgoing",
    "core/silver/export_manifest.py ExportMark.from_json": "mark",
    "core/storage/history.py StoredHistory.from_json": "history",
    "lake/lake_root/after_notes.py AfterNotes.read.read": "after",
    "lake/lake_root/batches.py _retirement": "retirement",
    "lake/lake_root/births.py _from_json": "births",
    "lake/lake_root/forget_requests.py Forgotten.note": "forgetting note",
    "lake/lake_root/held_events.py Held.last_listed_key": "held listing",
    "lake/lake_root/identity.py Identity.read_uuid": "identity",
    "lake/lake_root/outbox.py Outbox._parse_undeliverable": "undeliverable",
    "lake/lake_root/progress.py GenerationListings.read": "generation listing",
    "lake/lake_root/progress.py ListingTimes.read": "listing times",
    "lake/lake_root/quarantine.py _parse_kept_message": "messages",
    "lake/lake_root/waiting_notes.py WaitingSignals._entries.read_signal": "signal",
}
#: What the others read, and why it needs no member that is known.
OTHER_JSON = {
    "core/silver/export_manifest.py exported_rows": "a manifest that others read, too: its format has a number",
    "lake/lake_root/logs.py _entry_of": "a log for people: nothing is decided or written by it",
    "lake/lake_root/logs.py OperationsLog.entries": "a log for people, which is shown as it is",
    "core/forgetting/subject_columns.py lost_subject": "the value of a property, a list of names",
    "core/schema/column_ids.py recorded_names": "the value of a property, a list of names",
    "core/silver/recorded_options.py changed_options": "options: lake.yaml lacks another one, so it has changed",
    "core/silver/subject_paths.py _recorded_paths": "the name of a property, a list of names",
    "silver/truncate.py record_truncates": "the value of a property, a list of times",
    "silver/truncate.py recorded_truncates": "the value of a property, a list of times",
    "core/stored_members.py read_note": "the function itself",
    **dict.fromkeys(
        (
            "bronze/prepare/formats/json_files.py _first_names",
            "core/infer/avro_schema.py _parse_schema",
            "core/row_json.py row_json",
            "core/silver/key_values.py _is_json",
            "core/webhook/delivery.py delivery_of",
        ),
        "data of a producer",
    ),
    "lake/aws/bucket_inventories.py BucketInventories.policy": "an answer of AWS",
    "lake/aws/sqs.py Queue.depths": "an answer of AWS",
    **dict.fromkeys(
        (
            "bronze/prepare/load/load.py Load._stage_rows",
            "core/bronze/batch.py Add.records",
            "core/files/parquet/parquet_copy.py ",
            "silver/audit/comparison.py _find_wrong_keys",
            "silver/row_queries.py expression_types",
            "silver/row_queries.py row_counts",
        ),
        "of Spark, Delta or a process of this version",
    ),
    # The jars and Tidegate have one version. The parameters of procedures are of this call.
    "bronze/prepare/table_columns.py former_columns": "an entry of Delta's log",
}
_PLATFORM = Path(tidegate.__file__).parent / "platform"
#: Folders of what reads no lake, or reads it only by what is above; and `lake/spark`, which reads the server's answers.
_ELSEWHERE = ("cli", "demo", "lake/spark", "local", "prove", "release", "testing")
#: Names that begin like properties of tables: of commands, fields, views.
_NOT_PROPERTIES = {"tidegate.exact", "tidegate.made_of", "tidegate.system", "tidegate.platform"}


def newer(body: Any, data: frozenset[str] = frozenset()) -> Iterator[Any]:
    """Yield the body with a further member in each of its objects."""
    for path in _objects(body, DATA | data):
        changed = deepcopy(body)
        place = changed
        for step in path:
            place = place[step]
        place["later"] = 1
        yield changed


def _objects(body: Any, data: frozenset[str]) -> Iterator[tuple[Any, ...]]:
    if isinstance(body, dict):
        yield ()
        inner = [(name, value) for name, value in body.items() if name not in data]
    else:
        inner = list(enumerate(body)) if isinstance(body, list) else []
    for step, value in inner:
        yield from ((step, *path) for path in _objects(value, data))


@pytest.mark.parametrize("name", EVERY)
def test_a_member_of_a_newer_version_is_refused_wherever_it_is(name: str) -> None:
    reader, text, data = EVERY[name]
    assert reader(text) is not None
    bodies = list(newer(json.loads(text), data))
    assert bodies
    for body in bodies:
        with pytest.raises(NewerVersionError, match=r"has no member 'later': a newer Tidegate wrote this"):
            reader(json.dumps(body))


@pytest.mark.parametrize("kind", ["batches", "manifests", "forgotten", "history"])
def test_a_newer_format_is_refused_with_the_address(kind: str) -> None:
    for name in samples.names(kind):
        with pytest.raises(NewerVersionError, match=f"^{WHERE}: its format is 2, not 1: a newer Tidegate"):
            READERS[kind](json.dumps({**samples.body(kind, name), "format": 2}))


def test_a_newer_format_of_a_note_and_of_a_manifest_of_an_export_is_refused() -> None:
    noted = {name: kind for name, kind in OTHERS.items() if "format" in json.loads(kind.text)}
    assert len(noted) > 5
    for kind in noted.values():
        with pytest.raises(NewerVersionError, match="its format is 2, not 1: a newer Tidegate"):
            kind.reader(json.dumps({**json.loads(kind.text), "format": 2}))
    manifest = ExportManifest("t", "id", 1, None, True, "csv", {"insert": 2}, ()).to_json()
    assert exported_rows(manifest, WHERE) == {"insert": 2}
    with pytest.raises(NewerVersionError, match=f"^{WHERE}: its format is 2, not 1"):
        exported_rows(json.dumps({**json.loads(manifest), "format_version": 2}), WHERE)


def test_a_ledger_with_a_further_column_is_not_appended_to() -> None:
    names = [*COLUMNS]

    class Server:
        def table_state(self, location: str, app_id: str) -> TableState:
            fields = tuple(Field(name, Simple("string")) for name in names)
            return TableState(3, 2, "id", {}, TableSchema(fields), 1)

    server: Any = Server()
    ledger = Ledger(server, "s3a://lake/root/ledger/t", "t")
    assert ledger.clock() == (3, 2)
    names.append("later")
    with pytest.raises(NewerVersionError, match=r"^a row of the ledger s3a://lake/root/ledger/t has no member 'later'"):
        ledger.clock()


def test_a_table_with_a_further_property_of_tidegate_is_refused() -> None:
    require_known_properties([*KNOWN, *(f"{each}x" for each in KNOWN_BEGINNINGS), "delta.x", "theirs"], "silver.t")
    with pytest.raises(NewerVersionError, match=r"^silver.t has the property 'tidegate.later', .*: a newer Tidegate"):
        require_known_properties(["tidegate.later", "tidegate.lake"], "silver.t")


def _readers() -> Iterator[str]:
    """Yield each function that reads JSON, with its module."""

    def find(node: ast.AST, name: str) -> Iterator[str]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.ClassDef):
                yield from find(child, f"{name}.{child.name}".lstrip("."))
            elif isinstance(child, ast.Name | ast.Attribute) and ast.unparse(child) in (
                "json.loads",
                "json.load",
                "read_note",
            ):
                yield name
            else:
                yield from find(child, name)

    for path in _PLATFORM.rglob("*.py"):
        place = path.relative_to(_PLATFORM).as_posix()
        if not place.startswith(tuple(f"{folder}/" for folder in _ELSEWHERE)):
            yield from (f"{place} {name}" for name in find(ast.parse(path.read_text()), ""))


def test_each_function_that_reads_json_of_a_lake_refuses_what_a_newer_version_wrote() -> None:
    assert set(_readers()) == READ_BY.keys() | OTHER_JSON.keys()
    assert not READ_BY.keys() & OTHER_JSON.keys()
    assert {name.partition("/")[0] for name in EVERY} - {"gone rows"} == set(READ_BY.values())


def test_each_property_of_a_table_that_the_code_names_is_known() -> None:
    named = {
        name
        for path in _PLATFORM.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and path.stem != "table_properties"
        for name in re.findall(r"^tidegate\.[a-z_]+\.?$", node.value)
    }
    named = {name for name in named if name.rstrip(".") not in _NOT_PROPERTIES}
    # The code makes these of the names of silver's columns.
    made = {f"tidegate.silver{column}" for column in (KEY, ORDER)} | {"tidegate.silver"}
    assert named | made == KNOWN | set(KNOWN_BEGINNINGS) | {"tidegate.silver"}
