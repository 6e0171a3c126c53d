"""New columns of a registered table are tried on the table first. Only a file at fault is quarantined."""

from __future__ import annotations

import io
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tidegate.platform.bronze.prepare import register
from tidegate.platform.bronze.prepare.register import prepare_register
from tidegate.platform.core.bronze.hint import Hint
from tidegate.platform.core.bronze.object_state import S3Found
from tidegate.platform.core.bronze.plan import Candidate, Plan, PlannedHint
from tidegate.platform.core.files.parquet.footer import Footer, read_footer
from tidegate.platform.core.schema.table_schema import TableSchema


class Delta:
    """Refuses tables with a column `bad`."""

    def __init__(self) -> None:
        self.asked: list[list[str]] = []

    def refusal(self, location: str, schema: TableSchema) -> str | None:
        names = [field.name for field in schema.fields]
        self.asked.append(names)
        return "[TIDEGATE_COLUMNS] Delta does not take the columns: bad" if "bad" in names else None


def footer(*names: str) -> Footer:
    body = io.BytesIO()
    pq.write_table(pa.table({name: [1] for name in names}), body)
    return read_footer(body.getvalue(), len(body.getvalue()))


@pytest.fixture
def prepared(monkeypatch: pytest.MonkeyPatch) -> Any:
    base = TableSchema(footer("id").fields)
    monkeypatch.setattr(register, "present_schema", lambda *_: base)
    monkeypatch.setattr(register, "copy_files", lambda table, files, *_: [(*file, None) for file in files])

    def prepare(**files: Footer) -> tuple[Any, Delta]:
        candidates = {
            name: Candidate(
                f"t/{name}.parquet", S3Found(name, 9, 0), PlannedHint(Hint(f"t/{name}.parquet"), "manifest")
            )
            for name in files
        }
        monkeypatch.setattr(
            register, "parquet_footers", lambda *_: [(candidates[name], item) for name, item in files.items()]
        )
        plan = Plan(list(candidates.values()))
        table = SimpleNamespace(
            key=SimpleNamespace(bucket="b", prefix="t/"),
            spec=SimpleNamespace(format="parquet", policy="evolve"),
            delta=Delta(),
            batches=None,
            source=SimpleNamespace(head_many=lambda _: {}),
        )
        work: Any = SimpleNamespace(plan=plan, previous=None, birth=SimpleNamespace(location="s3a://b/t"))
        return prepare_register(table, work), table.delta  # type: ignore[arg-type]

    return prepare


def test_files_without_new_columns_ask_for_nothing(prepared: Any) -> None:
    done, delta = prepared(a=footer("id"), b=footer("id"))
    assert (len(done.adds), delta.asked) == (2, [])


def test_columns_that_the_table_takes_are_tried_once(prepared: Any) -> None:
    done, delta = prepared(a=footer("id", "x"), b=footer("id", "y"))
    assert (len(done.adds), delta.asked) == (2, [["id", "x", "y"]])


def test_a_file_whose_columns_the_table_refuses_stays_out_alone_and_shapes_nothing(prepared: Any) -> None:
    done, _ = prepared(a=footer("id", "x"), b=footer("id", "bad"), c=footer("id"), d=footer("id", "y"))
    assert [add.path for add in done.adds] == ["a.parquet", "c.parquet", "d.parquet"]
    assert [field.name for field in done.schema.fields] == ["id", "x", "y"]
    assert {row.key: row.reason for row in done.rows if row.reason} == {
        "t/b.parquet": "Delta does not take the columns: bad; write them under other names or in other types, or "
        "change the table, and redrive the file"
    }
