"""Our log store and delta-rs on one table: 1.6.0, which commits through DynamoDB, and the current one without it."""

from __future__ import annotations

import time
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path

import pytest

from tests.support.log_store.delta_log import DeltaLog
from tests.support.log_store.delta_rs import CLASSIC, CURRENT, start
from tests.support.servers.shore import DEADLINE, Shore

#: Commits that each of the writers makes in a table at least. They write until each delta-rs has lost a race.
EACH = 8


@pytest.mark.parametrize("python", [CLASSIC, CURRENT], ids=["1.6.0 with DynamoDB", "current, without"])
def test_every_acknowledged_row_is_there_once_with_writers_of_both_kinds(python: Path, shore: Shore) -> None:
    table = shore.create()
    others = [start(shore, python, table, name) for name in ("first", "second")]
    acknowledged = []
    end = time.monotonic() + DEADLINE
    while len(acknowledged) < EACH or any(len(other.said("ack")) < EACH or not other.said("lost") for other in others):
        assert time.monotonic() < end, [other.outcomes.read_text() for other in others]
        row = f"spark-{len(acknowledged)}"
        shore.append(table, row)
        acknowledged.append(row)
    for other in others:
        other.stop()
    acknowledged += [row for other in others for row in other.said("ack")]

    shore.check_rows(table, *acknowledged)
    commits = shore.commits(table)
    authors = [commit.get("writer", "spark") for commit in commits]
    assert len(commits) == len(acknowledged) + 1, "an acknowledged row is not a commit, or a refused one is"
    changes = sum(author != other for author, other in pairwise(authors))
    assert changes >= 0.2 * len(commits), f"they hardly met: {authors}"
    behind = [n for n, commit in enumerate(commits) if n and commit.get("readVersion", n - 1) < n - 1]
    assert behind, "Spark never lost a race"
    assert {other.said("version")[0] for other in others} == {"1.6.0" if python == CLASSIC else version("deltalake")}


def test_what_a_killed_delta_rs_claimed_is_published_by_ours(shore: Shore) -> None:
    table = shore.create()
    copied = shore.proxy.hold("PUT", table.publication(1))
    writer = start(shore, CLASSIC, table, "killed", proxied=True)
    copied.wait_caught(DEADLINE)
    writer.process.kill()
    writer.process.wait(DEADLINE)

    shore.append(table, "ours")

    shore.check_rows(table, "killed-0", "ours")
    copied.release()
    copied.wait_forwarded(DEADLINE)
    assert [commit.get("writer", "spark") for commit in shore.commits(table)] == ["spark", "killed", "spark"]
    assert not writer.said("ack")


def test_what_ours_claimed_and_did_not_publish_is_published_by_delta_rs_1_6_0(shore: Shore) -> None:
    table = shore.create()
    with shore.append_held(table, "ours", 1) as held:
        other = start(shore, CLASSIC, table, "other")
        end = time.monotonic() + DEADLINE
        while not other.said("ack"):
            assert time.monotonic() < end, other.outcomes.read_text()
            time.sleep(0.1)
        other.stop()
    assert held.forwarded == [412]
    shore.check_rows(table, "ours", *other.said("ack"))
    assert [commit.get("writer", "spark") for commit in shore.commits(table)][:2] == ["spark", "spark"]


def test_f12_ours_follow_delta_rs_1_6_0_to_how_it_spells_a_path(shore: Shore) -> None:
    table = shore.create("/sp ace/k=ü")
    encoded = DeltaLog(shore.services.clients, table.location.replace(" ", "%20").replace("ü", "%C3%BC"))
    shore.append(table, "before")
    other = start(shore, CLASSIC, table, "other")
    end = time.monotonic() + DEADLINE
    while not other.said("ack"):
        assert time.monotonic() < end, other.outcomes.read_text()
        time.sleep(0.1)
    rows = ["before"]
    for row in ("beside", "again"):
        shore.append(table, row)
        rows.append(row)
    other.stop()
    shore.append(table, "after")
    shore.check_rows(table, *rows, "after", *other.said("ack"))
    newest = len(shore.commits(table)) - 1
    assert max(encoded.entries()) == newest
    assert max(table.entries()) < newest
    assert table.open_entries() == encoded.open_entries() == []
