"""Columns and types follow from all rows that enter, and from no other: rows of forgotten persons have no say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from random import Random
from typing import Any

import pytest

from tests.support.lakes.memory import memory_lake
from tidegate.platform.bronze.prepare.formats.csv_files import Csv
from tidegate.platform.bronze.prepare.formats.format import Format, SourceFile
from tidegate.platform.bronze.prepare.formats.json_files import Json
from tidegate.platform.bronze.prepare.load import load_columns
from tidegate.platform.bronze.prepare.load.load_columns import LoadColumns
from tidegate.platform.bronze.prepared_batch import PreparedBatch
from tidegate.platform.core.bronze.birth import Birth
from tidegate.platform.core.bronze.object_state import S3Found
from tidegate.platform.core.bronze.plan import BatchDraft, Candidate, Plan
from tidegate.platform.core.forgetting.request import SubjectKey
from tidegate.platform.core.schema.column_types import Field, Simple, Struct, Type
from tidegate.platform.core.schema.table_schema import TableSchema
from tidegate.platform.core.schema.type_union import common_type, narrowest_columns
from tidegate.platform.lake.suppression import Suppression

KEY = SubjectKey("a secret that only this test has", "person")
FORGOTTEN = ("eva", "42")
Row = Mapping[str, Any]


@dataclass
class _Server:
    """Answers for the Spark server: a row has a say unless it is a forgotten person's, or does not fit."""

    rows: Sequence[Row]
    forgotten: Suppression

    def infer_json(self, asked: Mapping[str, Any], known: TableSchema, max_levels: int) -> dict[str, Any]:
        taken = [row for row in self.rows if _fits(row, known.columns) and not self._is_left_out(row, known)]
        found = narrowest_columns([Field(name, _type(value)) for name, value in row.items()] for row in taken)
        return {"fields": [field.json() for field in found]}

    def _is_left_out(self, row: Row, known: TableSchema) -> bool:
        paths = self.forgotten.paths(known.columns)
        return any(self.forgotten.holds(str(_value(row, path))) for path in paths)

    def refusal(self, location: str, schema: TableSchema) -> None:
        return None


def _value(row: Any, path: Sequence[str]) -> Any:
    for name in path:
        row = row.get(name) if isinstance(row, dict) else None
    return row


def _fits(row: Row, columns: Sequence[Field]) -> bool:
    for column in columns:
        value = row.get(column.name)
        if isinstance(column.type, Struct) and value is not None:
            if not isinstance(value, dict) or not _fits(value, column.type.fields):
                return False
        elif column.type == Simple("long") and isinstance(value, str):
            return False
    return True


def _type(value: Any) -> Type:
    if isinstance(value, dict):
        return Struct(
            tuple(sorted((Field(name, _type(item)) for name, item in value.items()), key=lambda field: field.name))
        )
    return Simple("string" if isinstance(value, str) else "long")


def _columns(rows: Sequence[Row], subject: Sequence[str], monkeypatch: pytest.MonkeyPatch) -> tuple[Field, ...]:
    """Return the columns that a table gets at its birth."""
    digests = frozenset(map(KEY.digest, FORGOTTEN))
    forgotten = Suppression("orders", KEY, digests, tuple(subject))

    @contextmanager
    def suppressed(*_: Any) -> Iterator[dict[str, Any]]:
        yield {}

    monkeypatch.setattr(load_columns, "stage_suppressed", suppressed)
    columns, prepared = _load_columns(_Server(rows, forgotten), TableSchema.from_declared({}, {}), forgotten)
    found = Candidate("orders/a.json", S3Found("e", 1, 1), ())
    assert columns.learn([SourceFile(found, Json(), "s3a://landing/orders/a.json", 1)]) == []
    return prepared.schema.columns


def _load_columns(server: Any, schema: TableSchema, forgotten: Suppression | None) -> tuple[LoadColumns, PreparedBatch]:
    table = memory_lake("orders", delta=server).table("landing.orders")
    birth = Birth("g", "s3a://lake/root/bronze/orders", "orders", False)
    prepared = PreparedBatch(schema=schema)
    return LoadColumns(table, BatchDraft(1, birth, None, (), Plan(), {}), prepared, forgotten), prepared


