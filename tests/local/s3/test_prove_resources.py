"""What a proof makes, under its printed policy alone, and which resources it finds again."""

from __future__ import annotations

import io
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError
from rich.console import Console

from tests.support.servers.command_process import CommandProcess
from tests.support.servers.policed_aws import PolicedAws
from tidegate.platform.cli.commands.prove_clean import run_prove_clean
from tidegate.platform.cli.errors import CommandError
from tidegate.platform.cloud.statement import Statements
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.errors import UnavailableError
from tidegate.platform.lake.aws.clients import Aws
from tidegate.platform.local.aws import LocalAws
from tidegate.platform.prove.names import MARKER, Mark, RunNames
from tidegate.platform.prove.policy import prove_statements
from tidegate.platform.prove.resources import Resources
from tidegate.platform.prove.tables import lake_body

pytestmark = pytest.mark.timeout(120)

ALLOWED = prove_statements()


def without(*actions: str) -> Statements:
    return tuple(replace(each, actions=tuple(set(each.actions) - set(actions))) for each in ALLOWED)


ROLES = {
    "prover": ALLOWED,
    "no-table": without("dynamodb:CreateTable"),
    "no-end": without("s3:DeleteBucket", "sqs:DeleteQueue"),
    "no-lists": without("s3:ListAllMyBuckets"),
    "no-tags": without("s3:PutBucketTagging"),
}


@pytest.fixture(scope="module")
def policed(local_aws: LocalAws) -> Iterator[PolicedAws]:
    with PolicedAws(local_aws.endpoint, ROLES) as running:
        yield running


