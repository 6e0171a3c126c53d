"""What the columns that files declare are asked for, and what becomes of files that cannot say them."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.errors import PySparkException

from tests.support.lakes.memory import memory_lake
from tidegate.platform.bronze.prepare.file_access import FileAccess, file_access
from tidegate.platform.bronze.prepare.formats.declared_columns import Orc
from tidegate.platform.bronze.prepare.formats.format import SourceFile
from tidegate.platform.bronze.prepared_batch import PreparedBatch
from tidegate.platform.core.bronze.hint import Hint
from tidegate.platform.core.bronze.object_state import Probe, S3Found, S3Gone
from tidegate.platform.core.bronze.plan import Candidate, PlannedHint, make_plan
from tidegate.platform.core.errors import Misfit
from tidegate.platform.core.schema.column_types import Field, Simple
from tidegate.platform.lake.lake_root.inbox import TableInbox
from tidegate.platform.lake.spark.server_errors import SparkUnreachable

_COLUMNS = [Field("id", Simple("long"))]
_ORDERS = "landing.orders"


def _file(key: str, body: bytes | None = None) -> SourceFile:
    candidate = Candidate(key, S3Found("e1", 9, 1), PlannedHint(Hint(key), "m"))
    return SourceFile(candidate, Orc(), f"s3a://landing/{key}", 9, body=body)


def _prepared(*files: SourceFile) -> PreparedBatch:
    taken = [PlannedHint(Hint(file.candidate.key), "m") for file in files]
    found = {file.candidate.key: file.candidate.found for file in files}
    return PreparedBatch(make_plan(taken, found, {}, registered=False))


def _access(answer: Any, present: Probe | None = None, *, lost: bool = False) -> tuple[FileAccess, TableInbox]:
    def file_columns(files: Any) -> Any:
        if isinstance(answer, Exception):
            raise answer
        return {file["path"]: answer[file["path"].rsplit("/", 1)[-1]] for file in files["files"]}

    def check_session_alive() -> None:
        if lost:
            raise SparkUnreachable("no answer")

    delta = SimpleNamespace(file_columns=file_columns, check_session_alive=check_session_alive)
    table = memory_lake("orders", delta=delta).table(_ORDERS)
    access = replace(file_access(table), source=SimpleNamespace(head=lambda key: present))  # type: ignore[arg-type]
    return access, table.inbox


def test_a_file_has_its_columns_and_one_that_cannot_be_read_is_quarantined() -> None:
    good, bad = _file("a.orc"), _file("b.orc", b"broken")
    prepared = _prepared(good, bad)
    access, _ = _access({"a.orc": _COLUMNS, "b.orc": "it cannot be read: torn; write the file again"})
    (found,) = Orc().add_declared_columns(access, [good, bad], prepared)
    assert (found.candidate, found.fields) == (good.candidate, tuple(_COLUMNS))
    (row,) = prepared.rows
    assert (row.key, row.reason) == ("b.orc", "it cannot be read: torn; write the file again")


@pytest.mark.parametrize(("present", "deferred"), [(S3Found("e1", 9, 1), 0), (S3Found("e2", 9, 1), 1), (S3Gone(), 1)])
def test_a_file_that_changed_while_it_was_read_is_not_blamed(present: Probe, deferred: int) -> None:
    file = _file("a.orc")
    prepared = _prepared(file)
    access, _ = _access({"a.orc": "torn"}, present)
    assert Orc().add_declared_columns(access, [file], prepared) == []
    assert (len(prepared.deferred), len(prepared.rows)) == (deferred, 1 - deferred)


def test_an_error_is_nobody_s_fault_and_the_loss_of_the_server_is_noted() -> None:
    file = _file("a.orc")
    error = PySparkException("denied")
    with pytest.raises(PySparkException, match="denied"):
        Orc().add_declared_columns(_access(error)[0], [file], _prepared(file))
    access, inbox = _access(error, lost=True)
    with pytest.raises(SparkUnreachable):
        Orc().add_declared_columns(access, [file], _prepared(file))
    assert [manifest.hints for manifest in inbox.waiting_manifests()] == [1]


def test_a_column_is_in_the_file_or_in_its_path() -> None:
    file = SourceFile(_file("a.orc").candidate, Orc(), "", 9, fields=(Field("Day", Simple("date")),))
    Orc().check_path(file, {"hour": "1"})
    with pytest.raises(Misfit, match="column day is in the file and in its path; leave it out of the file"):
        Orc().check_path(file, {"day": "2026-01-01"})
