"""`tidegate redrive --route`: what it prints, and what it moves."""

from __future__ import annotations

import io
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from tests.support.lakes.objects import Objects
from tidegate.platform.cli.answers.plans import RedriveAnswer, RedriveEntry
from tidegate.platform.cli.commands import redrive
from tidegate.platform.cli.commands.redrive import Kind, run_redrive
from tidegate.platform.cli.errors import CommandError
from tidegate.platform.cli.main import app
from tidegate.platform.core.bronze.birth import Birth
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.forwarding.outbox_message import OutboxName, Outgoing
from tidegate.platform.lake.lake_root.outbox import Lane, OutboxObject
from tidegate.platform.lake.lake_root.store import LakeStore
from tidegate.platform.operations.redrive import Choice


@pytest.fixture
def lake(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a lake with a message that the queue of a route does not take."""
    config = LakeConfig.model_validate(
        {
            "lake": {"root": "s3://lake/root"},
            "queues": [{"name": "events"}],
            "buckets": ["landing"],
            "routes": [{"name": "search", "queue": {"name": "search"}}],
        }
    )
    made = SimpleNamespace(config=config, store=LakeStore(Objects(), config.lake.root), quarantining_tables=list)  # type: ignore[arg-type]
    refused = Outgoing("m1", "orders", "g", 1, "{}")
    made.store.outbox.keep_undeliverable(
        OutboxObject(Lane("search"), OutboxName.from_messages([refused])), [(refused, "too large")]
    )
    using = SimpleNamespace(
        open_lake=lambda: nullcontext(made),
        settings=SimpleNamespace(aws=SimpleNamespace(caller=lambda: "arn:aws:iam::1:role/r")),
    )
    monkeypatch.setattr(redrive, "client", lambda *_: using)
    return made


def said(kind: Kind, name: str | None, *, yes: bool, as_json: bool = False) -> str:
    console = Console(file=io.StringIO(), width=200, no_color=True)
    run_redrive(console, kind, name, Choice(), None, None, rate=500, yes=yes, as_json=as_json)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_a_redrive_of_everything_names_the_routes_with_undeliverable_messages(lake: Any) -> None:
    text = said(Kind.OBJECTS, None, yes=True)
    assert "route search: 1 messages are undeliverable: tidegate redrive --route search" in text
    assert lake.store.outbox.lanes() == []


def test_a_route_is_redriven_only_with_yes(lake: Any) -> None:
    text = said(Kind.ROUTE, "search", yes=False)
    assert "route search: 1 undeliverable" in text
    assert "too large" in text
    assert "Nothing was changed" in text
    assert lake.store.outbox.lanes() == []
    assert "logged as s3://lake/root/operations/" in said(Kind.ROUTE, "search", yes=True)
    assert lake.store.outbox.lanes() == [Lane("search")]
    assert "nothing in quarantine matches" in said(Kind.ROUTE, "search", yes=True)


def test_what_would_be_retried_is_printed_for_programs(lake: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(kind: Kind, name: str | None) -> RedriveAnswer:
        return RedriveAnswer.model_validate_json(said(kind, name, yes=False, as_json=True), strict=True)

    assert answer(Kind.ROUTE, "search").entries == (
        RedriveEntry(of="search", key="m1", reason="too large", partly=False, refused=False),
    )
    assert answer(Kind.OBJECTS, None).undeliverable == {"search": 1}
    long = "x" * 300
    files = [SimpleNamespace(key=f"{n}", reason_and_folder=long, partly=n > 20) for n in range(1, 31)]
    monkeypatch.setattr(redrive, "table_named", lambda *_: "clicks")
    monkeypatch.setattr(redrive, "quarantined_objects", lambda *_: files)
    lake.table = lambda _: SimpleNamespace(birth=None, spec=SimpleNamespace(output="an output"))
    entries = answer(Kind.OBJECTS, "clicks").entries
    assert [(entry.of, entry.key, entry.reason) for entry in entries] == [
        ("clicks", f"{n}", long) for n in range(1, 31)
    ]
    assert [entry.refused for entry in entries] == [n > 20 for n in range(1, 31)]
    assert lake.store.outbox.lanes() == []

    dead = SimpleNamespace(name="events-dlq", depths=lambda: SimpleNamespace(waiting=0))
    letters = SimpleNamespace(queue=dead, source=SimpleNamespace(name="events"))
    lake.queues = []
    monkeypatch.setattr(redrive, "dead_letter_queues", lambda *_: [letters])
    assert answer(Kind.DEAD_LETTERS, None).dead_letters == {"events-dlq": 0}


def test_a_route_that_lake_yaml_does_not_have_is_refused(lake: Any) -> None:
    with pytest.raises(CommandError, match="no route 'x'; its routes: search"):
        said(Kind.ROUTE, "x", yes=True)
    with pytest.raises(CommandError, match="--messages, --dlq and --route exclude each other"):
        app(["redrive", "--route", "search", "--dlq"], standalone_mode=False)


@pytest.mark.parametrize(
    ("output", "text"), [(None, "their rows in the table are replaced"), ("an output", "a redrive refuses them")]
)
def test_what_a_redrive_does_with_files_that_have_good_rows_is_stated(
    output: str | None, text: str, lake: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    partly = SimpleNamespace(key="a.json", reason_and_folder="1 of its 2 rows do not fit", partly=True)
    lake.table = lambda _: SimpleNamespace(birth=None, spec=SimpleNamespace(output=output))
    monkeypatch.setattr(redrive, "table_named", lambda *_: "clicks")
    monkeypatch.setattr(redrive, "quarantined_objects", lambda *_: [partly])
    found = said(Kind.OBJECTS, "clicks", yes=False)
    assert found.startswith("clicks: 1 partly in quarantine: ")
    assert text in found


@pytest.mark.parametrize("adopted", [True, False])
def test_what_a_redrive_without_a_key_leaves_of_an_adopted_table_is_stated(
    adopted: bool, lake: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    birth = Birth("g", "s3a://landing/orders", "orders", registered=True, adopted=adopted)
    lake.table = lambda _: SimpleNamespace(birth=birth, spec=SimpleNamespace(output=None))
    monkeypatch.setattr(redrive, "table_named", lambda *_: "orders")
    monkeypatch.setattr(redrive, "quarantined_objects", lambda *_: [])
    assert (
        "what its log did not name then is chosen by --key only" in said(Kind.OBJECTS, "orders", yes=True)
    ) is adopted
