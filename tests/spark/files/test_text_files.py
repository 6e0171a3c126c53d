"""Logs of AWS, and lines of other text, become rows with the values that they have."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from tests.support.aws_logs import LOGS
from tidegate.platform.core.schema.names import SOURCE_COLUMNS
from tidegate.platform.testing import TestLake

MakeLake = Callable[..., TestLake]

_NGINX = (
    r'(?P<ip>[^ ]*) - (?P<user>[^ ]*) \[(?P<at>[^\]]*)\] "(?P<request>[^"]*)" (?P<status>[0-9]{3}) (?P<bytes>[0-9]+)'
    r'(?: "(?P<referer>[^"]*)")?'
)
_LINE = '192.0.2.1 - {} [02/Jan/2026:03:04:05 +0100] "GET /ü HTTP/1.1" {} 17'
_MANY = 40_000


def _with_zone(value: Any) -> Any:
    return value.astimezone(UTC) if isinstance(value, datetime) else value


def _values(lake: TestLake, kit: Any, table: str) -> list[dict[str, Any]]:
    rows = kit.query(lake, "SELECT * FROM {t}", t=kit.location(lake, table))
    return [
        {
            name: _with_zone(value)
            for name, value in row.asDict(recursive=True).items()
            if value is not None and name not in SOURCE_COLUMNS
        }
        for row in rows
    ]


def test_each_log_has_the_rows_that_aws_wrote(tidegate_lake: MakeLake, kit: Any) -> None:
    text = {"pattern": _NGINX, "nulls": ["-"]}
    web = {"format": "text", "text": text, "columns": {"at": "timestamp", "status": "int"}}
    lake = tidegate_lake(
        [
            *({"name": name, "prefix": log.prefix, **log.setting} for name, log in LOGS.items()),
            {"name": "web", "prefix": "web/", **web},
        ]
    )
    for name, log in LOGS.items():
        for file, body in log.files.items():
            lake.put(f"{log.prefix}2026/01/02/{file}", body)
        (first,) = kit.run(lake, name)
        assert {row.status for row in first.batch.rows} == {"committed"}, name
        assert sum(row.bad_rows or 0 for row in first.batch.rows) == len(log.bad), name
        found = _values(lake, kit, name)
        assert sorted(map(repr, map(_sorted, found))) == sorted(repr(_sorted(row)) for row in log.rows), name

    # Large enough to be read from S3, in several blocks, and with bad lines among the others.
    lines = [_LINE.format("-" if at % 2 else "ann", at % 1_000) for at in range(100, 100 + _MANY)]
    lake.put("web/access.log", "\n".join(lines))
    (first,) = kit.run(lake, "web")
    bad = [line for line in lines if re.search(" [0-9]{1,2} 17", line)]
    assert [row.bad_rows for row in first.batch.rows] == [len(bad)]
    found = _values(lake, kit, "web")
    assert len(found) == _MANY - len(bad)
    assert found[0] == {
        "ip": "192.0.2.1",
        "user": "ann",
        "at": datetime(2026, 1, 2, 2, 4, 5, tzinfo=UTC),
        "request": "GET /ü HTTP/1.1",
        "status": 100,
        "bytes": "17",
    }


def _sorted(row: dict[str, Any]) -> str:
    return json.dumps(row, sort_keys=True, default=str)
