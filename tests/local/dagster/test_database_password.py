"""The password of Dagster's database is replaced while its processes run: it is in a file, which libpq reads."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import psycopg2
import pytest

from tests.support.servers.postgres import Postgres
from tidegate.platform.local.instance_config import instance_config

NEW = "the-next-password"


@pytest.fixture
def postgres() -> Iterator[Postgres]:
    with Postgres() as running:
        yield running


def test_a_process_connects_with_the_new_password_without_a_restart(
    postgres: Postgres, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    passwords = tmp_path / "pgpass"
    passwords.write_text(f"*:*:*:{postgres.user}:{postgres.password}\n")
    passwords.chmod(0o600)
    (tmp_path / "dagster.yaml").write_text(instance_config(fork=False, postgres=True))
    given = {"HOST": postgres.host, "DB": postgres.user, "USERNAME": postgres.user, "PASSWORD": ""}
    for name, value in given.items():
        monkeypatch.setenv(f"DAGSTER_PG_{name}", value)
    monkeypatch.setenv("PGPASSFILE", str(passwords))
    own = {"host": postgres.host, "user": postgres.user, "dbname": postgres.user}
    with dg.DagsterInstance.from_config(str(tmp_path)) as instance:
        assert instance.get_runs_count() == 0
        with psycopg2.connect(**own) as connection, connection.cursor() as cursor:
            cursor.execute(f"ALTER ROLE {postgres.user} PASSWORD '{NEW}'")
        passwords.write_text(f"*:*:*:{postgres.user}:{NEW}\n")
        assert instance.get_runs_count() == 0
        with pytest.raises(psycopg2.OperationalError, match="password authentication failed"):
            psycopg2.connect(**own, password=postgres.password)
