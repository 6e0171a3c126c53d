"""Requests that are refused, and requests that must wait for their tables."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tidegate.assets.forgetting.forget import ForgetRefused, ask, look_for, work_off
from tidegate.platform.core.forgetting.request import ForgetRequest


@pytest.mark.parametrize("subject", ["", " 42", "42 ", "\t"])
def test_a_text_that_is_no_identity_is_refused_before_anything_is_read(subject: str) -> None:
    lake = cast(Any, None)
    with pytest.raises(ForgetRefused, match="an identity is empty, or begins or ends with a space"):
        ask(lake, "person", ["41", subject], "eva")
    with pytest.raises(ForgetRefused, match="an identity is empty"):
        look_for(lake, "person", [subject])


def test_a_request_is_not_done_while_lake_yaml_lacks_a_table_that_had_rows_of_its_persons() -> None:
    now = datetime.now(UTC)
    request = ForgetRequest("r1", "eva", now, now + timedelta(days=30), "person", "check", ("digest",))
    nothing = {"table": "clicks", "bronze": 0, "silver": 0, "kept": 0}
    erased = {"at": now.isoformat(), "tables": [{**nothing, "table": "orders", "silver": 1}, nothing]}
    notes = {"found": None, "erased": erased, "done": None}
    forgotten = SimpleNamespace(requests=lambda: [request], note=lambda _, step: notes[step])
    other = SimpleNamespace(name="orders", subject_kind="client")
    lake: Any = SimpleNamespace(
        store=SimpleNamespace(forgotten=forgotten), config=SimpleNamespace(tables=[other]), delta=None
    )
    with pytest.raises(ForgetRefused, match=r"r1 found rows of its persons in orders, and lake.yaml no longer has it"):
        work_off(lake, "run")
