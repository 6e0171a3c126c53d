"""Copies of whole objects leave the lake for a request, and copies that came later when no run reads them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

from tests.support.lakes.objects import Objects
from tidegate.platform.forgetting.staged_copies import erase_late_copies, erase_staged_copies
from tidegate.platform.lake.aws.s3 import Listed
from tidegate.platform.lake.lake_root.store import LakeStore


class Dated(Objects):
    """Objects whose body is the number of hours since they were written."""

    def under(self, bucket: str, prefix: str, after: str = "") -> Iterator[Listed]:
        for item in super().under(bucket, prefix, after):
            yield Listed(item.key, item.etag, item.size, time.time() - 3600 * float(self.bodies[item.key]))


def test_copies_of_the_table_leave_and_late_copies_when_no_run_reads_them() -> None:
    objects = Dated()
    lake: Any = SimpleNamespace(store=LakeStore(objects, "s3://lake/root"))  # type: ignore[arg-type]
    spec: Any = SimpleNamespace(name="t", table_key=SimpleNamespace(encode=lambda: "landing.t"))
    for key, hours in {"landing.t/a.txt": 25, "landing.t/b.txt": 1, "landing.t2/c.txt": 25}.items():
        objects.put("lake", f"root/staging/{key}", str(hours))
    lines: list[str] = []
    erase_late_copies(lake, [spec], lines.append)
    assert lines == ["1 copies of whole objects of t left staging/"]
    assert sorted(objects.bodies) == ["root/staging/landing.t/b.txt", "root/staging/landing.t2/c.txt"]
    assert erase_staged_copies(lake, "landing.t") == 1
    assert sorted(objects.bodies) == ["root/staging/landing.t2/c.txt"], "a copy of another table"
