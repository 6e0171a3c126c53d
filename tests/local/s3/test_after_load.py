"""`after_load` on a real S3: files are overwritten at any time, and runs die at any point."""

from __future__ import annotations

import itertools
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.support.lakes.seams import dying_in
from tests.support.servers.fault_proxy import FaultProxy
from tidegate.platform.bronze import after_load as after
from tidegate.platform.bronze.after_load import SEAMS, note_loaded_files, remove_loaded, retry_noted
from tidegate.platform.cli.check.after_load import check_after_load
from tidegate.platform.core.bronze.ledger import LastState, LedgerRow, Status
from tidegate.platform.core.bronze.object_state import S3Found
from tidegate.platform.core.config.after_load import MoveOrTag
from tidegate.platform.core.keys.table_key import TableKey
from tidegate.platform.lake.aws.bucket import Bucket
from tidegate.platform.lake.aws.s3 import ObjectStore, StoreError
from tidegate.platform.lake.lake_root.after_notes import files_of
from tidegate.platform.lake.lake_root.batches import GenerationRetired
from tidegate.platform.lake.lake_root.store import LakeStore
from tidegate.platform.lake.ledger import Clock
from tidegate.platform.local.aws import REGION
from tidegate.platform.local.provision import Clients

COMMITTED = Status.COMMITTED


class Place:
    """The prefix of a table, another folder, and a lake whose ledger is a dictionary.

    Attributes:
        states: the last states in the ledger.
    """

    def __init__(self, endpoint: str, after_load: Any, *, versioned: bool = False) -> None:
        tag = uuid.uuid4().hex[:8]
        self.bucket = f"landing-{tag}"
        self.s3 = Clients.connect(endpoint, REGION, key="test", secret="test").s3
        for bucket in (self.bucket, f"lake-{tag}"):
            self.s3.create_bucket(Bucket=bucket)
        if versioned:
            self.s3.put_bucket_versioning(Bucket=self.bucket, VersioningConfiguration={"Status": "Enabled"})
        if after_load == "move":
            after_load = MoveOrTag(move=f"s3://{self.bucket}/done/")
        self.states: dict[str, LastState] = {}
        self.log: list[str] = []
        key = TableKey(self.bucket, "in/")
        self.table: Any = SimpleNamespace(
            key=key,
            table_key=key.encode(),
            spec=SimpleNamespace(after_load=after_load, max_files=100, completion=None),
            birth=SimpleNamespace(registered=False),
            ledger=SimpleNamespace(clock=lambda: Clock(1, 1), memory=self._memory),
        )
        self.lake: Any = SimpleNamespace(store=LakeStore(ObjectStore(self.s3), f"s3://lake-{tag}/root"))
        store, table_key = self.lake.store, self.table.table_key
        self.table.lake, self.table.batches = self.lake, store.batches(table_key)
        self.table.inbox, self.table.after_notes = store.inbox.table_inbox(table_key), store.after_notes(table_key)
        self.table.source = Bucket(store.objects, self.bucket)

    def _memory(self, version: int, n: int, keys: list[str]) -> tuple[None, dict[str, LastState]]:
        return None, {key: self.states[key] for key in keys if key in self.states}

    def put(self, name: str, body: str, **more: Any) -> str:
        """Write a file. Returns its etag."""
        return str(self.s3.put_object(Bucket=self.bucket, Key=f"in/{name}", Body=body, **more)["ETag"].strip('"'))

    def load(self, name: str, body: str, **more: Any) -> dict[str, str]:
        """Write a file and add it to the ledger."""
        etag = self.put(name, body, **more)
        self.states[f"in/{name}"] = LastState(COMMITTED, etag, 1)
        return {f"in/{name}": etag}

    def leave(self, count: int) -> dict[str, str]:
        """Write loaded files with notes. Returns their etags by key."""
        left = {key: etag for i in range(count) for key, etag in self.load(f"{i}.csv", "1").items()}
        assert note_loaded_files(self.table.spec, self.table.after_notes, left, self.states) == count
        return left

    def there(self) -> dict[str, str]:
        listed = self.s3.list_objects_v2(Bucket=self.bucket).get("Contents", [])
        return {
            item["Key"]: self.s3.get_object(Bucket=self.bucket, Key=item["Key"])["Body"].read().decode()
            for item in listed
        }

    def tags(self, name: str) -> dict[str, str]:
        found = self.s3.get_object_tagging(Bucket=self.bucket, Key=f"in/{name}")["TagSet"]
        return {tag["Key"]: tag["Value"] for tag in found}

    def batch(self, *rows: LedgerRow) -> None:
        remove_loaded(self.table, SimpleNamespace(rows=rows, n=1), self.log.append)  # type: ignore[arg-type]

    def taken(self) -> dict[str, str | None]:
        """Return the files that the inbox reports as removed."""
        inbox = self.lake.store.inbox
        manifests = inbox.table_inbox(self.table.table_key).read(
            [manifest.id for manifest in inbox.waiting_manifests(self.table.table_key)]
        )
        return {hint.key: hint.cause.etag for manifest in manifests for hint in manifest.hints}

    def waits(self) -> int:
        return files_of(self.lake.store.after_notes(self.table.table_key).ids())