@pytest.fixture
def environ(
    local_aws: LocalAws, policed: PolicedAws, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> dict[str, str]:
    """Set and return the environment of a person with the printed policy."""
    found = {**local_aws.environ, "AWS_ENDPOINT_URL": policed.endpoint, "AWS_ACCESS_KEY_ID": "prover"}
    found["XDG_STATE_HOME"] = str(tmp_path / "state")
    for name, value in found.items():
        monkeypatch.setenv(name, value)
    return found


def resources(policed: PolicedAws, role: str = "prover") -> Resources:
    aws = Aws(endpoint_url=policed.endpoint, region_name="us-east-1", aws_access_key_id=role, aws_secret_access_key="-")
    return Resources(aws)


def make(resources: Resources, names: RunNames, *, kept: bool = False) -> None:
    resources.make(names, LakeConfig.model_validate(lake_body(names)), commit_table=True, kept=kept)


def console() -> Console:
    return Console(file=io.StringIO(), width=300, no_color=True)


def text(console: Console) -> str:
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def clean(said: Console, home: Path, only: str | None = None, *, answer: bool = True) -> bool:
    return run_prove_clean(said, home, only, lambda _: answer)


def run_ids(found: Resources) -> set[str]:
    return {each.mark.id for each in found.find()[0]}


def test_everything_that_is_made_has_a_marker_and_is_removed(policed: PolicedAws) -> None:
    names, own = RunNames.draw(), resources(policed)
    make(own, names)
    found = [each for each in own.find()[0] if each.mark.id == names.id]
    assert sorted((each.kind, each.name) for each in found) == sorted(
        [("bucket", names.landing), ("bucket", names.lake), ("queue", names.base), ("queue", names.dlq),
         ("table", names.base)]
    )  # fmt: skip
    own.s3.put_object(Bucket=names.landing, Key="a/b", Body=b"x")
    own.s3.create_multipart_upload(Bucket=names.lake, Key="part")
    own.s3.put_bucket_tagging(
        Bucket=names.lake, Tagging={"TagSet": [{"Key": MARKER, "Value": str(Mark.begin_run(names))}]}
    )
    received = own.sqs.receive_message(QueueUrl=own.queue_url(names), MaxNumberOfMessages=10, WaitTimeSeconds=5)
    assert any('"a/b"' in each["Body"] for each in received["Messages"])
    assert own.remove(found) == []
    assert own.remains(names) == []
    assert names.id not in run_ids(own)
    assert (policed.refused, policed.unknown) == ({}, {})


def test_a_bucket_with_versions_is_emptied(policed: PolicedAws, local_aws: LocalAws) -> None:
    names, own = RunNames.draw(), resources(policed)
    make(own, names)
    # The owner of an account may turn versions on for all buckets.
    owner = Resources(replace(own.aws, endpoint_url=local_aws.endpoint, aws_access_key_id="test"))
    owner.s3.put_bucket_versioning(Bucket=names.lake, VersioningConfiguration={"Status": "Enabled"})
    for body in (b"1", b"2"):
        own.s3.put_object(Bucket=names.lake, Key="a", Body=body)
    own.s3.delete_object(Bucket=names.lake, Key="a")
    assert own.remove([each for each in own.find()[0] if each.mark.id == names.id]) == []
    assert own.remains(names) == []


def test_a_permission_that_is_missing_is_named(policed: PolicedAws) -> None:
    names = RunNames.draw()
    with pytest.raises(
        UnavailableError, match=r"permission dynamodb:CreateTable is missing: `tidegate prove --policy`"
    ):
        make(resources(policed, "no-table"), names)
    with pytest.raises(UnavailableError, match="permission s3:ListAllMyBuckets is missing"):
        resources(policed, "no-lists").find()
    # What was made before the error is found without a list, and removed.
    own = resources(policed, "no-lists")
    found, unasked = own.find_run(names)
    assert (len(found), unasked) == (4, [])
    assert own.remove(found) == []
    assert own.remains(names) == []
    assert own.find_run(names) == ([], [])


def test_a_bucket_that_may_not_be_marked_does_not_stay(policed: PolicedAws) -> None:
    names, weak = RunNames.draw(), resources(policed, "no-tags")
    with pytest.raises(UnavailableError, match="permission s3:PutBucketTagging is missing"):
        make(weak, names)
    assert weak.find_run(names) == ([], [])
    assert weak.remains(names, 0.0) == []


def test_what_may_not_be_removed_is_named_with_a_command(policed: PolicedAws) -> None:
    names, weak, own = RunNames.draw(), resources(policed, "no-end"), resources(policed)
    make(own, names)
    found = [each for each in weak.find()[0] if each.mark.id == names.id]
    left = weak.remove(found)
    assert sorted(each.name for each in left) == sorted([names.landing, names.lake, names.base, names.dlq])
    assert {each.why.partition(":")[0] + ":" + each.why.split(":")[1].split(" ")[0] for each in left} == {
        "the permission s3:DeleteBucket", "the permission sqs:DeleteQueue"
    }  # fmt: skip
    assert f"aws s3 rb --force s3://{names.lake}" in {each.command for each in left}
    assert own.remove(own.find()[0]) == []


def test_a_bucket_name_that_is_taken_says_so(policed: PolicedAws, monkeypatch: pytest.MonkeyPatch) -> None:
    names, own = RunNames.draw(), resources(policed)

    def taken(**_: Any) -> None:
        raise ClientError({"Error": {"Code": "BucketAlreadyExists", "Message": ""}}, "CreateBucket")

    monkeypatch.setattr(own.s3, "create_bucket", taken)
    with pytest.raises(UnavailableError, match=f"the bucket name {names.lake} is taken: run `tidegate prove` again"):
        make(own, names)


def test_what_has_a_similar_name_and_no_marker_stays(
    policed: PolicedAws, local_aws: LocalAws, environ: dict[str, str], tmp_path: Path
) -> None:
    others = Resources(replace(resources(policed).aws, endpoint_url=local_aws.endpoint, aws_access_key_id="test"))
    other = RunNames("fedcba9876")
    s3, mark = others.s3, str(Mark("0123456789", 1))
    buckets = ("tidegate-prove-mine", "tidegate-prove-0123456789-backup", other.lake, other.landing)
    for name in buckets:
        s3.create_bucket(Bucket=name)
        s3.put_object(Bucket=name, Key="kept", Body=b"x")
    # The marker of another run, which has ended long ago; and a text that is not a marker.
    s3.put_bucket_tagging(Bucket=other.landing, Tagging={"TagSet": [{"Key": MARKER, "Value": mark}]})
    others.sqs.create_queue(QueueName=other.base, tags={MARKER: "yes"})
    queues = ("tidegate-prove-queue", other.base)
    others.sqs.create_queue(QueueName=queues[0])
    table = {**TABLE, "TableName": other.base}
    others.dynamodb.create_table(**table)
    said = console()
    assert clean(said, tmp_path)
    with pytest.raises(CommandError, match=f"no resource has the marker of the run {other.id}, in us-east-1"):
        clean(said, tmp_path, other.id)
    for name in buckets:
        assert s3.get_object(Bucket=name, Key="kept")["Body"].read() == b"x"
    left = others.sqs.list_queues(QueueNamePrefix="tidegate-prove-")["QueueUrls"]
    assert {url.rpartition("/")[2] for url in left} >= set(queues)
    assert other.base in others.dynamodb.list_tables()["TableNames"]
    assert f"left: bucket {other.lake}: it has no marker of `tidegate prove`, so it stays" in text(said)
    assert "tidegate-prove-mine" not in text(said)


TABLE: dict[str, Any] = {
    "KeySchema": [{"AttributeName": "a", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": "a", "AttributeType": "S"}],
    "BillingMode": "PAY_PER_REQUEST",
}


def test_a_run_that_may_live_elsewhere_stays_unless_it_is_named(
    policed: PolicedAws, environ: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names, own = RunNames.draw(), resources(policed)
    make(own, names)
    said = console()
    assert clean(said, tmp_path)
    assert f"left: the run {names.id} began " in text(said)
    assert "ago and may live on another machine" in text(said)
    assert names.id in run_ids(own)
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 7 * 3600)
    assert clean(said, tmp_path)
    assert own.remains(names) == []
    make(own, names)
    assert clean(said, tmp_path, names.id)
    assert own.remains(names) == []


def test_a_run_that_was_kept_is_removed_only_by_its_name_and_after_a_question(
    policed: PolicedAws, environ: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names, own = RunNames.draw(), resources(policed)
    make(own, names, kept=True)
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 7 * 3600)
    said = console()
    assert clean(said, tmp_path)
    assert f"left: the run {names.id} was kept: tidegate prove --clean --run {names.id}" in text(said)
    assert not clean(said, tmp_path, names.id, answer=False)
    assert "Nothing was removed." in text(said)
    assert len(own.find_run(names)[0]) == 5
    assert clean(said, tmp_path, names.id)
    assert own.remains(names) == []
    assert "5 resources of 1 run removed. Queues and tables were searched in us-east-1 only" in text(said)


@contextmanager
def proof_until(stage: str, home: Path) -> Iterator[tuple[CommandProcess, RunNames]]:
    """Yield a small run of the command that has begun a stage, and its names."""
    given = ("--quick", "--files", "60", "--yes", "--home", str(home), "--report", str(home.parent))
    with CommandProcess(home.parent / "log", "prove", *given, small=True, cwd=home.parent) as running:
        running.wait_for(stage, 90)
        (id,) = [path.name for path in home.iterdir()]
        yield running, RunNames(id)


def test_a_run_that_is_killed_leaves_what_clean_removes(
    policed: PolicedAws, environ: dict[str, str], tmp_path: Path
) -> None:
    home, own = tmp_path / "runs", resources(policed)
    with proof_until("Wave 1: workers", home) as (running, names):
        said = console()
        assert clean(said, home)
        assert f"the run {names.id} lives on this machine" in text(said)
        with pytest.raises(CommandError, match=f"the run {names.id} lives on this machine: stop it with Ctrl-C"):
            clean(said, home, names.id)
        running.kill()
    assert own.s3.list_objects_v2(Bucket=names.landing)["KeyCount"] > 30
    assert clean(said, home)
    assert own.remains(names) == []
    assert "5 resources of 1 run removed" in text(said)
    assert not (home / names.id / "lake.yaml").exists()


# The end of the run has a deadline of its own.
@pytest.mark.timeout(400)
def test_a_run_that_is_interrupted_removes_what_it_made(
    policed: PolicedAws, environ: dict[str, str], tmp_path: Path
) -> None:
    home, own = tmp_path / "runs", resources(policed)
    with proof_until("Racing", home) as (running, names):
        assert running.end(deadline=240.0) == 130, running.output
    assert own.remains(names) == []
