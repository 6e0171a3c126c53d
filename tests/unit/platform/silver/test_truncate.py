"""Truncates: which of them a table knows after a merge, and what a history with truncates refuses."""

from __future__ import annotations

import re
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.platform.core.config.silver_columns import ORDER
from tidegate.platform.core.schema.column_types import Field, Simple, Struct
from tidegate.platform.core.silver.merge_mode import MergeMode
from tidegate.platform.silver.truncate import Truncate, record_truncate, record_truncates


def _recorded(recorded: str, found: list[str]) -> tuple[str, ...]:
    """Call `record_truncates` for a rebuild from a batch. There is no server, so nothing can be written."""
    properties = {"tidegate.silver_truncates": recorded, "tidegate.silver_truncates_before": "[]"}
    table = SimpleNamespace(spec=SimpleNamespace(name="items"))
    work: Any = SimpleNamespace(silver=SimpleNamespace(properties=properties), table=table)
    delta: Any = None
    return record_truncates(delta, work, MergeMode.SINCE, found)


@pytest.mark.parametrize(("recorded", "found"), [("[]", ['{"o1":5}']), ('["{}"]', [])], ids=["new", "recorded"])
def test_a_history_with_truncates_is_not_rebuilt_from_a_batch(recorded: str, found: list[str]) -> None:
    with pytest.raises(
        ValueError, match=r"silver\.items: a truncate ends rows of every key, so a history .* as a whole"
    ):
        _recorded(recorded, found)
    assert _recorded("[]", []) == ()


OLD, MIDDLE, NEW = (f'{{"o1":{at}}}' for at in (3, 5, 7))
NAME = "tidegate.silver_truncated"
RULES: Any = SimpleNamespace(truncated="op = 't'", columns=[Field(ORDER, Struct((Field("o1", Simple("int")),)))])


class Session:
    """Keeps the commands that change properties, and compares orders."""

    def __init__(self) -> None:
        self.commands: list[str] = []

    def sql(self, text: str) -> Any:
        """Take a command, or compare the two orders of a query."""
        if text.startswith("ALTER"):
            self.commands.append(text.partition("`s3a://b/silver` ")[2])
            return SimpleNamespace(collect=list)
        first, second = (int(at) for at in re.findall(r'"o1":(\d+)', text))
        return SimpleNamespace(collect=lambda: [[first < second]])


def _newest(
    mode: MergeMode, found: str | None, known: str | None = None, before: str | None = None, of: str | None = None
) -> tuple[Truncate | None, str]:
    """Return the newest truncate after a merge, and the command that recorded it."""
    given = {NAME: known, f"{NAME}_before": before, f"{NAME}_before_of": of}
    properties = {name: text for name, text in given.items() if text is not None}
    silver, table = SimpleNamespace(properties=properties), SimpleNamespace(spec=SimpleNamespace(name="items"))
    work: Any = SimpleNamespace(silver=silver, location="s3a://b/silver", table=table, app_id="second")
    session = Session()
    lake: Any = SimpleNamespace(delta=SimpleNamespace(session=session))
    return record_truncate(lake.delta, work, RULES, mode, found), "; ".join(session.commands)


def _set(**texts: str) -> str:
    return "SET TBLPROPERTIES (" + ", ".join(f"'{NAME}{end}' = '{text}'" for end, text in texts.items()) + ")"


FORGOTTEN = f"UNSET TBLPROPERTIES ('{NAME}')"


