"""Commands that change a lake name their caller in the log of operations, and do so before the change."""

from __future__ import annotations

import getpass
import io
from collections.abc import Callable
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest
from botocore.exceptions import ClientError, ConnectTimeoutError
from rich.console import Console

from tests.support.lakes.objects import Objects
from tests.unit.conftest import PAPER
from tidegate.platform.cli import environment
from tidegate.platform.cli.commands import doctor, sql
from tidegate.platform.cli.groups.inventory import drop_bucket, enable
from tidegate.platform.cli.inventory import drop_bucket as dropping
from tidegate.platform.cli.inventory import enable as enabling
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.lake.aws import s3
from tidegate.platform.lake.aws.clients import Aws, caller
from tidegate.platform.lake.lake_root.store import LakeStore
from tidegate.platform.query import frame
from tidegate.resources.aws_resource import AwsResource
from tidegate.resources.lake_resource import LakeResource

ARN = "arn:aws:sts::111122223333:assumed-role/ops/anna"
REFUSED = ClientError({"Error": {"Code": "InvalidClientTokenId", "Message": "no"}}, "GetCallerIdentity")
NO_ANSWER = ConnectTimeoutError(endpoint_url="https://sts.eu-central-1.amazonaws.com")


class Changed(Exception):
    """The command has begun its change."""


def _sql() -> None:
    sql.run_sql(Console(file=io.StringIO()), "DELETE FROM bronze.orders WHERE id = 7", None, 10)


def _repair() -> None:
    doctor.run_doctor(Console(file=io.StringIO()), None, None, repair=True)


def _enable() -> None:
    enable("objects", account="111122223333", yes=True)


def _drop_bucket() -> None:
    drop_bucket("objects", ["gone"], yes=True)


OPERATIONS: dict[str, tuple[Callable[[], None], dict[str, Any]]] = {
    "sql": (_sql, {"statement": "DELETE FROM bronze.orders WHERE id = ?"}),
    "doctor --repair": (_repair, {}),
    "inventory enable": (_enable, {"table": "objects"}),
    "inventory drop-bucket": (_drop_bucket, {"table": "objects", "buckets": ["gone"]}),
}


#: Why there is no ARN, by the answer of AWS.
UNNAMED = {REFUSED: "InvalidClientTokenId", NO_ANSWER: "ConnectTimeoutError"}


@pytest.mark.parametrize("answer", [ARN, REFUSED, NO_ANSWER], ids=["arn", "refused", "no answer"])
@pytest.mark.parametrize("operation", OPERATIONS)
def test_an_operation_is_in_the_log_with_its_caller_before_it_changes_anything(
    operation: str, answer: str | Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    config, objects = LakeConfig.model_validate(PAPER), Objects()
    store = LakeStore(objects, config.lake.root)  # type: ignore[arg-type]
    lake = SimpleNamespace(config=config, store=store)

    def identity() -> str:
        if isinstance(answer, Exception):
            raise answer
        return answer

    aws = SimpleNamespace(caller=identity, client=lambda _: None)
    settings = SimpleNamespace(aws=aws, config=lambda: config)
    using = SimpleNamespace(settings=settings, home=None, open_lake=lambda: nullcontext(lake))
    for module in (environment, sql, doctor):
        monkeypatch.setattr(module, "client", lambda *_: using)
    monkeypatch.setattr(s3, "ObjectStore", lambda _: objects)

    def change(*_: Any, **__: Any) -> None:
        raise Changed

    for module, name in (
        (frame, "_frame"),
        (doctor, "check_runs"),
        (enabling, "run_enable"),
        (dropping, "run_drop"),
    ):
        monkeypatch.setattr(module, name, change)
    monkeypatch.setattr(doctor, "_tables", lambda _: ([], []))
    run, facts = OPERATIONS[operation]
    with pytest.raises(Changed):
        run()
    (entry,) = store.operations.entries()
    name = getpass.getuser()
    unnamed = f"{name} (AWS did not say whose credentials these are: {UNNAMED.get(answer)})"
    by = f"{ARN} ({name})" if answer == ARN else unnamed
    assert entry == {"format": 1, "operation": operation, "by": by, "at": entry["at"], **facts}


def test_aws_is_asked_for_the_caller_once_a_process(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = list[Aws]()
    monkeypatch.setattr(Aws, "_identity", lambda aws: (asked.append(aws), {"Arn": ARN})[1])
    central, west = Aws(region_name="eu-central-1", max_attempts=77), Aws(region_name="eu-west-1", max_attempts=77)
    assert [caller(aws) for aws in (central, central, west)] == [f"{ARN} ({getpass.getuser()})"] * 3
    assert asked == [central, west]


def test_a_statement_of_an_asset_is_in_the_log_before_it_changes_anything(monkeypatch: pytest.MonkeyPatch) -> None:
    config, objects = LakeConfig.model_validate(PAPER), Objects()
    store = LakeStore(objects, config.lake.root)  # type: ignore[arg-type]
    lake, run = SimpleNamespace(config=config, store=store), list[str]()
    monkeypatch.setattr(LakeResource, "open", lambda _: lake)
    monkeypatch.setattr(AwsResource, "aws", SimpleNamespace(caller=lambda: ARN))

    def query(lake: Any, text: str) -> None:
        run.append(f"{len(list(store.operations.entries()))} entries: {text}")

    monkeypatch.setattr(frame, "_frame", query)
    resource = LakeResource(lake_yaml="lake.yaml", spark_remote="sc://localhost:1", aws=AwsResource())
    resource.sql("SELECT 1")
    resource.sql("DELETE FROM bronze.orders WHERE id = 7")
    assert run == ["0 entries: SELECT 1", "1 entries: DELETE FROM bronze.orders WHERE id = 7"]
    (entry,) = store.operations.entries()
    assert (entry["operation"], entry["statement"]) == ("lake.sql", "DELETE FROM bronze.orders WHERE id = ?")
    assert entry["by"] == f"{ARN} ({getpass.getuser()})"
