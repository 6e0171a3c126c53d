"""Copies of whole objects leave the lake for a request, and copies that came later when no run reads them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.lakes.objects import Objects
from tests.support.lakes.seams import dying_in
from tidegate.platform.core.forgetting.request import SubjectKey
from tidegate.platform.forgetting import remaining_copies
from tidegate.platform.forgetting.remaining_copies import (
    SEAM,
    erase_late_copies,
    erase_late_messages,
    erase_staged_copies,
)
from tidegate.platform.lake.aws.s3 import Listed
from tidegate.platform.lake.lake_root.store import LakeStore
from tidegate.platform.lake.suppression import Suppression

KEY = SubjectKey("a secret of a unit test", "person")
HOUR = 3600
ROWS = "root/rows/clicks/2026-01-01"


class Dated(Objects):
    """Objects whose body is the number of hours since they were written."""

    def list_under(self, bucket: str, prefix: str, after: str = "") -> Iterator[Listed]:
        for item in super().list_under(bucket, prefix, after):
            yield Listed(item.key, item.etag, item.size, time.time() - 3600 * float(self.bodies[item.key]))


def test_copies_of_the_table_leave_and_late_copies_when_no_run_reads_them() -> None:
    objects = Dated()
    lake: Any = SimpleNamespace(store=LakeStore(objects, "s3://lake/root"))  # type: ignore[arg-type]
    spec: Any = SimpleNamespace(name="t", table_key=SimpleNamespace(encode=lambda: "landing.t"))
    for key, hours in {"landing.t/a.txt": 25, "landing.t/b.txt": 1, "landing.t2/c.txt": 25}.items():
        objects.put("lake", f"root/staging/{key}", str(hours))
    lines: list[str] = []
    erase_late_copies(lake.store, [spec], lines.append)
    assert lines == ["1 copies of whole objects of t left staging/"]
    assert sorted(objects.bodies) == ["root/staging/landing.t/b.txt", "root/staging/landing.t2/c.txt"]
    assert erase_staged_copies(lake.store, "landing.t") == 1
    assert sorted(objects.bodies) == ["root/staging/landing.t2/c.txt"], "a copy of another table"


class DatedReads(Objects):
    """Objects with the hours since they were written, which count what is read."""

    def __init__(self) -> None:
        super().__init__()
        self.ages: dict[str, float] = {}
        self.read: list[str] = []

    def get(self, bucket: str, key: str) -> bytes | None:
        self.read.append(key)
        return super().get(bucket, key)

    def list_under(self, bucket: str, prefix: str, after: str = "") -> Iterator[Listed]:
        for item in super().list_under(bucket, prefix, after):
            yield Listed(item.key, item.etag, item.size, time.time() - HOUR * self.ages.get(item.key, 0))


@pytest.fixture
def objects() -> DatedReads:
    return DatedReads()


def _lake(objects: DatedReads) -> Any:
    queue = SimpleNamespace(names=("clicks",))
    key = SimpleNamespace(encode=lambda: "landing.clicks")
    clicks = SimpleNamespace(name="clicks", row_queue=queue, subject_kind="person", table_key=key, columns={})
    files = SimpleNamespace(name="files", row_queue=None, subject_kind="person", table_key=key)
    return SimpleNamespace(
        store=LakeStore(objects, "s3://lake/root"),  # type: ignore[arg-type]
        config=SimpleNamespace(tables=[files, clicks]),
        table=lambda table_key: SimpleNamespace(table_key=table_key, spec=clicks, birth=None, delta=None),
        suppression=lambda spec: Suppression("clicks", KEY, frozenset({KEY.digest("7")}), ("who",)),
    )


def test_messages_that_came_since_the_last_search_are_taken_out(objects: DatedReads) -> None:
    lake = _lake(objects)
    for age in (48, 0.5):
        objects.put("lake", f"{ROWS}/{age}.jsonl", '{"who": "7"}\n{"who": "8"}\n')
        objects.ages[f"{ROWS}/{age}.jsonl"] = age
    with dying_in(remaining_copies, SEAM):
        erase_late_messages(lake, "person")
    assert erase_late_messages(lake, "employee") == 0, "no table has such subjects"
    assert erase_late_messages(lake, "person") == 0, "the call that died had taken them out"
    assert {body for key, body in objects.bodies.items() if key.startswith(ROWS)} == {'{"who": "8"}\n'}

    # Objects of the last hour are searched again, for the clock of S3 may be behind.
    objects.put("lake", f"{ROWS}/0.5.jsonl", '{"who": "7"}\n')
    objects.read.clear()
    lines: list[str] = []
    assert erase_late_messages(lake, "person", lines.append) == 1
    assert lines == ["1 late lines and messages of clicks left the row objects and the quarantine"]
    assert f"{ROWS}/0.5.jsonl" not in objects.bodies
    assert f"{ROWS}/48.jsonl" not in objects.read, "what was searched is not read again"
