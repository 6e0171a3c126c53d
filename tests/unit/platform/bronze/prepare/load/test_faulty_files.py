"""A batch has one schema, whatever sets its files are read in, and a file that is refused has no say in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.errors import PySparkException

from tests.support.lakes.memory import memory_lake
from tests.support.lakes.objects import Objects
from tidegate.platform.bronze.look import _sort_manifests
from tidegate.platform.bronze.prepare.formats.format import Format, SourceFile
from tidegate.platform.bronze.prepare.formats.json_files import Json
from tidegate.platform.bronze.prepare.formats.parquet_files import Parquet
from tidegate.platform.bronze.prepare.load import load, load_columns
from tidegate.platform.core.bronze.batch import Add
from tidegate.platform.core.bronze.birth import Birth
from tidegate.platform.core.bronze.hint import Event, Hint
from tidegate.platform.core.bronze.object_state import S3Found
from tidegate.platform.core.bronze.plan import BatchDraft, Candidate, PlannedHint, make_plan
from tidegate.platform.core.schema.column_types import Field, Simple, Type
from tidegate.platform.core.schema.names import SOURCE_COLUMNS
from tidegate.platform.core.schema.table_schema import TableSchema
from tidegate.platform.core.schema.type_union import narrowest_columns
from tidegate.platform.lake.spark.server_errors import SparkUnreachable

ORDERS = "landing.orders"
LONG, DOUBLE, DATE, TEXT = (Simple(name) for name in ("long", "double", "date", "string"))


class _Failed(PySparkException):
    def __init__(self, condition: str) -> None:
        super().__init__(f"[{condition}] a part of it is broken")
        self._condition = condition

    def getCondition(self) -> str | None:  # noqa: N802
        return self._condition


@dataclass(frozen=True)
class _Content:
    """What is in a file of the fake bucket.

    Attributes:
        columns: types of its values.
        fate: `sound`, or why it does not enter: it is `poison` or loses the server (`deadly`), each for inference
            (`_asked`) or for the load (`_read`), has no good row (`hopeless`), was written again (`changed`), or has a
            column that Delta refuses (`refused`).
        torn: whether its lines are not its rows: read by lines, it shows text.
        declares: whether it is Parquet, which declares its columns.
    """

    columns: Mapping[str, Type]
    fate: str = "sound"
    torn: bool = False
    declares: bool = False


@dataclass
class _Server:
    """Answers for the Spark server. Of several files it sometimes cannot read all, though each is sound."""

    contents: Mapping[str, _Content]
    random: Random
    lost: bool = False

    def check_session_alive(self) -> None:
        if self.lost:
            raise SparkUnreachable("nobody answers")

    def refusal(self, location: str, schema: TableSchema) -> str | None:
        return "Delta wants no such column" if schema.find_column("refused") else None

    def infer_json(self, asked: Mapping[str, Any], known: TableSchema, max_levels: int) -> dict[str, Any]:
        shown = []
        for key, by_line in self._read(asked, "asked"):
            content = self.contents[key]
            columns = dict.fromkeys(content.columns, TEXT) if content.torn and by_line else content.columns
            shown.append([Field(name, kind) for name, kind in columns.items()])
        fields = [{"name": field.name, "type": field.type.name, "nullable": True} for field in narrowest_columns(shown)]  # type: ignore[union-attr]
        return {"fields": fields}

    def load(
        self, staging: str, reading: Mapping[str, Any], schema: TableSchema, bad_rows_folder: str
    ) -> tuple[list[Add], dict[str, dict[str, int]]]:
        counted = {}
        for key, by_line in self._read(reading, "read"):
            content = self.contents[key]
            unknown = int(any(schema.find_column(name) is None for name in content.columns))
            bad = content.fate == "hopeless"
            counts = {"good": 0 if bad else 3 - unknown, "bad": 3 if bad else unknown}
            counted[f"s3://landing/{key}"] = {
                **counts, "unknown": 0 if bad else unknown, "torn": int(content.torn and by_line)
            }  # fmt: skip
        keys = [key.removeprefix("s3://landing/") for key, counts in counted.items() if counts["good"]]
        rows = sum(counts["good"] for counts in counted.values())
        return [Add(",".join(keys), {}, 1, 1, f'{{"numRecords": {rows}}}')], counted

    def _read(self, request: Mapping[str, Any], how: str) -> list[tuple[str, bool]]:
        files = [
            (file["path"].removeprefix("s3a://landing/"), not group.get("whole"))
            for group in request["groups"]
            for file in group["files"]
        ]
        fates = {self.contents[key].fate for key, _ in files}
        if f"deadly_{how}" in fates:
            self.lost = True
            raise _Failed("CONNECTION")
        if f"poison_{how}" in fates:
            raise _Failed("TIDEGATE_FILE")
        if len(files) > 1 and self.random.random() < 0.2:
            raise _Failed("TASK_WRITE_FAILED")
        return files


def _contents(random: Random, fates: Sequence[str]) -> dict[str, _Content]:
    """Return files with some columns of some types. Each fate is that of one file."""
    count = random.randint(len(fates) + 1, len(fates) + 6)
    found = {}
    for number in range(count):
        fate = fates[number] if number < len(fates) else "sound"
        names = random.sample(["a", "b", "c", "d"], random.randint(1, 3))
        columns: dict[str, Type] = {name: random.choice([LONG, DOUBLE, DATE]) for name in names}
        if fate == "refused":
            columns["refused"] = LONG
        # What has no say would make columns, or make them text.
        if fate != "sound":
            columns |= {"phantom": LONG, random.choice("abcd"): TEXT}
        found[f"orders/{random.random():.6f}.json"] = _Content(columns, fate, random.random() < 0.1)
    return dict(sorted(found.items()))


class _Table:
    """The table in a lake in memory, and the runs of its batch until one is through."""

    def __init__(self, contents: Mapping[str, _Content], random: Random) -> None:
        self.contents = contents
        self.server = _Server(contents, random)
        objects: Any = Objects()
        objects.head_many = lambda _, keys: self._heads(keys)
        self.handle = memory_lake("orders", delta=self.server, objects=objects).table(ORDERS)

    def _heads(self, keys: Iterable[str]) -> dict[str, S3Found]:
        return {key: S3Found("new" if self.contents[key].fate == "changed" else "old", 1, 1) for key in keys}

    def run(self) -> load.Load:
        """Return the preparation that came to its end. Those before it lost the server, or read in vain."""
        for _ in range(200):
            self.server.lost = False
            loading = self._loading()
            files = [
                self._file(candidate)
                for candidate in loading._select_to_read(
                    loading.plan.candidates, SimpleNamespace(find=lambda *_: ())  # type: ignore[arg-type]
                )
            ]  # fmt: skip
            try:
                loading._read(files)
            except (SparkUnreachable, _Failed):
                continue  # Nothing was decided, and the next run begins again.
            return loading
        raise AssertionError("no run came to its end")

    def _file(self, candidate: Candidate) -> SourceFile:
        content = self.contents[candidate.key]
        format: Format = Parquet() if content.declares else Json()
        fields = tuple(Field(name, kind) for name, kind in content.columns.items()) if content.declares else None
        return SourceFile(candidate, format, f"s3a://landing/{candidate.key}", 1, fields=fields)

    def _loading(self) -> load.Load:
        inbox = self.handle.lake.store.inbox
        manifests = self.handle.inbox.read(
            [manifest.id for manifest in _sort_manifests(inbox.waiting_manifests(ORDERS))]
        )
        noted = [PlannedHint(hint, manifest.id) for manifest in manifests for hint in manifest.hints if hint.key]
        taken = [*noted, *(PlannedHint(Hint(key, Event(f"{key}#0")), "m") for key in self.contents)]
        plan = make_plan(taken, dict.fromkeys(self.contents, S3Found("old", 1, 1)), {}, registered=False)
        birth = Birth("g", "s3a://lake/root/bronze/orders", "orders", False)
        return load.Load(self.handle, BatchDraft(1, birth, None, (), plan, {}))


_FATES = ("poison_asked", "poison_read", "deadly_asked", "deadly_read", "hopeless", "changed", "refused")


@pytest.mark.seeds(20, 500)
@pytest.mark.parametrize("born", [False, True])
def test_columns_follow_from_the_files_that_enter_whatever_sets_they_are_read_in(
    seed: int, born: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = Random(f"{seed} {born}")
    fates = [fate for fate in _FATES if random.random() < 0.35]
    contents = _contents(random, fates)
    base = TableSchema((Field("a", LONG),), born=True) if born else None
    monkeypatch.setattr(load_columns, "present_schema", lambda *_: base)
    table = _Table(contents, random)
    loading = table.run()
    entering = {key: content for key, content in contents.items() if content.fate == "sound"}
    known = {"a": LONG} if born else {}
    shown = narrowest_columns(
        [Field(name, kind) for name, kind in content.columns.items()] for content in entering.values()
    )
    expected = {field.name: field.type for field in shown} | known
    columns = {column.name: column.type for column in loading.prepared.schema.without_columns(SOURCE_COLUMNS).columns}
    assert columns == expected, fates
    added = Counter(key for add in loading.prepared.adds for key in add.path.split(",") if key)
    assert added == Counter(entering.keys()), "each file that enters is staged once, with no other"
    ended = Counter(row.key for row in loading.prepared.rows) + Counter(
        {hint.key for hint in loading.prepared.deferred}
    )
    assert ended == Counter(dict.fromkeys(contents, 1))


@pytest.mark.parametrize("fate", ["poison_read", "changed"])
def test_a_file_that_leaves_refuses_no_other_by_what_it_declared_or_by_its_path(fate: str) -> None:
    contents = {
        "orders/day=1/a.parquet": _Content({"x": TEXT, "y": LONG}, fate, declares=True),
        "orders/b.parquet": _Content({"x": LONG}, declares=True),
        "orders/c.parquet": _Content({"x": DATE}, declares=True),
    }
    loading = _Table(contents, Random(0)).run()
    found = loading.prepared.schema.without_columns(SOURCE_COLUMNS)
    assert (found.columns, found.partitions) == ((Field("x", LONG),), ())
    assert [add.path for add in loading.prepared.adds] == ["orders/b.parquet"]
    ends = {row.key: row.reason for row in loading.prepared.rows}
    assert "column x is date, but the table's is bigint" in (ends["orders/c.parquet"] or "")
    assert len(ends) + len(loading.prepared.deferred) == 3
