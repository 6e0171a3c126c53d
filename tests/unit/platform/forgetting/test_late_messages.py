"""Messages of forgotten persons that come later leave the lake, and what was searched before is not read again."""

from __future__ import annotations

import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.lakes.objects import Objects
from tests.support.lakes.seams import dying_in
from tidegate.platform.core.forgetting.subject_key import SubjectKey
from tidegate.platform.forgetting import late_messages
from tidegate.platform.forgetting.late_messages import SEAM, erase_late_messages
from tidegate.platform.lake.aws.s3 import Listed
from tidegate.platform.lake.lake_root.store import LakeStore
from tidegate.platform.lake.suppression import Suppression

KEY = SubjectKey("a secret of a unit test", "person")
HOUR = 3600
ROWS = "root/rows/clicks/2026-01-01"


class Dated(Objects):
    """Objects with the hours since they were written, which count what is read."""

    def __init__(self) -> None:
        super().__init__()
        self.ages: dict[str, float] = {}
        self.read: list[str] = []

    def get(self, bucket: str, key: str) -> bytes | None:
        self.read.append(key)
        return super().get(bucket, key)

    def under(self, bucket: str, prefix: str, after: str = "") -> Iterator[Listed]:
        for item in super().under(bucket, prefix, after):
            yield Listed(item.key, item.etag, item.size, time.time() - HOUR * self.ages.get(item.key, 0))


@pytest.fixture
def objects() -> Dated:
    return Dated()


def _lake(objects: Dated) -> Any:
    queue = SimpleNamespace(names=("clicks",))
    key = SimpleNamespace(encode=lambda: "landing.clicks")
    clicks = SimpleNamespace(name="clicks", row_queue=queue, subject_kind="person", table_key=key, columns={})
    files = SimpleNamespace(name="files", row_queue=None, subject_kind="person", table_key=key)
    return SimpleNamespace(
        store=LakeStore(objects, "s3://lake/root"),  # type: ignore[arg-type]
        config=SimpleNamespace(tables=[files, clicks]),
        table=lambda table_key: SimpleNamespace(table_key=table_key, spec=clicks, birth=None),
        suppression=lambda spec: Suppression("clicks", KEY, frozenset({KEY.digest("7")}), ("who",)),
    )


def test_messages_that_came_since_the_last_search_are_taken_out(objects: Dated) -> None:
    lake = _lake(objects)
    for age in (48, 0.5):
        objects.put("lake", f"{ROWS}/{age}.jsonl", '{"who": "7"}\n{"who": "8"}\n')
        objects.ages[f"{ROWS}/{age}.jsonl"] = age
    with dying_in(late_messages, SEAM):
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
