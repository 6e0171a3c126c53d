"""Footers are parsed in child processes because a corrupt footer may kill its reader."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.support.lakes.corrupt_parquet import that_aborts_arrow
from tidegate.platform.core.errors import BadParquet
from tidegate.platform.core.files.parquet.footer import Footer, footer_bytes, read_footer
from tidegate.platform.lake.parquet import footers as footer_reader
from tidegate.platform.lake.parquet.footers import read_footers


def written(rows: int) -> bytes:
    buffer = io.BytesIO()
    columns = {"id": range(rows), "name": [str(i) for i in range(rows)], "list": [[i] for i in range(rows)]}
    pq.write_table(pa.table(columns), buffer)
    return buffer.getvalue()


def tail(rows: int) -> tuple[bytes, int]:
    body = written(rows)
    return body[-footer_bytes(body[-8:], len(body)) :], len(body)


def kills_its_reader(tail: tuple[bytes, int]) -> bool:
    code = (
        "import sys; from tidegate.platform.core.files.parquet.footer import read_footer;"
        "read_footer(sys.stdin.buffer.read(), int(sys.argv[1]))"
    )
    process = subprocess.run([sys.executable, "-c", code, str(tail[1])], input=tail[0], capture_output=True, timeout=60)
    return process.returncode == -signal.SIGABRT


@pytest.fixture(scope="module")
def crasher() -> tuple[bytes, int]:
    whole = that_aborts_arrow(written(3))
    return whole[-footer_bytes(whole[-8:], len(whole)) :], len(whole)


def test_footers_come_back_in_their_order_and_as_they_are() -> None:
    tails = [tail(rows) for rows in range(1, 40)]
    assert read_footers(tails) == [read_footer(*tail) for tail in tails]
    assert read_footers([]) == []


def test_a_footer_that_aborts_arrow_is_bad_parquet_and_its_neighbours_are_read(crasher: tuple[bytes, int]) -> None:
    assert kills_its_reader(crasher)
    found = read_footers([tail(1), crasher, tail(2), crasher, tail(3)])
    assert [getattr(footer, "rows", None) for footer in found] == [1, None, 2, None, 3]
    assert isinstance(found[1], BadParquet)
    assert "corrupt" in str(found[1])


def test_reasons_of_other_bad_footers_pass_through() -> None:
    assert [str(problem) for problem in read_footers([(b"", 0)])] == ["empty file"]


def test_many_footers_are_shared_out_and_none_is_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(footer_reader, "_PER_CHILD", 3)
    found = read_footers([tail(rows) for rows in range(1, 12)])
    assert [footer.rows for footer in found if isinstance(footer, Footer)] == list(range(1, 12))


def test_a_reader_that_hangs_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(footer_reader, "_DEADLINE", 0.2)
    with footer_reader._Child() as child:
        os.kill(child.pid, signal.SIGSTOP)
        with pytest.raises(TimeoutError):
            child.ask(*tail(1))
    with pytest.raises(ProcessLookupError):
        os.kill(child.pid, 0)


def test_a_reader_is_kept_and_no_footer_is_blamed_for_its_death_while_it_waits() -> None:
    read_footers([tail(1)])
    (kept,) = footer_reader._spare
    read_footers([tail(2)])
    assert footer_reader._spare == [kept]
    os.kill(kept.pid, signal.SIGKILL)
    assert [footer.rows for footer in read_footers([tail(3)]) if isinstance(footer, Footer)] == [3]
    assert footer_reader._spare != [kept]


def test_a_spare_reader_is_a_fork_and_is_taken_first(tmp_path: Path) -> None:
    """The test uses a process of its own, because a process with threads is not forked."""
    file = tmp_path / "a.parquet"
    pq.write_table(pa.table({"id": [1, 2, 3]}), file)
    program = f"""
import os, threading
from unittest.mock import patch
from tidegate.platform.lake.parquet import footers as footer_reader
footer_reader.keep_spare()
tail = open({str(file)!r}, "rb").read()
with patch.object(footer_reader.subprocess, "Popen", side_effect=AssertionError("a new Python")):
    (footer,) = footer_reader.read_footers([(tail, len(tail))])
print(footer.rows)
footer_reader._end_spare()
threading.Thread(target=threading.Event().wait, daemon=True).start()
footer_reader.keep_spare()
print(footer_reader._spare)
"""
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    process = subprocess.run([sys.executable, "-c", program], env=environ, capture_output=True, text=True, timeout=60)
    assert process.stdout.split() == ["3", "[]"], process.stderr
