"""Each parser of what others write has a bound on values, too: built, they take up to fifty times their characters."""

from __future__ import annotations

import json
import re
import tracemalloc
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from tests.support.tracked import ROOT, tracked
from tidegate.platform.bronze.prepare.formats.json_files import is_by_line
from tidegate.platform.cli.check.lake import _owners
from tidegate.platform.core.completion.named_parts import named_parts
from tidegate.platform.core.errors import TidegateError
from tidegate.platform.core.events.envelopes import open_body, unwrap_publication
from tidegate.platform.core.events.row_queue import RowOrigin, row_of
from tidegate.platform.core.foreign_json import MAX_VALUES, foreign_json, foreign_row
from tidegate.platform.core.forwarding.message_bodies import split_in_halves
from tidegate.platform.core.infer.avro_schema import read_stated_columns, schema_of_file
from tidegate.platform.core.inventory.manifest import Inventory
from tidegate.platform.forgetting.row_redaction import parsed_object
from tidegate.platform.lake.forwarding import unwrap_arrays
from tidegate.platform.operations.redrive import message_from_body

#: Parsers of Python: of JSON, CSV, YAML and Parquet.
_PARSES = re.compile(
    r"json\.loads?\(|JSONDecoder\(|raw_decode\(|csv\.reader\(|yaml\.[a-z_]*load\(|SafeLoader\b|\bpq\.\w|ipc\.open"
)
#: What bounds the values of each module that parses, by its path.
_BOUNDS = {
    "the one parser of documents, which counts values before": ["platform/core/foreign_json.py"],
    "values are counted before": ["platform/core/infer/avro_schema.py"],
    "cells of a row are counted before": ["platform/core/config/csv_options.py"],
    "names of members; no value is built": ["platform/core/forgetting/mentions.py"],
    "64 KiB of a line": ["platform/bronze/prepare/formats/json_files.py"],
    "a message of SQS, of which values were counted": ["platform/core/webhook/delivery.py"],
    "the first 1 MiB of a file, for `tidegate infer`": ["platform/core/infer/text_format.py"],
    "a footer of 64 MiB, in a process of its own": [
        *(f"platform/core/files/parquet/{name}.py" for name in ("footer", "spark_support")),
    ],
    "rows of 64 MiB, in a process of its own": ["platform/core/files/parquet/parquet_copy.py"],
    "64 MiB of files that were staged": ["platform/bronze/prepare/load/repeated_messages.py"],
    "the rows of a key that a person, or a comparison, asks for": [
        "platform/core/row_json.py",
        "platform/core/silver/audit/row_outcomes.py",
        "platform/core/silver/key_values.py",
        "platform/silver/audit/comparison.py",
    ],
    "a file of an operator": [
        "platform/cli/options.py",
        "platform/cloud/policy_page.py",
        "platform/core/config/yaml_document.py",
        "platform/core/storage/price_list.py",
        "platform/operations/ingest.py",
    ],
    "an answer of AWS": [
        "platform/cli/check/queues.py",
        "platform/cli/check/buckets.py",
        "platform/lake/aws/bucket_inventories.py",
        "platform/lake/aws/sqs.py",
    ],
    "an answer of the Spark server": [
        "platform/bronze/prepare/load/load.py",
        "platform/bronze/prepare/table_columns.py",
        "platform/core/schema/column_ids.py",
        "platform/silver/row_queries.py",
        *(f"platform/lake/spark/{name}.py" for name in ("delta", "output_writer", "session")),
    ],
    "what the lake wrote": [
        "assets/runs/held_tables.py",
        "platform/core/bronze/batch.py",
        "platform/core/bronze/manifest.py",
        "platform/core/forgetting/subject_columns.py",
        "platform/core/forgetting/request.py",
        "platform/core/forwarding/outbox_message.py",
        "platform/core/silver/export_manifest.py",
        "platform/core/silver/recorded_options.py",
        "platform/core/silver/subject_paths.py",
        "platform/core/stored_members.py",
        "platform/silver/truncate.py",
        *(
            f"sensors/{name}.py"
            for name in ("forward", "health", "reconcile", "intake/sensor", "intake/unrouted_report")
        ),
        "platform/lake/lake_root/",
    ],
    "a part that is not part of a lake": [f"platform/{part}/" for part in ("demo", "local", "prove", "release")],
}


def _parsers() -> set[str]:
    sources = [path for path in tracked() if path.suffix == ".py"]
    paths = {str(path.relative_to(ROOT)): path for path in sources}
    places = ("platform/", "assets/", "sensors/", "resources/")
    return {
        name
        for name, path in paths.items()
        if name.startswith(places) and _PARSES.search(path.read_text(encoding="utf-8"))
    }


def test_every_module_that_parses_is_named_with_its_bound() -> None:
    known, found = [place for places in _BOUNDS.values() for place in places], _parsers()
    assert {name for name in found if not name.startswith(tuple(known))} == set()
    assert [place for place in known if not any(name.startswith(place) for name in found)] == []