@pytest.mark.parametrize(
    ("mode", "found", "known", "before", "newest", "recorded"),
    [
        (MergeMode.UPSERT, None, None, None, None, ""),
        (MergeMode.UPSERT, NEW, None, None, Truncate(NEW, is_due=True), _set(**{"": NEW})),
        (MergeMode.UPSERT, None, NEW, None, Truncate(NEW, is_due=False), ""),
        (MergeMode.UPSERT, MIDDLE, NEW, OLD, Truncate(NEW, is_due=True), ""),
        (MergeMode.UPSERT, NEW, NEW, None, Truncate(NEW, is_due=True), ""),
        (MergeMode.AFTER_RESET, OLD, NEW, None, Truncate(NEW, is_due=True), _set(_before=NEW, _before_of="second")),
        (MergeMode.REREAD, None, NEW, None, None, FORGOTTEN),
        (MergeMode.REREAD, None, NEW, OLD, Truncate(OLD, is_due=False), _set(**{"": OLD})),
        (MergeMode.REREAD, MIDDLE, NEW, OLD, Truncate(MIDDLE, is_due=True), _set(**{"": MIDDLE})),
        (MergeMode.FULL, None, NEW, NEW, None, f"UNSET TBLPROPERTIES ('{NAME}', '{NAME}_before')"),
        (MergeMode.FULL, OLD, NEW, None, Truncate(OLD, is_due=True), _set(**{"": OLD})),
        (MergeMode.SINCE, NEW, NEW, None, Truncate(NEW, is_due=True), ""),
        (MergeMode.SINCE, None, NEW, NEW, Truncate(NEW, is_due=False), ""),
    ],
)
def test_a_truncate_is_forgotten_when_bronze_is_merged_again_without_it(
    mode: MergeMode, found: str | None, known: str | None, before: str | None, newest: Truncate | None, recorded: str
) -> None:
    assert _newest(mode, found, known, before) == (newest, recorded)


class Altered:
    """A silver table of which a merge only changes the properties."""

    def __init__(self, properties: dict[str, str]) -> None:
        self.properties = dict(properties)

    def sql(self, text: str) -> Any:
        """Change the properties as a command says, or compare the two orders of a query."""
        if not text.startswith("ALTER"):
            return Session().sql(text)
        names = re.findall(r"'(tidegate\.[a-z_]+)'(?: = '([^']*)')?", text.replace("\\\\", "\\"))
        for name, value in names:
            if "UNSET" in text:
                self.properties.pop(name, None)
            else:
                self.properties[name] = value
        return SimpleNamespace(collect=list)

    def record(self, app_id: str, mode: MergeMode, found: Sequence[str], *, is_history: bool) -> tuple[str, ...]:
        """Record the truncates of a merge. Returns those that the table then has."""
        table = SimpleNamespace(spec=SimpleNamespace(name="items"))
        work: Any = SimpleNamespace(
            silver=SimpleNamespace(properties=dict(self.properties)),
            location="s3a://b/silver",
            table=table,
            app_id=app_id,
        )
        delta: Any = SimpleNamespace(session=self)
        if is_history:
            return record_truncates(delta, work, mode, found)
        newest = record_truncate(delta, work, RULES, mode, max(found, default=None))
        return () if newest is None else (newest.order,)


@pytest.mark.parametrize("is_history", [False, True], ids=["newest", "all"])
@given(
    merges=st.lists(
        st.tuples(
            st.sampled_from([MergeMode.UPSERT, MergeMode.AFTER_RESET, MergeMode.REREAD, MergeMode.FULL]),
            st.sets(st.sampled_from([OLD, MIDDLE, NEW]), max_size=2),
            st.integers(0, 2),
        ),
        max_size=7,
    )
)
def test_a_merge_that_died_after_it_recorded_truncates_is_repeated_without_a_trace(
    merges: list[tuple[MergeMode, set[str], int]], is_history: bool
) -> None:
    """Each reset begins another application id. Whether a merge dies and is repeated changes no later merge."""
    once, again = Altered({}), Altered({})
    app = 0
    for mode, found, deaths in merges:
        app += mode is MergeMode.AFTER_RESET
        have = [
            [table.record(f"app{app}", mode, sorted(found), is_history=is_history) for _ in range(times + 1)][-1]
            for table, times in ((once, 0), (again, deaths))
        ]
        assert have[0] == have[1]
        assert once.properties == again.properties


def test_a_table_whose_truncate_left_bronze_is_not_rebuilt_from_a_batch() -> None:
    with pytest.raises(ValueError, match=r"silver\.items: bronze does not have the newest truncate any more"):
        _newest(MergeMode.SINCE, OLD, NEW)
