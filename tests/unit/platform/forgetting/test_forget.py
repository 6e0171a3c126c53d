"""Requests that are refused, and requests that must wait for their tables."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tidegate.platform.core.config.personal import PersonalSpec
from tidegate.platform.core.config.silver import SilverSpec
from tidegate.platform.core.errors import DataError
from tidegate.platform.core.forgetting.request import ForgetRequest
from tidegate.platform.core.schema.column_types import Field
from tidegate.platform.core.schema.sql_types import parse_sql_type
from tidegate.platform.forgetting.forget import ask, search_subjects, work_off
from tidegate.platform.lake.suppression import SubjectProblem


@pytest.mark.parametrize("subject", ["", " 42", "42 ", "\t"])
@pytest.mark.limit(
    "Personal data",
    "The identity of a person to forget is not empty, and begins and ends with no space.",
)
def test_a_text_that_is_not_an_identity_is_refused_before_anything_is_read(subject: str) -> None:
    lake = cast(Any, None)
    with pytest.raises(DataError, match="an identity is empty, or begins or ends with a space"):
        ask(lake, "person", ["41", subject], "eva")
    with pytest.raises(DataError, match="an identity is empty"):
        search_subjects(lake, "person", [subject])


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
    with pytest.raises(DataError, match=r"r1 found rows of its persons in orders, and lake.yaml no longer has it"):
        work_off(lake, "run")


@pytest.mark.parametrize("call", [search_subjects, partial(ask, by="eva")])
def test_a_table_whose_deletes_may_have_nothing_but_a_personal_key_is_refused_before_anything_is_written(
    call: Callable[..., Any],
) -> None:
    silver = SilverSpec.model_validate({"keys": ["mail"], "order": "at", "delete_when": "at = 0", "every": 9})
    personal = PersonalSpec(subject=("who",), columns=("mail",))
    spec = SimpleNamespace(name="orders", subject_kind="person", silver=silver, personal=personal, table_key="t")
    secret = SimpleNamespace(env="SECRET", file=None, place="the environment variable SECRET")
    fields = [Field(name, parse_sql_type(kind)) for name, kind in {"who": "int", "mail": "string", "at": "int"}.items()]
    birth = SimpleNamespace(location="s3a://lake/orders", registered=False)
    state = SimpleNamespace(schema=SimpleNamespace(fields=fields))
    lake: Any = SimpleNamespace(
        config=SimpleNamespace(tables=[spec], forget=SimpleNamespace(secret=secret)),
        environ={"SECRET": "a secret that only this test has"},
        store=SimpleNamespace(forgotten=SimpleNamespace(requests=list)),
        table=lambda _: SimpleNamespace(birth=birth),
        delta=SimpleNamespace(table_state=lambda _: state),
    )
    with pytest.raises(SubjectProblem, match=r"nothing but the key mail, .* list mail under `personal.subject`, too"):
        call(lake, "person", ["42"])