MakePlace = Callable[..., Place]


@pytest.fixture
def place(proxy: FaultProxy) -> Iterator[MakePlace]:
    yield lambda after_load, **more: Place(proxy.endpoint, after_load, **more)
    proxy.clear()


def row(loaded: dict[str, str], status: Status = COMMITTED, **more: Any) -> LedgerRow:
    ((key, etag),) = loaded.items()
    return LedgerRow(key, status, etag=etag, **more)


def overwrite_at(monkeypatch: pytest.MonkeyPatch, seam: str, write: Callable[[], object]) -> None:
    monkeypatch.setattr(after, "seam", lambda name: write() if name == seam else None)


@pytest.mark.parametrize("versioned", [False, True], ids=["plain", "versioned"])
def test_what_is_loaded_is_moved_and_what_is_not_stays(place: MakePlace, versioned: bool) -> None:
    at = place("move", versioned=versioned)
    a, again = at.load("a.csv", "1"), at.load("day/b.csv.gz", "2", Tagging="team=shop")
    partly, bad = at.load("partly.csv", "3"), at.load("bad.csv", "4")
    at.states["in/partly.csv"] = LastState(COMMITTED, partly["in/partly.csv"], 1, bad_rows=1)
    at.states["in/bad.csv"] = LastState(Status.QUARANTINED, bad["in/bad.csv"], 1)
    at.put("new.csv", "5")
    at.batch(
        row(a),
        row(again, Status.DUPLICATE),
        row(partly, bad_rows=1),
        row(bad, Status.QUARANTINED),
        row(bad, Status.DUPLICATE),
    )
    assert at.there() == {
        "done/a.csv": "1", "done/day/b.csv.gz": "2", "in/partly.csv": "3", "in/bad.csv": "4", "in/new.csv": "5",
    }  # fmt: skip
    assert at.taken() == a | again
    assert at.waits() == 0
    tags = at.s3.get_object_tagging(Bucket=at.bucket, Key="done/day/b.csv.gz")["TagSet"]
    assert tags == [{"Key": "team", "Value": "shop"}]


def test_files_of_one_name_are_both_kept(place: MakePlace) -> None:
    at = place("move")
    first = at.load("a.csv.gz", "1")
    at.batch(row(first))
    second = at.load("a.csv.gz", "2")
    at.batch(row(second))
    assert at.there() == {"done/a.csv.gz": "1", f"done/a.{second['in/a.csv.gz']}.csv.gz": "2"}


