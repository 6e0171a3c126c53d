"""A copy that may not be written: no file is blamed, the others continue, and the run fails with the permission."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.stub import Stubber

from tests.support.lakes.objects import Objects
from tidegate.platform.bronze.prepare.load.load import Load
from tidegate.platform.bronze.prepared_batch import PreparedBatch, keep_named_folders
from tidegate.platform.core.bronze.hint import Event, Hint
from tidegate.platform.core.bronze.ledger import LedgerRow, Status
from tidegate.platform.core.bronze.object_state import S3Found
from tidegate.platform.core.bronze.plan import Candidate, Plan, PlannedHint
from tidegate.platform.lake.aws.s3 import NotWritable, ObjectStore, StoreError
from tidegate.platform.lake.lake_root.store import LakeStore


def candidate(key: str) -> Candidate:
    return Candidate(key, S3Found("e", 1, 0), PlannedHint(Hint(key, Event("message#0")), "manifest"))


@pytest.mark.parametrize(
    ("code", "status", "kind"),
    [("AccessDenied", 403, NotWritable), ("ExpiredToken", 403, StoreError), ("InternalError", 500, StoreError)],
)
def test_an_upload_that_is_not_allowed_is_distinct_from_every_other_failure(
    code: str, status: int, kind: type[StoreError], tmp_path: Path
) -> None:
    client = boto3.client(
        "s3",
        region_name="us-east-1",
        aws_access_key_id="-",
        aws_secret_access_key="-",
        config=Config(retries={"total_max_attempts": 1}),
    )
    file = tmp_path / "copy"
    file.write_bytes(b"x")
    with Stubber(client) as stub:
        stub.add_client_error("put_object", code, "no", status)
        with pytest.raises(StoreError, match="s3://landing/orders/_tidegate/x cannot be written") as raised:
            ObjectStore(client).upload("landing", "orders/_tidegate/x", file)
    assert type(raised.value) is kind


def test_files_that_wait_for_a_permission_are_blamed_for_nothing_and_stop_a_run_that_has_nothing_else() -> None:
    waits, good = candidate("a"), candidate("b")
    prepared = PreparedBatch(Plan([waits, good]))
    prepared.record_failure(waits, NotWritable("s3://landing/orders/_tidegate/x cannot be written"))
    assert (prepared.rows, prepared.deferred) == ([], [waits.taken.hint])
    with pytest.raises(NotWritable, match=r"_tidegate/x cannot be written\. Give Dagster's role .* 1 hints"):
        prepared.require_progress()
    prepared.commit(good, rows=1)
    prepared.require_progress()


@pytest.mark.parametrize("more", [{"rows": [None]}, {"drop": {"k": (None, None)}}])
def test_what_is_decided_without_a_copy_is_not_held_up(more: dict[str, Any]) -> None:
    prepared = PreparedBatch(Plan([candidate("a")], **more), obstacle="denied")
    prepared.require_progress()


@pytest.fixture
def table() -> Any:
    store = LakeStore(Objects(), "s3://lake/root")  # type: ignore[arg-type]
    return SimpleNamespace(lake=SimpleNamespace(store=store), objects=store.objects)


def _folders(table: Any, *names: str) -> list[str]:
    folders = [table.lake.store.uri("quarantine", "rows", "t", name) for name in names]
    for name in names:
        for place in ("00000.json", "00000-00001.json"):
            table.objects.put("lake", f"root/quarantine/rows/t/{name}/{place}", "{}")
    return folders


def test_only_folders_that_rows_name_are_kept(table: Any) -> None:
    prepared = PreparedBatch()
    prepared.folders = _folders(table, "named", "failed", "never")
    named, *_ = prepared.folders
    rows = [LedgerRow("a", Status.QUARANTINED, bad_rows_folder=named), LedgerRow("b", Status.COMMITTED)]
    keep_named_folders(table.lake.store, prepared, rows)
    assert prepared.folders == [named]
    assert {key.split("/")[4] for key in table.objects.bodies} == {"named"}


@pytest.mark.parametrize("s3_fails", [False, True])
def test_a_preparation_that_fails_leaves_no_rows_and_its_own_error(table: Any, s3_fails: bool) -> None:
    """A task completes objects before it ends, so a read that fails has complete objects, too."""

    class Failing(Load):
        def _run(self) -> PreparedBatch:
            self.prepared.folders += _folders(table, "one", "other")
            if s3_fails:
                table.lake.store.remove_folder = self._fail
            raise RuntimeError("the server is gone")

        def _fail(self, folder: str) -> None:
            raise StoreError("503")

    load = Failing.__new__(Failing)
    load.store, load.prepared = table.lake.store, PreparedBatch()
    with pytest.raises(RuntimeError, match="the server is gone"):
        load.run()
    assert bool(table.objects.bodies) is s3_fails