@pytest.mark.parametrize("subject", [["who"], ["after.who"], ["who", "after.who", "x.y.who"]])
@pytest.mark.parametrize("seed", range(25))
def test_rows_of_forgotten_persons_have_no_say_in_types(
    subject: list[str], seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = Random(f"{subject} {seed}")
    others = [_row(random, subject, random.choice(["kim", "zoe"] if seed % 2 else [1, 2])) for _ in range(4)]
    forgotten = [_row(random, subject, random.choice(["eva", 42]), "n/a") for _ in range(3)]
    both = [*others, *forgotten]
    random.shuffle(both)
    without = _types(_columns(others, subject, monkeypatch))
    found = _types(_columns(both, subject, monkeypatch))
    assert {path: kind for path, kind in found.items() if path in without} == without
    # By these columns a load finds the rows of the forgotten persons.
    assert all(any(f"{name}.".startswith(f"{path}.") for name in subject) for path in found.keys() - without.keys())


def _row(random: Random, subject: Sequence[str], who: Any, amount: Any = 5) -> dict[str, Any]:
    row: dict[str, Any] = {"id": 1, "amount": amount}
    name = random.choice(subject)
    inner: dict[str, Any] = row
    for part in name.split(".")[:-1]:
        inner[part] = {"amount": amount}
        inner = inner[part]
    inner["who"] = who
    if random.random() < 0.5:
        inner["only" if amount == "n/a" else "also"] = amount
    return row


def _types(fields: Sequence[Field], above: str = "") -> dict[str, str]:
    found = {}
    for field in fields:
        inner = field.type.fields if isinstance(field.type, Struct) else ()
        found[above + field.name] = "struct" if inner else field.type.sql()
        found |= _types(inner, f"{above}{field.name}.")
    return found


@dataclass
class _Formats:
    """Answers for the Spark server: each file shows its columns, and a cell without a value shows no type."""

    contents: Mapping[str, Mapping[str, Type]]

    def infer(self, asked: Mapping[str, Any], *_: Any) -> dict[str, Any]:
        found: dict[str, Type] = {}
        for file in (file for group in asked["groups"] for file in group["files"]):
            for name, kind in self.contents[file["path"]].items():
                found[name] = common_type(found[name], kind) if name in found else kind
        return {"fields": [Field(name, kind).json() for name, kind in found.items()]}

    infer_csv = infer_json = infer

    def refusal(self, location: str, schema: TableSchema) -> None:
        return None


@pytest.mark.parametrize("born", [False, True])
@pytest.mark.parametrize("seed", range(40))
def test_every_file_that_may_have_a_new_column_is_asked_for_its_type(seed: int, born: bool) -> None:
    random = Random(f"{seed} {born}")
    contents: dict[str, dict[str, Type]] = {}
    files = []
    for number in range(random.randint(2, 5)):
        format: Format = random.choice([Csv(), Json()])
        kinds = (
            [Simple("long"), Simple("string"), Simple("void")]
            if format.names_columns
            else [Simple("long"), Simple("string")]
        )
        names = ["id", *random.sample(["x", "y"], random.randint(0, 2))]
        path = f"orders/{number}.{format.name}"
        contents[path] = {name: Simple("long") if name == "id" else random.choice(kinds) for name in names}
        # Only the first object of JSON shows names before the file is read.
        shown = tuple(names if format.names_columns else names[: random.randint(1, len(names))])
        files.append(SourceFile(Candidate(path, S3Found("e", 1, 1), ()), format, path, 1, names=shown))
    schema = TableSchema((Field("id", Simple("long")),)) if born else TableSchema.from_declared({"id": "bigint"}, {})
    columns, prepared = _load_columns(_Formats(contents), schema, None)
    prepared.base = schema if born else None
    assert columns.take(files) == []
    seen = prepared.schema
    unknown = [file for file in files if any(seen.find_column(name) is None for name in contents[file.path])]
    assert not any(source.format.names_columns for source in unknown), "a header names all columns of its file"
    assert columns.learn(unknown) == []
    wanted = narrowest_columns([Field(name, kind) for name, kind in content.items()] for content in contents.values())
    assert _types(prepared.schema.columns) == _types(wanted)


def test_if_delta_refuses_one_file_the_others_bring_no_types_in_halves(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """They are asked again without it, all at once: a column of both halves has one type, whatever their order."""
    kinds = {"0": "long", "1": "long", "2": "string", "3": "long"}
    contents = {f"orders/{name}.json": {"x": Simple(kind)} for name, kind in kinds.items()}
    contents["orders/3.json"]["refused"] = Simple("long")
    files = [SourceFile(Candidate(path, S3Found("e", 1, 1), ()), Json(), path, 1, names=("x",)) for path in contents]

    def refusal(_table: Any, _work: Any, schema: TableSchema) -> str | None:
        return "Delta refuses it" if schema.find_column("refused") else None

    monkeypatch.setattr(load_columns, "refusal", refusal)
    columns, prepared = _load_columns(_Formats(contents), TableSchema.from_declared({}, {}), None)
    before = prepared.schema
    assert columns.learn(files) == [(files[3], "Delta refuses it")]
    assert prepared.schema == before
    assert columns.learn(files[:3]) == []
    assert _types(prepared.schema.columns) == {"x": "string"}
