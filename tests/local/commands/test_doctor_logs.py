"""The doctor on logs and entries as dead, foreign and classic writers leave them, on a local AWS."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support.log_store.delta_log import ENTRIES, DeltaLog, commit_file
from tidegate.platform.cli.check.findings import Failed, Finding
from tidegate.platform.cli.commands import doctor_logs as doctor_logs
from tidegate.platform.cli.commands.commits_migrate import TableMigration
from tidegate.platform.cli.commands.doctor import check_table, check_usable, locations
from tidegate.platform.cli.commands.doctor_logs import LogDoctor
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.lake.aws.commit_table import CommitTable, CommitTableAddress
from tidegate.platform.lake.aws.s3 import Listed, ObjectStore
from tidegate.platform.lake.lake import Lake
from tidegate.platform.lake.lake_root.store import LakeStore
from tidegate.platform.local.aws import REGION, LocalAws
from tidegate.platform.local.provision import Clients

OURS = ".tmp/00000000000000000002.json.0b2f8b0e-4f6c-8b57-9c6e-2f2f0e6f1a11"
CLASSIC = ".tmp/00000000000000000002.json.0b2f8b0e-4f6c-4b57-9c6e-2f2f0e6f1a11"
DELTA_RS = "_commit_0b2f8b0e-4f6c-4b57-9c6e-2f2f0e6f1a11.json.tmp"
DAY = 24 * 60 * 60


@pytest.fixture(scope="module")
def clients(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Clients]:
    with LocalAws(tmp_path_factory.mktemp("aws"), 0) as aws:
        found = Clients.connect(aws.endpoint, REGION, key="test", secret="test")
        found.s3.create_bucket(Bucket="lake")
        found.dynamodb.create_table(
            TableName=ENTRIES,
            AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in ("tablePath", "fileName")],
            KeySchema=[
                {"AttributeName": "tablePath", "KeyType": "HASH"},
                {"AttributeName": "fileName", "KeyType": "RANGE"},
            ],
            BillingMode="PAY_PER_REQUEST",
        )
        yield found


class Table(DeltaLog):
    """A Delta table's log, written by hand, and the findings of the doctor."""

    def __init__(self, clients: Clients, name: str) -> None:
        super().__init__(clients, f"s3a://lake/{name}")
        self.doctor = LogDoctor(
            ObjectStore(clients.s3), CommitTable(clients.dynamodb, CommitTableAddress(ENTRIES)), grace=0
        )

    def commit(self, version: int, body: str = "commit") -> None:
        self.write(commit_file(version), body)

    def findings(self) -> dict[str, tuple[bool, str]]:
        return {
            finding.what.removeprefix("t: "): (finding.ok, finding.detail)
            for finding in self.doctor.examine("t", self.location)
        }


@pytest.fixture
def table(clients: Clients, request: pytest.FixtureRequest) -> Table:
    made = Table(clients, request.node.name)
    made.commit(0)
    made.commit(1)
    made.claim(0, of(0), complete=True)
    made.claim(1, of(1), complete=True)
    return made


def of(version: int, staged: str = OURS) -> str:
    """Return a staged name like `staged` of version 2, for another version."""
    return staged.replace(commit_file(2), commit_file(version))


def list_otherwise(monkeypatch: pytest.MonkeyPatch, otherwise: Callable[[Listed], Listed | None]) -> None:
    """Make listings show each object as `otherwise` returns it, or omit it."""
    under = ObjectStore.list_under

    def changed(*args: Any) -> Iterator[Listed]:
        return (item for listed in under(*args) if (item := otherwise(listed)) is not None)

    monkeypatch.setattr(ObjectStore, "list_under", changed)


def test_a_log_in_order(table: Table) -> None:
    found = table.findings()
    assert found["entries"] == (True, f"version 1, under {table.location}")
    assert found["staged commits"] == (True, "none")


def test_a_table_that_is_not_there_yet(clients: Clients) -> None:
    assert Table(clients, "nothing").findings() == {
        "entries": (True, "no table yet"),
        "staged commits": (True, "none"),
    }


def test_a_pending_commit_is_a_problem_with_the_remedy(table: Table) -> None:
    table.write(OURS, "commit")
    table.claim(2, OURS)
    ok, detail = table.findings()["entries"]
    assert not ok
    assert "version 2 is pending, staged 0 minutes ago, since" in detail
    assert "--repair" in detail
    assert table.findings()["staged commits"] == (True, "1, 0 to sweep with --repair")


