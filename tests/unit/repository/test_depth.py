"""Levels of what others write are counted. The stack of Python does not find them: it differs from Python to Python.

A text of a million brackets is refused before a parser descends into it, because the parser of some Pythons would take
the stack of the process.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import NamedTuple

import pytest

from tests.unit.repository.test_values_of_documents import _avro
from tidegate.platform.bronze.prepare.formats.json_files import Json
from tidegate.platform.cli.check.lake import _owners
from tidegate.platform.core.completion.named_parts import named_parts
from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.core.config.yaml_document import read_yaml
from tidegate.platform.core.events.envelopes import open_body, unwrap_publication
from tidegate.platform.core.events.row_queue import RowOrigin, row_of
from tidegate.platform.core.events.s3_event import parse_body
from tidegate.platform.core.foreign_json import MAX_LEVELS, foreign_json, foreign_row
from tidegate.platform.core.forwarding.message_bodies import split_in_halves
from tidegate.platform.core.infer.avro_schema import AvroSchema, read_stated_columns, schema_of_file
from tidegate.platform.core.infer.text_format import sniff_json
from tidegate.platform.core.inventory.manifest import Inventory
from tidegate.platform.core.row_json import row_json
from tidegate.platform.core.schema.column_types import levels as deepest
from tidegate.platform.forgetting.row_redaction import parsed_object
from tidegate.platform.lake.forwarding import unwrap_arrays
from tidegate.platform.operations.redrive import message_from_body

_COLUMN = 30
_UNWRAPPED = 998
_YAML = 100
_URI = "s3://inventories/of/landing/daily/2026-01-01T00-00Z/manifest.json"
_TABLE = TableSpec.model_validate({"name": "t", "prefix": "s3://landing/t/", "format": "json"})
_EVENT = json.dumps(
    {
        "eventVersion": "2.1",
        "eventSource": "aws:s3",
        "eventName": "ObjectCreated:Put",
        "eventTime": "2026-01-01T00:00:00Z",
        "s3": {"bucket": {"name": "landing"}, "object": {"key": "a.json", "size": 1, "eTag": "0", "sequencer": "0"}},
    }
)
_DATASET = '"files":[{"key":"t/a.json","size":1,"MD5checksum":"%s"}]' % ("0" * 32)
_INVENTORY = (
    '"sourceBucket":"landing","creationTimestamp":"1767225600000","fileFormat":"CSV","fileSchema":"Bucket, Key, Size",'
)
_ENVELOPE = '"Type":"Notification","TopicArn":"t","MessageId":"m","Timestamp":"2026-01-01T00:00:00Z","Message":"{}"'


class Door(NamedTuple):
    """A way of a text of others into Python.

    Attributes:
        read: reads the text.
        members: of the object that the text is, next to the deep one; one that `read` accepts.
        levels: that the text may have.
        refusal: what the answer has if it has more.
        beyond: what the answer has if it has so many that it has too many values; None: `refusal`.
    """

    read: Callable[[str], object]
    members: str = '"id":1'
    levels: int = MAX_LEVELS
    refusal: str = "nested too deeply"
    beyond: str | None = "has more than"


def _rejects(text: str) -> object:
    return [reject.reason for reject in parse_body(text, "id").rejects]


def _problems(text: str) -> object:
    return sniff_json(text.encode(), whole=True).problems


def _names(text: str) -> object:
    return Json().look(text.encode(), True, _TABLE).names or "no names"


_DOORS: Mapping[str, Door] = {
    "a document": Door(foreign_json),
    "a row": Door(foreign_row),
    "the body of an event": Door(open_body, f'"Records":[{_EVENT}]'),
    "a message of events": Door(_rejects, f'"Records":[{_EVENT}]'),
    "an envelope": Door(
        lambda text: unwrap_publication(text)[1] or "no envelope", _ENVELOPE, refusal="no envelope", beyond=None
    ),
    "a body that is divided": Door(split_in_halves, f'"Records":[{_EVENT},{_EVENT}]'),
    "a row message": Door(lambda text: row_of(text, RowOrigin("id", 1_767_225_600_000))),
    "a kept row": Door(lambda text: parsed_object(text) or "no object", refusal="no object", beyond=None),
    "the manifest of a dataset": Door(lambda text: named_parts(text.encode(), "landing", "t/"), _DATASET),
    "the manifest of an inventory": Door(
        lambda text: Inventory.from_manifest(text.encode(), _URI), _INVENTORY + _DATASET
    ),
    "a message that is sent again": Door(
        lambda text: message_from_body(text) != text or "as it was",
        f'"s3":{json.dumps(json.loads(_EVENT)["s3"])}',
        refusal="as it was",
        beyond=None,
    ),
    "a commit of another lake": Door(
        lambda text: [*_owners(text.encode())] or "no owner",
        '"metaData":{"configuration":{"tidegate.lake":"l"}}',
        refusal="no owner",
        beyond=None,
    ),
    "the schema of an Avro file": Door(
        lambda text: schema_of_file(_avro(text)).columns()[0].name,
        '"type":"record","name":"r","fields":[{"name":"a","type":"long"}]',
        refusal="no schema",
        beyond=None,
    ),
    "the schema in a footer": Door(
        lambda text: read_stated_columns({b"avro.schema": text.encode()}) or "nothing stated",
        '"type":"record","name":"r","fields":[{"name":"a","type":"long","doc":"d"}]',
        refusal="nothing stated",
        beyond=None,
    ),
    "the first object of a file": Door(_names, refusal="no names", beyond=None),
    "a file to infer from": Door(_problems, levels=_COLUMN + 1, refusal="nested deeper than 30 levels", beyond=None),
    "an array that a route unwraps": Door(
        lambda text: [*unwrap_arrays._lines(text.encode(), 64 << 20, packed=False)], levels=_UNWRAPPED, beyond=None
    ),
    "a lake": Door(
        lambda text: read_yaml(text).problems, levels=_YAML, refusal="nested deeper than 100 levels", beyond=None
    ),
}  # fmt: skip
_NESTINGS = {
    "arrays": ("[", "]"),
    "objects": ('{"a": ', "}"),
    "both": ('[0, {"]": ', "}, 1]"),
}
_LEVELS = sorted(
    {29, 30, 31, 32, 10_000, *(bound + more for bound in (_YAML, MAX_LEVELS) for more in (-1, 0, 1)), 1_000_000}
)


def _text(door: Door, nesting: str, levels: int) -> str:
    """Return an object of so many levels, itself among them."""
    opening, closing = _NESTINGS[nesting]
    each = sum(map(opening.count, "[{"))
    times, one_more = divmod(levels - 1, each)
    return f'{{{door.members}, "x": {"[" * one_more}{opening * times}1{closing * times}{"]" * one_more}}}'


def _answer(door: Door, text: str) -> str:
    """Return what a person reads, or what the code has then."""
    try:
        return str(door.read(text))[:2_000]
    except RecursionError:
        raise AssertionError("the stack of Python counted") from None
    except Exception as error:
        return str(error)


def _after(frames: int, work: Callable[[], str]) -> str:
    return work() if not frames else _after(frames - 1, work)


@pytest.mark.parametrize("nesting", _NESTINGS)
@pytest.mark.parametrize("name", _DOORS)
def test_the_answer_depends_on_the_levels_alone(name: str, nesting: str) -> None:
    door = _DOORS[name]
    for levels in _LEVELS:
        text = _text(door, nesting, levels)
        answer = _answer(door, text)
        if levels <= door.levels:
            assert door.refusal not in answer, (levels, answer)
            assert not (door.beyond and door.beyond in answer), (levels, answer)
        elif levels < 1_000_000:
            assert door.refusal in answer, (levels, answer)
        else:
            assert (door.beyond or door.refusal) in answer, (levels, answer)
        if levels < 1_000_000:
            assert _after(300, lambda text=text: _answer(door, text)) == answer, "it depends on the stack that is left"


@pytest.mark.parametrize("opening", [opening for opening, _ in _NESTINGS.values()])
@pytest.mark.parametrize("name", _DOORS)
def test_brackets_that_nothing_closes_end_in_an_answer(name: str, opening: str) -> None:
    door = _DOORS[name]
    for levels in (10_000, 1_000_000):
        for text in (opening * levels, _text(door, "arrays", 2)[:-2] + opening * levels):
            assert _answer(door, text)


@pytest.mark.parametrize("levels", [29, 31, 5_001])
def test_types_of_avro_are_counted_where_names_make_them_deep(levels: int) -> None:
    """A record that a name stands for takes no level of the text. Records and arrays alternate."""
    kinds = [_record("r0", "long")]
    kinds += [_record(f"r{n}", {"type": "array", "items": f"r{n - 1}"}) for n in range(1, levels // 2 + 1)]
    fields = [{"name": f"c{n}", "type": kind} for n, kind in enumerate(kinds)]
    schema = AvroSchema({"type": "record", "name": "r", "fields": [{"name": "x", "type": kinds[-1]}, *fields]})
    if levels <= _COLUMN:
        assert deepest(schema.columns()[0].type) == levels
    else:
        with pytest.raises(
            ValueError, match=r"column x\.a.* is nested deeper than 30 levels; write deeper parts as text"
        ):
            schema.columns()


def _record(name: str, kind: object) -> dict[str, object]:
    return {"type": "record", "name": name, "fields": [{"name": "a", "type": kind}]}


@pytest.mark.parametrize("levels", [29, 31, 999, 10_000, 1_000_000])
def test_rows_of_spark_are_read_however_deep(levels: int) -> None:
    assert row_json(f'{{"v":{"[" * levels}{"]" * levels}}}')["v"]
