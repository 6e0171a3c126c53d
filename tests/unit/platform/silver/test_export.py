"""Where an export writes, and whether it is behind, without Spark."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.errors import PySparkException

from tests.support.lakes.objects import Objects as InMemory
from tests.support.lakes.seams import dying_in
from tests.unit.conftest import Paper
from tidegate.platform.core.config.silver import SilverSpec
from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.core.schema.column_types import Field
from tidegate.platform.core.schema.sql_types import simple_type
from tidegate.platform.core.schema.table_schema import TableSchema
from tidegate.platform.core.silver.export_manifest import ExportMark
from tidegate.platform.lake.lake_root.store import LakeStore
from tidegate.platform.lake.spark.results import TableState
from tidegate.platform.silver import export as module
from tidegate.platform.silver.export import export_changes, is_behind

SCHEMA = TableSchema((Field("id", simple_type("bigint")),))


class Exports:
    """The exports of the table `orders`, whose versions all have one change."""

    def __init__(self, spec: TableSpec) -> None:
        self.objects, self.version, self._spec = InMemory(), 1, spec
        self.store = LakeStore(self.objects, "s3://lake/root")  # type: ignore[arg-type]
        #: Versions whose changes Delta cannot read any more.
        self.gone: set[int] = set()
        upkeep = SimpleNamespace(has_changes=lambda _, version: version not in self.gone)
        delta = SimpleNamespace(table_state=lambda _: self._state, session=None, upkeep=upkeep)
        self.lake: Any = SimpleNamespace(store=self.store, delta=delta)

    @property
    def _state(self) -> TableState:
        return TableState(self.version, None, "id", {"delta.enableChangeDataFeed": "true"}, SCHEMA, 1)

    def spec(self, folder: str) -> TableSpec:
        """Return the table with an export to a folder."""
        options = {"keys": ["id"], "order": "at", "every": 10, "export": {"folder": f"s3://exports/{folder}/"}}
        return self._spec.model_copy(update={"silver": SilverSpec.model_validate(options)})

    def to(self, folder: str) -> int:
        """Export to a folder. Returns the number of manifests."""
        return export_changes(self.lake, self.spec(folder)).manifests

    def dying_at(self, seam: str, folder: str) -> None:
        """Export to a folder, and die at a seam."""
        with dying_in(module, seam):
            self.to(folder)

    @property
    def manifests(self) -> list[tuple[str, int]]:
        """Folder and version of each manifest."""
        found = self.objects.list_under("exports", "")
        return [
            (item.key.split("/")[0], json.loads(self.objects.get("exports", item.key) or "")["version"])
            for item in found
            if "/manifests/" in item.key
        ]


@pytest.fixture
def exports(paper: Paper, monkeypatch: pytest.MonkeyPatch) -> Exports:
    @contextmanager
    def configured(*_: Any) -> Iterator[None]:
        yield

    monkeypatch.setattr(module, "override_settings", configured)
    monkeypatch.setattr(module._Version, "_write", lambda *_: {"insert": 1})
    return Exports(paper.config.tables[0])


def test_a_version_that_a_run_exported_before_it_died_is_not_exported_to_another_folder(exports: Exports) -> None:
    exports.dying_at("export-manifest", "one")
    assert exports.to("two") == 1
    assert exports.manifests == [("one", 1)]
    exports.version = 2
    assert exports.to("two") == 1
    assert exports.manifests == [("one", 1), ("two", 2)]


def test_the_folder_may_change_again_after_each_death(exports: Exports) -> None:
    exports.to("one")
    exports.version = 2
    exports.dying_at("export-write", "two")
    exports.dying_at("export-manifest", "three")
    exports.to("four")
    assert exports.manifests == [("one", 1), ("three", 2)]


def test_a_mark_without_a_folder_is_continued(exports: Exports) -> None:
    exports.objects.put("lake", "root/exports/orders/id.json", '{"start": 1, "done": 1, "last": 1}')
    exports.version = 2
    assert exports.to("two") == 1
    assert exports.store.export_marks.get("orders", "id") == ExportMark(1, 2, 2, "s3://exports/two/")


def test_an_export_is_behind_until_its_mark_is_that_of_the_last_version(exports: Exports, paper: Paper) -> None:
    spec = exports.spec("one")
    assert is_behind(exports.lake.delta, exports.lake.store, spec)
    exports.dying_at("export-manifest", "one")
    assert is_behind(exports.lake.delta, exports.lake.store, spec)
    exports.to("one")
    assert not is_behind(exports.lake.delta, exports.lake.store, spec)
    exports.version = 2
    assert is_behind(exports.lake.delta, exports.lake.store, spec)
    assert not is_behind(exports.lake.delta, exports.lake.store, paper.config.tables[0]), "it has no `export`"
    exports.objects.put("lake", "root/exports/orders/id.json", "damaged")
    assert is_behind(exports.lake.delta, exports.lake.store, spec), "a run says what is wrong"


@pytest.mark.parametrize("left", [{"insert": 3}, {}], ids=["rows", "nothing is left"])
@pytest.mark.parametrize("error", ["DELTA_MISSING_CHANGE_DATA", "FAILED_READ_FILE.FILE_NOT_EXIST", "TASK_WRITE_FAILED"])
def test_all_rows_are_exported_again_if_changes_are_not_known_any_more(
    exports: Exports, monkeypatch: pytest.MonkeyPatch, left: dict[str, int], error: str
) -> None:
    """The feed was off for two versions, or files are gone. A run that dies begins with the same version again."""
    exports.to("one")
    exports.version = 2
    exports.to("one")
    exports.version = 5

    exports.gone = {3, 4}

    def write(version: Any, _: str) -> dict[str, int]:
        if not version.is_snapshot and version.version in exports.gone:
            raise PySparkException("a task failed", errorClass=error)
        return left if version.is_snapshot else {"insert": 1}

    monkeypatch.setattr(module._Version, "_write", write)
    exports.dying_at("export-write", "one")
    exports.version = 6
    assert exports.to("one") == 2
    assert [version for _, version in exports.manifests] == [1, 2, 5, 6]
    place = next(item.key for item in exports.objects.list_under("exports", "") if item.key.endswith("05.json"))
    again = json.loads(exports.objects.get("exports", place) or "")
    assert (again["snapshot"], again["previous"], again["rows"]) == (True, 2, left)
    assert not is_behind(exports.lake.delta, exports.lake.store, exports.spec("one"))


@pytest.mark.parametrize("error", ["DELTA_VERSION_NOT_FOUND", "FAILED_READ_FILE.FILE_NOT_EXIST", "TASK_WRITE_FAILED"])
def test_a_failure_of_an_export_whose_changes_are_there_loses_none(
    exports: Exports, monkeypatch: pytest.MonkeyPatch, error: str
) -> None:
    """Whatever the error is called: the folder of the export may be denied, for example."""
    exports.to("one")
    exports.version = 3
    with monkeypatch.context() as patched:

        def write(*_: Any) -> dict[str, int]:
            raise PySparkException("denied", errorClass=error)

        patched.setattr(module._Version, "_write", write)
        with pytest.raises(PySparkException, match="denied"):
            exports.to("one")
    assert exports.to("one") == 2
    assert [version for _, version in exports.manifests] == [1, 2, 3]


def test_a_first_export_whose_version_cannot_be_read_any_more_is_that_of_the_present_version(
    exports: Exports, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of its rows come anyway, so nobody asks which of its files are gone."""
    exports.dying_at("export-write", "one")
    exports.version = 4

    def write(version: Any, _: str) -> dict[str, int]:
        if version.version < exports.version:
            raise PySparkException("a task failed", errorClass="TASK_WRITE_FAILED")
        return {"insert": 2}

    monkeypatch.setattr(module._Version, "_write", write)
    assert exports.to("one") == 1
    assert exports.manifests == [("one", 4)]
    exports.version = 5
    exports.gone = {5}

    def never(*_: Any) -> dict[str, int]:
        raise PySparkException("denied", errorClass="TASK_WRITE_FAILED")

    monkeypatch.setattr(module._Version, "_write", never)
    with pytest.raises(PySparkException, match="denied"):
        exports.to("one")