def test_no_module_asks_the_stack_for_levels() -> None:
    """Levels are counted before a text is parsed, or its parser takes none of the stack (test_depth.py)."""
    places = ("platform", "assets", "sensors", "resources")
    sources = [path for path in tracked() if path.suffix == ".py" and path.relative_to(ROOT).parts[0] in places]
    assert len(sources) > 100
    assert [str(path) for path in sources if "RecursionError" in path.read_text(encoding="utf-8")] == []


_URI = "s3://inventories/of/landing/daily/2026-01-01T00-00Z/manifest.json"


def _avro(schema: str) -> bytes:
    def number(value: int) -> bytes:
        value, found = value << 1, b""
        while value > 0x7F:
            found, value = found + bytes([value & 0x7F | 0x80]), value >> 7
        return found + bytes([value])

    text = schema.encode()
    return b"Obj\x01" + number(1) + number(11) + b"avro.schema" + number(len(text)) + text + b"\0" + b"x" * 16


#: Each way of a document of others into Python.
_DOORS: dict[str, Callable[[str], object]] = {
    "an event": open_body,
    "an envelope": lambda text: unwrap_publication(text.replace("[", '["TopicArn",', 1)),
    "a body that is divided": split_in_halves,
    "a row": lambda text: row_of(text, RowOrigin("id", 1_767_225_600_000)),
    "a message that is sent again": message_from_body,
    "a kept row": parsed_object,
    "the manifest of a dataset": lambda text: named_parts(text.encode(), "landing", "t/"),
    "the manifest of an inventory": lambda text: Inventory.from_manifest(text.encode(), _URI),
    "a commit of another lake": lambda text: [*_owners(text.encode())],
    "the schema of an Avro file": lambda text: schema_of_file(_avro(text)),
    "the schema in a footer": lambda text: read_stated_columns({b"avro.schema": text.encode()}),
    "the first line of a file": lambda text: is_by_line(text.encode(), whole=True),
    "an array that a route unwraps": lambda text: unwrap_arrays._lines(text.encode(), 64 << 20, packed=False),
}
_SHAPES = {
    "arrays in arrays": "[[]]",
    "objects with a member": '{"a":1}',
    "deep arrays": "[[[[[1]]]]]",
    "texts": '""',
}


def _of(shape: str, characters: int) -> str:
    return f'{{"x":[{",".join([shape] * (characters // (len(shape) + 1)))}]}}'


def _peak(work: Callable[[], object]) -> int:
    tracemalloc.start()
    with suppress(ValueError, TidegateError):
        work()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak


@pytest.mark.parametrize("door", _DOORS)
@pytest.mark.parametrize("shape", _SHAPES)
def test_no_document_takes_many_times_its_bytes(door: str, shape: str) -> None:
    text = _of(_SHAPES[shape], 2_300_000)
    assert _peak(lambda: _DOORS[door](text)) < 6 * len(text)


@pytest.mark.limit("Events and AWS", "A message, a row in it, or a manifest has at most 524,288 values.")
@pytest.mark.parametrize("parse", [foreign_json, foreign_row])
def test_values_are_counted_and_not_what_texts_hold(parse: Callable[[str], Any]) -> None:
    values = MAX_VALUES - 4
    for text in ("[" + ",".join(["1"] * values) + "]", json.dumps([",[{" * MAX_VALUES])):
        assert parse(f'{{"v":{text}}}')
    for value in ("1", "[]", "{}", '",[{"'):
        text = "[" + ",".join([value] * (MAX_VALUES + 1)) + "]"
        with pytest.raises(ValueError, match=r"^has more than 524,288 values; write it in parts$"):
            parse(f'{{"v":{text}}}')


def test_the_manifest_of_the_largest_dataset_and_of_the_largest_inventory_are_read() -> None:
    part = {"url": "s3://landing/t/{}", "mandatory": True, "meta": {"content_length": 1, "record_count": 1}}
    entries = [{**part, "url": f"s3://landing/t/{number}"} for number in range(10_000)]
    assert len(named_parts(json.dumps({"entries": entries}).encode(), "landing", "t/")) == 10_000
    file = {"key": "of/landing/daily/data/", "size": 2_147_483_647, "MD5checksum": "0" * 32}
    # As many as fit into 16 MiB: the name of a file is a UUID.
    files = [{**file, "key": f"of/landing/daily/data/{number:036}.csv.gz"} for number in range(110_000)]
    body = {
        "sourceBucket": "landing",
        "creationTimestamp": "1767225600000",
        "fileFormat": "CSV",
        "fileSchema": "Bucket, Key, Size",
        "files": files,
    }
    text = json.dumps(body, separators=(",", ":")).encode()
    assert len(text) > 15 << 20
    assert len(Inventory.from_manifest(text, _URI).files) == 110_000


def test_the_manifest_of_a_dataset_has_fewer_values_than_another_document() -> None:
    for count, why in ((100_000, "names no parts"), (300_000, "has more than 262,144 values; write it in parts")):
        body = json.dumps({"files": [], "x": [0] * count}).encode()
        with pytest.raises(ValueError, match=why):
            named_parts(body, "landing", "t/")
