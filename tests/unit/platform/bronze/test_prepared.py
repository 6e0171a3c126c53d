"""A copy that may not be written: no file is blamed, the others continue, and the run fails with the permission."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.stub import Stubber

from tidegate.platform.bronze.prepared import PreparedBatch
from tidegate.platform.core.bronze.hint import Event, Hint
from tidegate.platform.core.bronze.object_state import S3Found
from tidegate.platform.core.bronze.plan import Candidate, Plan, PlannedHint
from tidegate.platform.lake.aws.s3 import NotWritable, ObjectStore, StoreError


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
    prepared.failed(waits, NotWritable("s3://landing/orders/_tidegate/x cannot be written"))
    assert (prepared.rows, prepared.deferred) == ([], [waits.taken.hint])
    with pytest.raises(NotWritable, match=r"_tidegate/x cannot be written\. Give Dagster's role .* 1 hints"):
        prepared.require_progress()
    prepared.commit(good, rows=1)
    prepared.require_progress()


@pytest.mark.parametrize("more", [{"rows": [None]}, {"drop": {"k": (None, None)}}])
def test_what_is_decided_without_a_copy_is_not_held_up(more: dict[str, Any]) -> None:
    prepared = PreparedBatch(Plan([candidate("a")], **more), obstacle="denied")
    prepared.require_progress()