def test_a_claim_without_bytes_names_the_item_to_delete(table: Table) -> None:
    table.claim(2, OURS)
    ok, detail = table.findings()["entries"]
    assert not ok
    assert "delete the item 00000000000000000002.json" in detail


def test_older_entries_of_dead_writers_are_not_a_problem_and_can_be_closed(table: Table) -> None:
    table.claim(0, OURS)
    ok, detail = table.findings()["entries"]
    assert ok
    assert "below it 1 entries of dead writers are open, the oldest for version 0, published 0 minutes ago" in detail
    assert table.doctor.close(table.location) == 1
    assert "dead writers" not in table.findings()["entries"][1]
    assert int(table.entries()[0]["expireTime"]["N"]) > 0
    assert table.doctor.close(table.location) == 0


def test_a_pending_commit_is_not_closed(table: Table) -> None:
    table.write(OURS, "commit")
    table.claim(2, OURS)
    assert table.doctor.close(table.location) == 0
    assert table.open_entries() == [2]


@pytest.mark.parametrize(("version", "complete"), [(2, True), (7, False), (5000, True)])
def test_entries_of_a_dropped_table(table: Table, version: int, complete: bool) -> None:
    table.claim(version, OURS, complete=complete)
    ok, detail = table.findings()["entries"]
    assert not ok
    assert "dropped" in detail
    assert f"tablePath {table.location}" in detail


def test_other_writers_entries_under_two_spellings_are_a_problem(table: Table) -> None:
    for scheme in ("s3", "s3a"):
        table.spelled(scheme).claim(1, of(1, CLASSIC), complete=True)
    ok, detail = table.findings()["entries"]
    assert not ok
    assert "do not see each other" in detail


def test_what_was_committed_before_ours_went_over_to_another_spelling_still_counts(table: Table) -> None:
    other = table.spelled("s3")
    table.commit(2)
    other.claim(2, CLASSIC, complete=True)
    table.claim(0, OURS)
    ok, detail = table.findings()["entries"]
    assert ok, detail
    assert detail.startswith(f"version 2, under {other.location}; below it 1 entries of dead writers are open")
    assert table.doctor.close(table.location) == 1
    assert table.findings()["entries"] == (True, f"version 2, under {other.location}")


def test_commits_of_writers_without_dynamodb_are_counted(table: Table) -> None:
    table.commit(2)
    table.commit(3)
    table.claim(3, of(3), complete=True)
    ok, detail = table.findings()["entries"]
    assert ok
    assert "; 1 recent commits are of writers without DynamoDB" in detail


@pytest.mark.parametrize("staged", [CLASSIC, DELTA_RS], ids=["Delta's", "delta-rs's"])
def test_a_classic_writer_together_with_one_without_dynamodb_is_a_problem(table: Table, staged: str) -> None:
    table.commit(2)
    table.claim(2, staged, complete=True)
    assert table.findings()["entries"][0]
    table.commit(3)
    ok, detail = table.findings()["entries"]
    assert not ok
    assert "24 hours 1 are by writers with another DynamoDB log store and 1 by writers without DynamoDB" in detail
    assert "Switch its writers to Tidegate's log store" in detail


@pytest.mark.parametrize("old", [2, 3], ids=["classic", "foreign"])
def test_a_kind_of_writer_that_has_left_is_not_a_problem(
    table: Table, monkeypatch: pytest.MonkeyPatch, old: int
) -> None:
    table.commit(2)
    table.claim(2, CLASSIC, complete=True)
    table.commit(3)
    table.commit(4)
    table.claim(4, of(4), complete=True)

    def aged(item: Listed) -> Listed:
        return replace(item, modified=time.time() - DAY - 1) if item.key.endswith(commit_file(old)) else item

    list_otherwise(monkeypatch, aged)
    assert table.findings()["entries"][0]


@pytest.mark.parametrize("version", [0, 7])
@pytest.mark.parametrize("complete", [True, False])
def test_entries_of_a_table_whose_log_is_gone(clients: Clients, version: int, complete: bool) -> None:
    gone = Table(clients, f"gone-{version}-{complete}")
    gone.claim(version, OURS, complete=complete)
    ok, detail = gone.findings()["entries"]
    assert not ok
    assert re.search(r"elete the items? ", detail)