def test_files_of_one_name_that_two_tables_move_at_once_are_both_kept(
    place: MakePlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """lake.yaml refuses one folder for two tables, but other writers use it too. The local S3 ignores the condition."""
    at = place("move")
    loaded = at.load("a.csv", "ours")
    copy = at.s3.copy_object

    def theirs_first(**asked: Any) -> Any:
        if asked["Key"] == "done/a.csv":
            at.s3.put_object(Bucket=at.bucket, Key="done/a.csv", Body="theirs")
        if asked.get("IfNoneMatch") == "*" and asked["Key"] in at.there():
            raise ClientError(
                {"Error": {"Code": "PreconditionFailed"}, "ResponseMetadata": {"HTTPStatusCode": 412}}, "C"
            )
        return copy(**asked)

    monkeypatch.setattr(at.s3, "copy_object", theirs_first)
    at.batch(row(loaded))
    assert at.there() == {"done/a.csv": "theirs", f"done/a.{loaded['in/a.csv']}.csv": "ours"}
    assert at.taken() == loaded


@pytest.mark.parametrize("checksum", [True, False], ids=["with a checksum", "without"])
def test_a_copy_that_has_another_etag_than_its_source_is_known_again(
    checksum: bool, place: MakePlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As with a multipart upload, or a bucket encrypted by KMS."""
    at = place("move")
    loaded = at.load("a.csv", "1")
    found = at.lake.store.objects.head(at.bucket, "in/a.csv")
    assert isinstance(found, S3Found)
    assert found.checksum
    head = at.lake.store.objects.head

    def another_etag(bucket: str, key: str) -> Any:
        present = head(bucket, key)
        if not key.startswith("done/") or not isinstance(present, S3Found):
            return present
        return replace(present, etag=f"{len(key)}-1", checksum=present.checksum if checksum else None)

    monkeypatch.setattr(at.lake.store.objects, "head", another_etag)
    entry = row(loaded, size=found.size, checksum=found.checksum)
    with monkeypatch.context() as refusing:
        refusing.setattr(after, "_delete", refused)
        for _ in range(4):
            at.batch(entry)
    copies = {"done/a.csv"} if checksum else {"done/a.csv", f"done/a.{loaded['in/a.csv']}.csv"}
    assert set(at.there()) == {"in/a.csv", *copies}
    with dying_in(after, "after-delete"):
        at.batch(entry)
    at.batch(entry)
    assert set(at.there()) == copies
    assert at.taken() == loaded


def refused(*asked: Any) -> bool:
    raise StoreError("AccessDenied")


def test_the_same_bytes_with_another_etag_are_removed_too_under_the_etag_of_the_ledger(
    place: MakePlace,
) -> None:
    at = place("delete")
    loaded = at.load("a.csv", "1")
    found = at.lake.store.objects.head(at.bucket, "in/a.csv")
    again = row(loaded, Status.DUPLICATE, size=found.size, checksum=found.checksum)
    at.states["in/a.csv"] = LastState(COMMITTED, "another", 1, size=2, checksum=found.checksum)
    at.batch(again)
    assert "in/a.csv" in at.there(), "these are other bytes"
    at.states["in/a.csv"] = LastState(COMMITTED, "another", 1, size=1, checksum=found.checksum)
    at.batch(again)
    assert at.there() == {}
    assert at.taken() == {"in/a.csv": "another"}


@pytest.mark.parametrize("moment", ["before", "between two groups of files"])
def test_a_run_that_a_reset_overtook_removes_nothing(
    moment: str, place: MakePlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reset relies on the existing files."""
    at = place("delete")
    a, b = at.load("a.csv", "1"), at.load("b.csv", "2")

    def reset() -> None:
        at.table.batches.retire(1, "somebody")

    if moment == "before":
        reset()
    else:
        monkeypatch.setattr(after, "_FILES_IN_PARALLEL", 1)
        overwrite_at(monkeypatch, "after-delete", reset)
    with pytest.raises(GenerationRetired):
        at.batch(row(a), row(b))
    first = {} if moment == "before" else a
    assert set(at.there()) == {*a, *b} - set(first)
    assert (at.taken(), at.waits()) == (first, 0)


@pytest.mark.parametrize("after_load", ["move", "delete"])
@pytest.mark.parametrize("moment", ["before", *SEAMS[:1]])
def test_a10_a_file_that_is_overwritten_before_its_removal_stays(
    after_load: str, moment: str, place: MakePlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = place(after_load)
    loaded = at.load("a.csv", "1")
    if moment == "before":
        at.put("a.csv", "2")
    else:
        overwrite_at(monkeypatch, moment, lambda: at.put("a.csv", "2"))
    at.batch(row(loaded))
    assert at.there()["in/a.csv"] == "2"
    assert at.taken() == {}
    assert at.waits() == 0, "its new bytes have an event of their own, and a batch then"


@pytest.mark.parametrize("after_load", ["move", "delete"])
@pytest.mark.parametrize("seam", SEAMS)
def test_a_run_that_dies_while_it_removes_files_is_repeated(
    seam: str, after_load: str, place: MakePlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = place(after_load)
    loaded = at.load("a.csv", "1")
    with dying_in(after, seam):
        at.batch(row(loaded))
    for _ in range(2):
        at.batch(row(loaded))
        assert at.there() == ({"done/a.csv": "1"} if after_load == "move" else {})
        assert at.taken() == loaded


def test_a_producer_s_own_removal_is_not_reported_as_ours_where_nothing_was_moved(place: MakePlace) -> None:
    at = place("move")
    loaded = at.load("a.csv", "1")
    at.s3.delete_object(Bucket=at.bucket, Key="in/a.csv")
    at.batch(row(loaded))
    assert (at.there(), at.taken(), at.waits()) == ({}, {}, 0)


@pytest.mark.parametrize("versioned", [False, True], ids=["plain", "versioned"])
def test_tags_join_those_that_are_there_and_only_of_what_was_loaded(
    versioned: bool, place: MakePlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = place(MoveOrTag(tag={"tidegate": "loaded"}), versioned=versioned)
    a, b = at.load("a.csv", "1", Tagging="team=shop"), at.load("b.csv", "2")
    changed = at.put("b.csv", "3", Tagging="team=shop&tidegate=loaded")
    at.batch(row(a), row(b))
    assert at.tags("a.csv") == {"team": "shop", "tidegate": "loaded"}
    assert at.tags("b.csv") == {"team": "shop"}, "a run that died had tagged it"
    assert (at.taken(), at.waits()) == ({}, 0)
    # Overwritten after it was read.
    store = at.lake.store.objects
    read = store.tags

    def overwritten_first(*arguments: Any) -> dict[str, str]:
        monkeypatch.setattr(store, "tags", read)
        at.put("b.csv", "4", Tagging="team=web")
        return read(*arguments)

    monkeypatch.setattr(store, "tags", overwritten_first)
    at.batch(row({"in/b.csv": changed}))
    assert at.tags("b.csv") == {"team": "web"}


def test_what_cannot_be_moved_is_tried_again_by_the_next_run(place: MakePlace, proxy: FaultProxy) -> None:
    at = place("move")
    a, b = at.load("a.csv", "1"), at.load("b.csv", "2")
    body = b"<Error><Code>AccessDenied</Code><Message>not allowed</Message></Error>"
    proxy.status("PUT", "/done/b", 403, None, body=body)
    at.batch(row(a), row(b))
    assert at.there() == {"done/a.csv": "1", "in/b.csv": "2"}
    assert at.taken() == a
    retry_noted(at.table, at.log.append)
    (note,) = at.lake.store.after_notes(at.table.table_key).read(at.lake.store.after_notes(at.table.table_key).ids())
    assert list(note.keys) == ["in/b.csv"]
    assert "AccessDenied" in note.keys["in/b.csv"]
    assert "tried again by the next run" in at.log[-1]
    proxy.clear()
    retry_noted(at.table, at.log.append)
    assert at.there() == {"done/a.csv": "1", "done/b.csv": "2"}
    assert (at.taken(), at.waits()) == (a | b, 0)


def test_what_waits_is_done_bit_by_bit_and_what_failed_rests_before_it_is_tried_again(
    place: MakePlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = place("delete")
    monkeypatch.setattr(after, "_MAX_NOTED_FILES", 2)
    at.table.spec.max_files = 3
    left = at.leave(5)
    now = time.time()
    retry_noted(at.table, at.log.append, at_once=False, now=lambda: now + 200)
    assert (len(at.there()), at.waits()) == (5, 5)
    for waits in (3, 1, 0):
        retry_noted(at.table, at.log.append, at_once=False, now=lambda: now + 600)
        assert (len(at.there()), at.waits()) == (waits, waits)
    assert at.taken() == left


def test_what_waits_takes_little_of_a_run_s_time_and_the_rest_waits_on(
    place: MakePlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Copies of large files take time, and new files wait meanwhile."""
    at = place("delete")
    monkeypatch.setattr(after, "_FILES_IN_PARALLEL", 1)
    left = at.leave(5)
    clock = itertools.count(time.time(), 8)
    retry_noted(at.table, at.log.append, now=lambda: next(clock))
    assert (len(at.there()), at.waits()) == (2, 2)
    retry_noted(at.table, at.log.append)
    assert (at.taken(), at.waits()) == (left, 0)


def test_a_listing_finds_what_was_loaded_and_not_removed(place: MakePlace) -> None:
    at = place("delete")
    loaded, partly = at.load("a.csv", "1"), at.load("partly.csv", "2")
    at.states["in/partly.csv"] = LastState(COMMITTED, partly["in/partly.csv"], 1, bad_rows=1)
    new = {"in/new.csv": at.put("new.csv", "3")}
    assert note_loaded_files(at.table.spec, at.table.after_notes, loaded | partly | new, at.states) == 1
    retry_noted(at.table, at.log.append)
    assert sorted(at.there()) == ["in/new.csv", "in/partly.csv"]
    assert at.taken() == loaded


def test_at_an_endpoint_that_ignores_the_condition_nothing_is_removed(
    place: MakePlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = place("delete")
    loaded = at.load("a.csv", "1")
    delete = at.s3.delete_object
    plain = ("Bucket", "Key")
    monkeypatch.setattr(at.s3, "delete_object", lambda **asked: delete(**{name: asked[name] for name in plain}))
    at.batch(row(loaded))
    assert "in/a.csv" in at.there()
    (note,) = at.lake.store.after_notes(at.table.table_key).read(at.lake.store.after_notes(at.table.table_key).ids())
    assert "If-Match" in note.keys["in/a.csv"]
    with pytest.raises(StoreError, match="after_load can only"):
        at.lake.store.identity.prove_conditional_delete()


@pytest.mark.parametrize("after_load", ["move", "delete", MoveOrTag(tag={"a": "b"})], ids=["move", "delete", "tag"])
def test_check_says_which_permission_is_missing(after_load: Any, place: MakePlace, proxy: FaultProxy) -> None:
    at = place(after_load)
    spec: Any = SimpleNamespace(
        name="sales", table_key=at.table.key, after_load=at.table.spec.after_load, prefix=at.table.key.uri
    )
    good = check_after_load(at.s3, spec)
    assert good.ok, good
    assert at.there() == {}
    body = b"<Error><Code>AccessDenied</Code><Message>not allowed</Message></Error>"
    proxy.status("PUT|DELETE", "/in/_tidegate-check", 403, None, body=body)
    denied = check_after_load(at.s3, spec)
    assert not denied.ok
    missing = "s3:PutObjectTagging" if isinstance(after_load, MoveOrTag) else "s3:DeleteObject"
    assert f"{missing} on arn:aws:s3:::{at.bucket}/in/*" in str(denied)


def test_registered_files_are_left_alone(place: MakePlace) -> None:
    at = place("delete")
    loaded = at.load("a.csv", "1")
    at.table.birth.registered = True
    at.batch(row(loaded))
    assert at.there() == {"in/a.csv": "1"}
    assert at.waits() == 1
