"""The locks by which a Spark server and its clients know of each other, and when nobody uses it."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

import pytest

from tidegate.platform.core.errors import UnavailableError
from tidegate.platform.lake.spark import server_home
from tidegate.platform.lake.spark.server_home import (
    LOCK,
    USERS,
    IdleWatch,
    ServerHome,
    announce,
    connected_clients,
    note_use,
    withdraw,
)

_TABLE = """\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:3A9A 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1 1 0 100 0 0 10 0
   1: 0100007F:3A9A 0100007F:D431 01 00000000:00000000 00:00000000 00000000     0        0 2 1 0 20 4 30 10 -1
   2: 0100007F:3A9A 0100007F:D432 08 00000000:00000000 00:00000000 00000000     0        0 3 1 0 20 4 30 10 -1
   3: 0100007F:D431 0100007F:3A9A 01 00000000:00000000 00:00000000 00000000     0        0 4 1 0 20 4 30 10 -1
   4: 0100007F:3A9B 0100007F:D433 01 00000000:00000000 00:00000000 00000000     0        0 5 1 0 20 4 30 10 -1
"""


@pytest.fixture
def home(tmp_path: Path) -> ServerHome:
    return ServerHome(tmp_path / "spark")


@pytest.fixture
def connections(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Return the connections of other clients."""
    found: set[str] = set()
    monkeypatch.setattr(server_home, "open_connections", lambda port: frozenset(found))
    return found


def test_a_server_is_known_while_its_process_lives_and_takes_work_once_it_says_so(home: ServerHome) -> None:
    assert (home.is_taken, home.find_port()) == (False, None)
    lock = home.claim()
    assert (home.is_taken, home.find_port()) == (True, None)
    announce(lock, 15002)
    assert home.find_port() == 15002
    with pytest.raises(UnavailableError, match=r"another Spark server uses .*: choose another with --home"):
        home.claim()
    assert home.find_port() == 15002, "who was refused has changed nothing"
    withdraw(lock)
    assert (home.is_taken, home.find_port()) == (True, None)
    announce(lock, 15002)
    lock.close()
    assert (home.is_taken, home.find_port()) == (False, None), "the file of a process that is gone means nothing"
    assert (home.folder / LOCK).read_text() == "15002"
    home.claim().close()
    assert home.folder.stat().st_mode & 0o777 == 0o700


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UnavailableError, match="file/spark cannot be used for a Spark server: Not a directory"):
        ServerHome(tmp_path / "file" / "spark").claim()


def test_a_server_ends_when_nobody_has_used_it_for_the_whole_time(home: ServerHome, connections: set[str]) -> None:
    watch = IdleWatch(home, 15002, 60.0, 0.0)
    assert not watch.is_over(1.0)
    user = home.take(USERS, fcntl.LOCK_SH, 0.0)
    assert user is not None
    assert not watch.is_over(500.0), "a client has used it for longer than the time"
    user.close()
    assert not watch.is_over(559.0)
    assert watch.is_over(560.0)
    assert home.take(USERS, fcntl.LOCK_SH, 0.0) is None, "who comes now waits until it has ended"
    del watch
    assert home.take(USERS, fcntl.LOCK_SH, 0.0) is not None


def test_a_server_that_has_to_end_at_once_waits_for_its_clients(home: ServerHome, connections: set[str]) -> None:
    watch = IdleWatch(home, 15002, 60.0, 0.0)
    user = home.take(USERS, fcntl.LOCK_SH, 0.0)
    assert user is not None
    note_use(user)
    assert not watch.is_over(1.0, at_once=True)
    assert not watch.is_over(2.0, at_once=True)
    user.close()
    assert watch.is_over(3.0, at_once=True)


def test_a_use_between_two_looks_counts(home: ServerHome, connections: set[str]) -> None:
    watch = IdleWatch(home, 15002, 60.0, 0.0)
    assert not watch.is_over(1.0)
    user = home.take(USERS, fcntl.LOCK_SH, 0.0)
    assert user is not None
    os.utime(home.folder / USERS, (1, 1))
    note_use(user)
    user.close()
    assert not watch.is_over(70.0)
    assert not watch.is_over(129.0)
    assert watch.is_over(130.0)


def test_another_client_uses_it_while_it_is_connected_and_a_probe_does_not(
    home: ServerHome, connections: set[str]
) -> None:
    watch = IdleWatch(home, 15002, 60.0, 0.0)
    assert not watch.is_over(1.0)
    connections.add("0100007F:D431")
    for now in (2.0, 3.0, 100.0):
        assert not watch.is_over(now)
    connections.clear()
    for probe in range(40):
        connections.clear()
        connections.add(f"0100007F:{probe:04X}")
        assert not watch.is_over(101.0 + probe)
    connections.clear()
    assert watch.is_over(160.0), "each of these connections was open at one look"


def test_a_folder_that_cannot_be_read_ends_no_server(
    home: ServerHome, connections: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    watch = IdleWatch(home, 15002, 60.0, 0.0)
    assert not watch.is_over(1.0)

    def fail(*_: object, **__: object) -> None:
        raise UnavailableError("no space left on device")

    with monkeypatch.context() as failing:
        failing.setattr(home, "take", fail)
        assert not watch.is_over(500.0)
    assert watch.is_over(501.0)


def test_clients_of_a_port_are_found_in_the_table_of_the_kernel() -> None:
    assert connected_clients(_TABLE, 15002) == {"0100007F:D431"}
    assert connected_clients(_TABLE, 15003) == {"0100007F:D433"}
    assert connected_clients(_TABLE, 1) == set()
    assert connected_clients("", 15002) == set()


def test_without_the_tables_of_linux_no_connection_is_known(tmp_path: Path) -> None:
    assert server_home.open_connections(15002, tmp_path) == frozenset()
    (tmp_path / "tcp6").write_text(_TABLE)
    assert server_home.open_connections(15002, tmp_path) == {"0100007F:D431"}