@pytest.mark.parametrize("staged", [CLASSIC, DELTA_RS])
@pytest.mark.parametrize("cleaned", [False, True], ids=["", "after log cleanup"])
def test_another_writer_s_lost_commit_is_found_and_never_swept(
    staged: str, cleaned: bool, clients: Clients, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    table = Table(clients, f"lost-{request.node.callspec.id}")
    table.commit(3 if cleaned else 2, "foreign")
    table.claim(2, staged, complete=True)
    table.write(staged, "classic")
    ok, detail = table.findings()["staged commits"]
    assert not ok
    assert "possibly lost" in detail
    assert staged in detail
    monkeypatch.setattr(doctor_logs, "SAFE_AGE", -1)
    assert table.doctor.sweep(table.location) == 0
    assert staged in table.names()


@pytest.mark.parametrize("staged", [CLASSIC, DELTA_RS])
def test_a_lost_commit_below_the_newest_entry_is_found_and_its_evidence_stays(
    table: Table, staged: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The classic writer did not see version 2, which another writer published, and claimed it after our version 3.
    table.commit(2, "foreign")
    table.commit(3)
    table.claim(3, of(3), complete=True)
    table.write(staged, "classic")
    table.claim(2, staged)
    ok, detail = table.findings()["staged commits"]
    assert not ok
    assert "possibly lost" in detail
    assert staged in detail
    assert table.doctor.close(table.location) == 1
    assert table.open_entries() == []
    assert "expireTime" not in table.entries()[2]
    monkeypatch.setattr(doctor_logs, "SAFE_AGE", -1)
    assert table.doctor.sweep(table.location) == 0
    assert table.findings()["staged commits"] == (False, detail)


@pytest.mark.parametrize("staged", ["commit", None], ids=["staged", "gone"])
def test_a_classic_writer_that_died_before_it_completed_has_lost_nothing(table: Table, staged: str | None) -> None:
    table.commit(2)
    table.commit(3)
    table.claim(3, of(3), complete=True)
    table.claim(2, CLASSIC)
    if staged is not None:
        table.write(CLASSIC, staged)
    assert table.findings()["staged commits"][0]
    assert table.doctor.close(table.location) == 1
    assert int(table.entries()[2]["expireTime"]["N"]) > 0


def test_a_classic_commit_made_while_the_doctor_looks_is_not_lost(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    table.write(CLASSIC, "commit")
    table.commit(2)
    table.claim(2, CLASSIC, complete=True)
    list_otherwise(monkeypatch, lambda item: None if item.key.endswith(commit_file(2)) else item)
    assert table.findings()["staged commits"] == (True, "1, 0 to sweep with --repair")


def test_what_the_loser_of_a_race_staged_is_not_a_lost_commit(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    table.write(CLASSIC, "loser")
    table.commit(2, "winner")
    table.claim(2, CLASSIC.replace("0b2f", "1b2f"), complete=True)
    assert table.findings()["staged commits"] == (True, "1, 0 to sweep with --repair")
    monkeypatch.setattr(doctor_logs, "SAFE_AGE", -1)
    assert table.doctor.sweep(table.location) == 1


def test_staged_commits_of_unknown_outcome_are_kept(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    table.write(CLASSIC, "a loser's, or lost")
    table.commit(2, "winner")
    monkeypatch.setattr(doctor_logs, "SAFE_AGE", -1)
    expected = "1, 0 to sweep with --repair, 1 of other writers kept, whose entries have expired"
    assert table.findings()["staged commits"] == (True, expected)
    assert table.doctor.sweep(table.location) == 0


def test_old_staged_commits_are_swept_and_claimed_ones_kept(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    table.write(OURS.replace("0b2f", "1b2f"), "commit")
    table.write(CLASSIC.replace("0002.json.0b", "0001.json.1b"), "commit")  # its content was published
    table.write(OURS, "commit")
    table.claim(2, OURS)
    assert table.findings()["staged commits"] == (True, "3, 0 to sweep with --repair")
    monkeypatch.setattr(doctor_logs, "SAFE_AGE", -1)
    assert table.findings()["staged commits"] == (True, "3, 2 to sweep with --repair")
    assert table.doctor.sweep(table.location) == 2
    assert {name for name in table.names() if not name.endswith(".json")} == {OURS}


def test_without_entries_what_may_be_claimed_is_kept(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    """The table of entries cannot be read, and a claim in it may be pending."""
    table.write(OURS, "claimed")
    table.write(of(1), "published long ago")
    table.doctor = LogDoctor(ObjectStore(table._clients.s3), None, used=False)
    monkeypatch.setattr(doctor_logs, "SAFE_AGE", -1)
    assert table.findings()["staged commits"] == (True, "2, 1 to sweep with --repair")
    assert not table.doctor.has_pending(table.location)
    assert table.doctor.sweep(table.location) == 1
    assert table.read(OURS) == "claimed"


def test_the_dynamodb_table_must_be_there_and_expire_its_items(clients: Clients, tmp_path: Path) -> None:
    with pytest.raises(Failed, match="there is none"):
        check_table(CommitTable(clients.dynamodb, CommitTableAddress("another")))
    entries = CommitTable(clients.dynamodb, CommitTableAddress(ENTRIES))
    with pytest.raises(Failed, match="TTL is not enabled"):
        check_table(entries)
    clients.dynamodb.update_time_to_live(
        TableName=ENTRIES, TimeToLiveSpecification={"Enabled": True, "AttributeName": "expireTime"}
    )
    assert check_table(entries).startswith(f"PAY_PER_REQUEST, TTL on expireTime, in {REGION} at http://127.0.0.1:")
    lossy = CommitTable(clients.dynamodb, CommitTableAddress(ENTRIES, possibly_lost=2))
    with pytest.raises(Failed, match="the server has closed 2 commits of other writers that are in no log"):
        check_table(lossy)
    assert check_usable(lossy) == check_table(entries), "a move would wait for a restart of the server"


def test_a_damaged_birth_record_is_a_problem_and_hides_no_other_table(clients: Clients) -> None:
    config = LakeConfig.model_validate(
        {"lake": {"root": "s3://lake/births"}, "queues": [{"name": "q"}], "buckets": ["landing"], "tables": []}
    )
    store = LakeStore(ObjectStore(clients.s3), config.lake.root)
    clients.s3.put_object(Bucket="lake", Key="births/tables/landing.a.json", Body="{")
    store.births.ensure_birth("landing.b", "b", registered=True)
    problem, *others = locations(Lake(config, store, None, []))  # type: ignore[arg-type]
    assert isinstance(problem, Finding)
    assert (problem.what, problem.ok) == ("table landing.a: where it is", False)
    assert "landing.a.json is not a birth record" in problem.detail
    assert problem.detail.endswith("restore its first version")
    assert others == [("bronze.b", "s3a://landing/b"), ("ledger.b", "s3a://lake/births/ledger/landing.b")]


@pytest.fixture
def unused(table: Table) -> Table:
    """Return a table to which the lake itself commits without DynamoDB."""
    table.doctor = LogDoctor(
        ObjectStore(table._clients.s3), CommitTable(table._clients.dynamodb, CommitTableAddress(ENTRIES)), 0, used=False
    )
    return table


def test_a_lake_without_dynamodb_has_no_entries_of_its_own(unused: Table) -> None:
    unused.commit(2)
    assert unused.findings()["entries"] == (True, f"version 2, under {unused.location}")


@pytest.mark.parametrize("staged", [CLASSIC, DELTA_RS])
def test_a_writer_that_loses_commits_is_a_problem_of_a_lake_without_dynamodb(unused: Table, staged: str) -> None:
    """No commit of the lake itself must be among the recent ones: the next one will be."""
    unused.commit(2)
    unused.claim(2, staged, complete=True)
    ok, detail = unused.findings()["entries"]
    assert not ok
    assert re.match(
        r"1 commits of the last 24 hours are by writers with another DynamoDB log store: .*Stop them", detail
    )
    unused.forget(2)
    assert unused.findings()["entries"][0]


def test_who_settles_what_is_pending_depends_on_the_lake(unused: Table) -> None:
    unused.write(OURS, "commit")
    unused.claim(2, OURS)
    ok, detail = unused.findings()["entries"]
    assert not ok
    assert detail.endswith("since its writer died; --repair settles it")


def test_a_claim_of_a_writer_that_lives_is_not_a_dead_writer_s(
    table: Table, clients: Clients, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It publishes while the doctor waits, and has claimed the next version by then."""
    table.write(OURS, "commit")
    table.claim(2, OURS)

    def publish_and_claim(_: float) -> None:
        table.commit(2)
        table.claim(2, OURS, complete=True)
        table.claim(3, of(3))

    monkeypatch.setattr(time, "sleep", publish_and_claim)
    assert table.findings()["entries"] == (True, f"version 2, under {table.location}")


class Settled(TableMigration):
    """A migration whose server publishes what is pending, or closes it."""

    def __init__(self, table: Table) -> None:
        super().__init__(table.doctor, self._publish)
        self._table = table

    def _publish(self, _: str) -> None:
        for version in self._table.open_entries():
            staged = self._table.entries()[version]["tempPath"]["S"]
            if version not in self._table.versions():
                if staged not in self._table.names():
                    continue
                self._table.commit(version, self._table.read(staged))
            # Without a time at which it expires, as an entry that is evidence.
            self._table.claim(version, staged, complete=True)


def test_a_table_with_nothing_pending_is_ready_to_move(unused: Table) -> None:
    review = Settled(unused).prepare(unused.location)
    assert (review.problem, review.kept) == ("", "")
    assert review.through_dynamodb is not None
    assert time.time() - review.through_dynamodb < 60
    assert review.without_dynamodb is None
    unused.commit(2)
    review = Settled(unused).prepare(unused.location)
    assert review.without_dynamodb is not None
    assert review.without_dynamodb >= review.through_dynamodb  # type: ignore[operator]


def test_only_an_open_entry_is_pending(unused: Table) -> None:
    assert not unused.doctor.has_pending(unused.location)
    unused.spelled("s3").claim(2, of(2))
    assert unused.doctor.has_pending(unused.location)


def test_without_yes_nothing_changes(unused: Table) -> None:
    unused.write(OURS, "commit")
    unused.claim(2, OURS)
    before = unused.entries(), unused.names()
    assert "is pending" in Settled(unused).look(unused.location).problem
    assert (unused.entries(), unused.names()) == before


def test_the_pending_commit_of_a_writer_that_acknowledges_early_is_published_and_the_move_waits_for_it(
    unused: Table,
) -> None:
    unused.write(CLASSIC, "acknowledged")
    unused.claim(2, CLASSIC)
    review = Settled(unused).prepare(unused.location)
    assert unused.read(commit_file(2)) == "acknowledged"
    assert "by writers with another DynamoDB log store" in review.problem


def test_evidence_of_a_lost_commit_is_kept_by_a_move_and_by_its_sweep(
    unused: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    unused.write(CLASSIC, "acknowledged")
    unused.claim(2, CLASSIC)
    unused.commit(2, "faster")
    unused.commit(3)
    list_otherwise(monkeypatch, lambda item: replace(item, modified=item.modified - 3 * DAY))
    review = Settled(unused).prepare(unused.location)
    assert unused.open_entries() == []
    assert "expireTime" not in unused.entries()[2]
    assert (review.problem, CLASSIC in review.kept) == ("", True)
    assert unused.doctor.sweep(unused.location) == 0
    assert unused.read(CLASSIC) == "acknowledged"


@pytest.mark.parametrize("complete", [True, False])
def test_entries_beyond_the_log_stop_a_move_until_a_person_deletes_them(unused: Table, complete: bool) -> None:
    """The table was dropped and created again, or its log has lost commits. Only a person knows."""
    unused.claim(9, of(9), complete=complete)
    review = Settled(unused).prepare(unused.location)
    assert "version 9, but the log ends at 1: it belongs to a dropped table, and writes through" in review.problem
    unused.forget(9)
    assert Settled(unused).prepare(unused.location).problem == ""


def test_entries_below_the_head_do_not_hinder_the_way_back(table: Table) -> None:
    table.claim(1, of(1))
    for version in range(2, 7):
        table.commit(version)
    table.claim(0, of(0))
    migration = Settled(table)
    assert migration.prepare(table.location).problem == ""
    assert [version for version in table.open_entries() if version != 1] == []


def test_writers_that_do_not_see_each_other_stop_a_move(unused: Table) -> None:
    for scheme in ("s3a", "s3"):
        unused.spelled(scheme).claim(2, CLASSIC, complete=True)
    assert "whose writers do not see each other" in Settled(unused).prepare(unused.location).problem
