"""The lines of AWS's logs have the fields that its documentation names."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from typing import Any

import pytest

from tests.support.aws_logs import LOGS, Log
from tidegate.platform.core.errors import Misfit
from tidegate.platform.core.files.text_presets import PRESETS
from tidegate.platform.core.schema.sql_types import parse_sql_type

#: The months of a log, as numbers.
_LOG_TIME = "%d/%b/%Y:%H:%M:%S %z"
_OF_TEXT = [log for log in LOGS.values() if log.setting["format"] == "text"]


def _value(kind: str, text: str) -> Any:
    match kind:
        case "timestamp":
            at = datetime.strptime(text, _LOG_TIME) if "/" in text else datetime.fromisoformat(text)
            return at if at.tzinfo else at.replace(tzinfo=UTC)
        case "date":
            return date.fromisoformat(text)
        case "int" | "bigint":
            return int(text)
        case "double":
            return float(text)
    return text


@pytest.mark.parametrize("log", _OF_TEXT, ids=lambda log: log.setting["text"]["preset"])
def test_each_field_has_its_value(log: Log) -> None:
    preset = PRESETS[log.setting["text"]["preset"]]
    rows, bad = [], []
    for body in log.plain.values():
        names = preset.names(body)
        for line in body.decode().splitlines()[1 if preset.skips_first else 0 :]:
            if preset.comment and line.startswith(preset.comment):
                continue
            if not (found := re.fullmatch(preset.pattern(names).groups, line)):
                bad.append(line)
                continue
            cells = zip(names, found.groups(), strict=True)
            rows.append(
                {
                    name: _value(preset.types.get(name, "string"), cell)
                    for name, cell in cells
                    if cell not in (None, "", "-")
                }
            )
    assert rows == list(log.rows)
    assert bad == list(log.bad)


@pytest.mark.parametrize("name", PRESETS)
def test_the_types_of_a_preset_are_types_of_its_columns(name: str) -> None:
    preset = PRESETS[name]  # type: ignore[index]
    for kind in preset.types.values():
        parse_sql_type(kind)
    if preset.header is None:
        assert set(preset.types) <= set(preset.names(b""))


@pytest.mark.parametrize("log", _OF_TEXT, ids=lambda log: log.setting["text"]["preset"])
def test_a_line_of_an_earlier_time_ends_before_a_later_field(log: Log) -> None:
    preset = PRESETS[log.setting["text"]["preset"]]
    if preset.header is not None:
        return
    first, _, later = preset.layout.partition(" | ")
    fields, more = [_example(field) for field in first.split()], [_example(field) for field in later.split()]
    for count in range(len(more) + 1):
        found = re.fullmatch(preset.pattern(()).groups, " ".join([*fields, *more[:count]]))
        assert found is not None
        assert found.groups()[-1] is None
        assert sum(cell is not None for cell in found.groups()) == len(fields) + count + preset.layout.count("@")
    cut = " ".join(fields[:-1])
    assert re.fullmatch(preset.pattern(()).groups, cut) is None


def _example(field: str) -> str:
    return {'"': '"x"', "'": '"x"', "*": '"x"', "[": "[x]", "@": "192.0.2.1:80"}.get(field[0], "x")


def test_a_requester_forges_no_field_by_the_quotes_of_a_user_agent() -> None:
    preset, agent = PRESETS["s3-access"], 'x" v1 H SigV4 c QueryString evil.example TLSv1.3 - - eu junk'
    line = LOGS["s3_access"].plain["2026-01-01-00-15-00-C3D4"].decode().splitlines()[0]
    found = re.fullmatch(preset.pattern(()).groups, line.replace("aws-cli/2.15", agent).replace("/up", '/"up'))
    assert found is not None
    cells = dict(zip(preset.names(b""), found.groups(), strict=True))
    assert (cells["user_agent"], cells["version_id"], cells["more"]) == (agent, "vErSiOn1", None)
    assert cells["referer"] == 'https://example.com/"up'


def test_a_list_that_aws_cut_off_is_a_list() -> None:
    preset, (body,) = PRESETS["nlb"], LOGS["nlb"].plain.values()
    found = re.fullmatch(preset.pattern(()).groups, body.decode().rstrip().replace('"http/1.1"', '"http/1.'))
    assert found is not None
    assert '"h2","http/1.' in found.groups()


@pytest.mark.parametrize(
    ("preset", "head"),
    [
        ("cloudfront", b"2019-12-04\t21:02:31\n"),
        ("cloudfront", b"#Version: 1.0\n#Fields:\n"),
        ("cloudfront", b'{"date": 1}\n'),
        ("vpc-flow", b"2 012345678901 eni-0a 172.31.16.139\n"),
        ("vpc-flow", b"\n"),
        ("vpc-flow", b"version account-id version\n"),
        ("vpc-flow", b"a " * 501),
        ("vpc-flow", b"a" * 101),
        ("vpc-flow", b"tcp-flags tcp--flags\n"),
        ("cloudfront", b"#Version: 1.0\n#Fields: date time\n2019-12-04,21:02:31\n2019-12-04\t21:02:31\n"),
        ("cloudfront", b"#Fields: date time\n\n#Version: 1.0\n2019-12-04 21:02:31\n"),
        ("vpc-flow", b"action log-status\nACCEPT\tOK\n"),
    ],
)
def test_a_header_that_names_no_fields_refuses_its_file(preset: str, head: bytes) -> None:
    with pytest.raises(Misfit, match=r"it has no|names a field twice|between fields"):
        PRESETS[preset].names(head)  # type: ignore[index]


def test_a_header_is_found_behind_a_mark_and_other_comments() -> None:
    head = b"\xef\xbb\xbf#Version: 1.0\r\n#Fields: date cs(User-Agent)\tx-edge-location\r\n"
    assert PRESETS["cloudfront"].names(head) == ("date", "cs_user_agent", "x_edge_location")
    assert PRESETS["cloudfront"].names(b"#Fields: date time\n2019-12-0") == ("date", "time")
    assert PRESETS["cloudfront"].names(b"#Fields: date\n2019-12-04\n") == ("date",)
    assert PRESETS["vpc-flow"].names(b"\xef\xbb\xbfversion account-id\r\n") == ("version", "account_id")
