"""The log stores commit with the jar that has nothing else of this project, next to the jars of others."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from tests.support.log_store.log_store_process import CONDITIONAL, LogStoreProcess, class_path_of_log_store
from tidegate.platform.local.aws import REGION, LocalAws
from tidegate.platform.local.provision import Clients
from tidegate.platform.local.spark.jars import log_store_jar
from tidegate.platform.local.spark.server_settings import LOG_STORE


@pytest.mark.parametrize("store", [LOG_STORE, CONDITIONAL])
def test_it_commits_and_refuses_a_second_commit(store: str, local_aws: LocalAws, tmp_path: Path) -> None:
    with zipfile.ZipFile(log_store_jar()) as jar:
        assert {name.split("/")[2] for name in jar.namelist() if name.endswith(".class")} == {"storage"}
    bucket = f"alone-{store.rsplit('.', 1)[-1].lower()}"
    clients = Clients.connect(local_aws.endpoint, REGION, key="test", secret="test")
    clients.s3.create_bucket(Bucket=bucket)
    table, classes = f"s3a://{bucket}/table", class_path_of_log_store()
    with LogStoreProcess(tmp_path, table, local_aws.environ, store=store, class_path=classes) as process:
        process.wait_ready(150.0)
        assert process.ask("write 0 first") == "ack"
        assert process.ask("write 0 second").startswith("exists"), process.errors()
        assert process.ask("read 0") == "read first"
        assert process.ask("list") == "listed [0]"
