"""Keys that are made of a file's key are bounded before the file is read: those of its rows, and that of its move."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tidegate.platform.bronze.prepare.load.load import Load
from tidegate.platform.core.config.after_load import MoveOrTag
from tidegate.platform.core.keys.table_key import TableKey

MOVE = MoveOrTag.model_validate({"move": "s3://landing/done/"})


@pytest.mark.parametrize(
    ("key", "values", "after_load", "reason"),
    [
        ("t/1.json", {"p": "x" * 880}, "keep", None),
        ("t/1.json", {"p": "x" * 940}, "keep", "the file of its rows would have a key of"),
        ("t/1.json", {"p": ":" * 315}, "keep", "the file of its rows would have a key of"),
        ("t/" + "k" * 980, {}, "keep", None),
        ("t/" + "k" * 980, {}, MOVE, None),
        ("t/" + "k" * 990, {}, MOVE, "its copy by `after_load` would have a key of"),
    ],
)
def test_a_key_that_s3_would_refuse_is_found_before_the_read(
    key: str, values: dict[str, str], after_load: Any, reason: str | None
) -> None:
    work = SimpleNamespace(birth=SimpleNamespace(location="s3a://lake/bronze/t"))
    spec, table = SimpleNamespace(after_load=after_load), TableKey("landing", "t/")
    file = SimpleNamespace(candidate=SimpleNamespace(key=key, found=SimpleNamespace(etag="e" * 32)))
    load: Any = SimpleNamespace(work=work, spec=spec, key=table, _path_values=lambda _: values)
    found = Load._key_length_problem(load, file)  # type: ignore[arg-type]
    assert found is None if reason is None else (found or "").startswith(reason)
