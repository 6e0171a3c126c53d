"""Documents that others write: whatever they hold, a parser reads it, or says in its own error that it does not."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import pytest

from tidegate.platform.bronze.prepare.formats.json_files import Json
from tidegate.platform.core.completion.named_parts import named_parts
from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.core.events.envelopes import open_body, unwrap_publication
from tidegate.platform.core.events.row_queue import RowOrigin, row_of
from tidegate.platform.core.foreign_json import MAX_LEVELS, foreign_json, foreign_row
from tidegate.platform.core.inventory.manifest import Inventory, InventoryError
from tidegate.platform.forgetting.row_redaction import parsed_object
from tidegate.platform.operations.redrive import message_from_body

_URI = "s3://inventories/of/landing/daily/2026-01-01T00-00Z/manifest.json"
_INVENTORY = {
    "sourceBucket": "landing",
    "creationTimestamp": "1767225600000",
    "fileFormat": "CSV",
    "fileSchema": "Bucket, Key, Size",
    "files": [{"key": "of/landing/daily/data/1.csv.gz", "size": 1, "MD5checksum": "0" * 32}],
}
_EVENT = {
    "eventVersion": "2.1",
    "eventSource": "aws:s3",
    "eventName": "ObjectCreated:Put",
    "eventTime": "2026-01-01T00:00:00Z",
    "s3": {"bucket": {"name": "landing"}, "object": {"key": "a.json", "size": 1, "eTag": "0", "sequencer": "0"}},
}
_DATASET = {"files": [{"key": "t/a.json", "size": 1, "MD5checksum": "0" * 32}]}

#: Values for any place of a document, as JSON.
_VALUES = [
    "null", "true", "-1", "0.5", '""', "[]", "{}", '"\\ud800"', "NaN", "Infinity", "-Infinity", "1e400",
    "9" * 4_000, "9" * 5_000, "1" + "0" * 30, '"' + "9" * 5_000 + '"', "[" * 100_000, '{"a":' * 100_000, '"x" "y"',
]  # fmt: skip


def _places(document: object) -> list[tuple[str | int, ...]]:
    entries = list(document.items() if isinstance(document, dict) else enumerate(document)) if document else []
    deeper = [(name, *rest) for name, value in entries if isinstance(value, (dict, list)) for rest in _places(value)]
    return [(), *((name,) for name, _ in entries), *deeper]


def _with(document: object, place: tuple[str | int, ...], value: str) -> str:
    if not place:
        return value
    mark = "\x01"
    copy = json.loads(json.dumps(document))
    inner = copy
    for name in place[:-1]:
        inner = inner[name]
    inner[place[-1]] = mark
    return json.dumps(copy).replace(json.dumps(mark), value)


def _event(text: str) -> None:
    open_body(text)


def _row(text: str) -> None:
    row_of(text, RowOrigin("id", 1_767_225_600_000))


def _inventory(text: str) -> None:
    with suppress(InventoryError):
        assert Inventory.from_manifest(text.encode(), _URI).began


def _dataset(text: str) -> None:
    named_parts(text.encode(), "landing", "t/")


def _first_object(text: str) -> None:
    Json().look(
        text.encode(), True, TableSpec.model_validate({"name": "t", "prefix": "s3://landing/t/", "format": "json"})
    )


@pytest.mark.parametrize(
    ("parse", "document"),
    [
        (_event, {"Records": [_EVENT]}),
        (_event, {"detail-type": "Object Created", "source": "aws.s3", "detail": _EVENT["s3"], "id": "1"}),
        (
            _event,
            {
                "Type": "Notification",
                "TopicArn": "t",
                "MessageId": "m",
                "Timestamp": "2026-01-01T00:00:00Z",
                "Message": json.dumps({"Records": [_EVENT]}),
            },
        ),
        (_row, {"id": 1, "of": {"a": [1]}}),
        (
            _row,
            {
                "Type": "Notification",
                "TopicArn": "t",
                "MessageId": "m",
                "Timestamp": "2026-01-01T00:00:00Z",
                "Message": "{}",
            },
        ),
        (_inventory, _INVENTORY),
        (_dataset, _DATASET),
        (_dataset, {"entries": [{"url": "s3://landing/t/a", "mandatory": True, "meta": {"content_length": 1}}]}),
        (message_from_body, {"s3": _EVENT["s3"]}),
        (_first_object, {"id": 1}),
    ],
)
def test_a_parser_of_foreign_documents_has_one_error(parse: Callable[[str], object], document: object) -> None:
    parse_error = () if parse in (_inventory, message_from_body) else (ValueError,)
    parse(json.dumps(document))
    for place in _places(document):
        for value in _VALUES:
            with suppress(*parse_error):
                parse(_with(document, place, value))


def _twice(document: object, place: tuple[str | int, ...], name: str) -> str:
    """Return the document with a member of the object at a place again, behind itself, its name in escapes."""
    escaped = "".join(f"\\u{ord(letter):04X}" for letter in name)
    text = json.dumps({**_at(document, place), "\x01": "other"}).replace("\\u0001", escaped)
    return _with(document, place, text)


@pytest.mark.parametrize(
    ("parse", "document"),
    [
        (open_body, {"Records": [_EVENT]}),
        (open_body, {"Type": "Notification", "TopicArn": "t", "Message": json.dumps({"Records": [_EVENT]})}),
        (lambda text: Inventory.from_manifest(text.encode(), _URI), _INVENTORY),
        (_dataset, _DATASET),
    ],
)
def test_a_member_that_is_there_twice_is_found_by_what_it_reads_as(
    parse: Callable[[str], object], document: dict[str, object]
) -> None:
    parse(json.dumps(document))
    objects = [place for place in _places(document) if isinstance(_at(document, place), dict)]
    for place in [*objects, *((name, 0) for name in ("Records", "files") if name in document)]:
        for name in _at(document, place):
            with pytest.raises((ValueError, InventoryError), match=f"has the member '{name}' twice"):
                parse(_twice(document, place, name))


def _at(document: Any, place: tuple[str | int, ...]) -> Any:
    for part in place:
        document = document[part]
    return document


@pytest.mark.parametrize("escaped", ["Topic\\u0041rn", "\\u0054opicArn", "TopicArn"])
def test_an_envelope_is_one_however_its_names_are_written(escaped: str) -> None:
    """The intake opens it by its names as they are read, so routes and row queues have to, too."""
    envelope = {"Type": "Notification", "TopicArn": "t", "MessageId": "m", "Timestamp": "x", "Message": "{}"}
    text, publication = unwrap_publication(json.dumps(envelope).replace("TopicArn", escaped))
    assert (text, publication and publication.topic) == ("{}", "t")


def test_a_kept_text_with_a_member_twice_is_of_both_persons() -> None:
    assert parsed_object('{"user": "a", "\\u0075ser": "b"}') is None, "it is searched as a text that is not a row"


@pytest.mark.parametrize("parse", [_event, _row])
def test_the_largest_message_of_sqs_is_read_in_one_pass(parse: Callable[[str], object]) -> None:
    """Every member is another one but the last: a comparison of each with each would take a quarter of an hour."""
    names = [f'"{number:x}":1' for number in range(100_000)]
    with suppress(ValueError):
        parse("{" + ",".join([*names, '"TopicArn":"t"', '"z":1', '"z":2']) + "}")


def test_an_inventory_of_another_time_is_refused() -> None:
    for created in ("1e3", "-1", 10**20, True, "253402300800000", "Infinity"):
        with pytest.raises(InventoryError, match="is not a manifest of an S3 Inventory"):
            Inventory.from_manifest(json.dumps({**_INVENTORY, "creationTimestamp": created}).encode(), _URI)


def _after(frames: int, work: Callable[[], object]) -> object:
    return work() if not frames else _after(frames - 1, work)


@pytest.mark.parametrize("opening", ["[", '{"a":', '[{"]":'])
@pytest.mark.parametrize("is_row", [False, True])
def test_depth_is_counted_in_the_text_and_not_by_the_stack_that_is_left(opening: str, *, is_row: bool) -> None:
    """What was parsed once is parsed everywhere."""
    closing = {"[": "]", "{": "}"}
    for times in (*range(1, 12), *range(95, 106), *range(195, 206), 400, 960, 100_000):
        ends = "".join(closing[mark] for mark in reversed(opening.replace('"]"', "")) if mark in closing)
        text = '{"s":"' + "[" * 300 + '\\"{","x":' + opening * times + "1" + ends * times + "}"
        levels = 1 + times * sum(mark in closing for mark in opening)
        works = [partial(foreign_json, document) for document in (text, text.encode(), text.encode("utf-16"))]
        for work in [partial(foreign_row, text)] if is_row else works:
            for frames in (0, 500):
                if levels <= MAX_LEVELS:
                    _after(frames, work)
                else:
                    with pytest.raises(ValueError, match="is nested too deeply"):
                        _after(frames, work)
