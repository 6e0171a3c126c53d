"""The columns of a clustered table are read as Delta shows them, and written as Spark takes them."""

from __future__ import annotations

from typing import Any

import pytest

from tidegate.platform.lake.spark import cluster_columns

WHERE = "s3a://lake/bronze/t"


@pytest.mark.parametrize(
    ("shown", "name"),
    [("id", "id"), ("`a b`", "a b"), ("`a.b`", "a.b"), ("s.`x y`.`a``b`", "s.x y.a`b"), ("größe", "größe")],
)
def test_quoted_names_are_read_as_they_are(monkeypatch: pytest.MonkeyPatch, shown: str, name: str) -> None:
    monkeypatch.setattr(cluster_columns, "command", lambda *_: [{"clusteringColumns": [shown]}])
    state: Any = type("State", (), {"features": ("clustering",)})
    assert cluster_columns.cluster_columns(None, WHERE, state) == (name,)  # type: ignore[arg-type]
    state.features = ()
    assert cluster_columns.cluster_columns(None, WHERE, state) == ()  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("paths", "by"), [([("a b",), ("s", "x`y")], "(`a b`, `s`.`x``y`)"), ([], "NONE"), ([("a.b",)], "(`a.b`)")]
)
def test_a_table_is_clustered_by_quoted_names(
    monkeypatch: pytest.MonkeyPatch, paths: list[tuple[str, ...]], by: str
) -> None:
    done: list[str] = []
    monkeypatch.setattr(cluster_columns, "command", lambda _, text: done.append(text))
    cluster_columns.cluster_table(None, WHERE, paths)  # type: ignore[arg-type]
    assert done == [f"ALTER TABLE delta.`{WHERE}` CLUSTER BY {by}"]
