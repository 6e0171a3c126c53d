"""What a newer version wrote is refused by name, at each place, and nothing of it is passed over."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from copy import deepcopy
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.support.lakes import samples
from tidegate.platform.core.bronze.batch import Batch
from tidegate.platform.core.bronze.manifest import Manifest
from tidegate.platform.core.forgetting.request import ForgetRequest
from tidegate.platform.core.forwarding.outbox_message import Outgoing
from tidegate.platform.core.silver.export_manifest import ExportMark
from tidegate.platform.core.stored_members import NewerVersionError
from tidegate.platform.lake.lake_root.batches import _retirement
from tidegate.platform.lake.lake_root.births import _from_json
from tidegate.platform.lake.lake_root.quarantine import _parse_kept_message

WHERE = "s3://lake/root/x"
#: Members whose own members are data, not names that a version gives.
DATA = {"partition_values", "properties", "attributes", "columns", "schema", "base", "bounds", "metadata"}
READERS: dict[str, Callable[[str], Any]] = {
    "batches": lambda text: Batch.from_json(text, WHERE),
    "manifests": lambda text: Manifest.from_json(text, WHERE),
    "births": _from_json,
    "forgotten": lambda text: ForgetRequest.from_json(text, WHERE),
    "messages": lambda text: _parse_kept_message(WHERE, text.encode(), datetime.now(UTC)),
}
#: Of these, samples have no files.
OTHERS: dict[str, tuple[Callable[[str], Any], str]] = {
    "outgoing": (Outgoing.from_json, Outgoing("m", "orders", "s3://landing/", 1, "{}", "queue").to_json()),
    "mark": (
        lambda text: ExportMark.from_json(text, WHERE),
        ExportMark(**{name: 1 for name in ExportMark.__dataclass_fields__}).to_json(),  # type: ignore[arg-type]
    ),
    "retirement": (
        lambda text: _retirement(b'{"retired":%s}' % text.encode()),
        json.dumps({"generation": "g", "by": "eva", "at": "2026-11-30T00:00:00+00:00"}),
    ),
}
EVERY = {
    f"{kind}/{name}": (reader, samples.read(kind, name))
    for kind, reader in READERS.items()
    for name in samples.names(kind)
} | OTHERS


def newer(body: Any) -> Iterator[Any]:
    """Yield the body with a further member in each of its objects."""
    for path in _objects(body):
        changed = deepcopy(body)
        place = changed
        for step in path:
            place = place[step]
        place["later"] = 1
        yield changed


def _objects(body: Any) -> Iterator[tuple[Any, ...]]:
    if isinstance(body, dict):
        yield ()
        inner = [(name, value) for name, value in body.items() if name not in DATA]
    else:
        inner = list(enumerate(body)) if isinstance(body, list) else []
    for step, value in inner:
        yield from ((step, *path) for path in _objects(value))


@pytest.mark.parametrize("name", EVERY)
def test_a_member_of_a_newer_version_is_refused_wherever_it_is(name: str) -> None:
    reader, text = EVERY[name]
    reader(text)
    bodies = list(newer(json.loads(text)))
    assert bodies
    for body in bodies:
        with pytest.raises(NewerVersionError, match=r"has no member 'later': a newer Tidegate wrote this"):
            reader(json.dumps(body))


@pytest.mark.parametrize("kind", ["batches", "manifests", "forgotten"])
def test_a_newer_format_is_refused_with_the_address(kind: str) -> None:
    for name in samples.names(kind):
        with pytest.raises(NewerVersionError, match=f"^{WHERE}: its format is 2, not 1: a newer Tidegate"):
            READERS[kind](json.dumps({**samples.body(kind, name), "format": 2}))
