"""S3 and AWS's DynamoDB Local behind one proxy that misbehaves on request, and a Spark server that sees only it."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Self

import pytest
from pyspark.sql import SparkSession

from tests.support.log_store.delta_log import DeltaLog
from tests.support.servers.dynamodb_local import DynamoDbLocal
from tests.support.servers.fault_proxy import FaultProxy
from tidegate.platform.lake.spark.session import isolated_session
from tidegate.platform.local.aws import REGION, LocalAws
from tidegate.platform.local.provision import Clients
from tidegate.platform.local.spark.conf import SMALL_DATA
from tidegate.platform.local.spark.server import SparkServer

BUCKET = "coordinated"
_START_SECONDS = 150.0


class ProxiedAws:
    """The two services, directly and behind the proxy.

    Args:
        home: folder of DynamoDB Local.
        aws: the running S3.

    Attributes:
        aws: S3; its own DynamoDB is not used.
        dynamodb: AWS's DynamoDB Local.
        proxy: the proxy in front of both.
        clients: clients whose requests do not pass the proxy.
    """

    def __init__(self, home: Path, aws: LocalAws) -> None:
        self._home = home
        self.aws = aws
        self._closing = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as starting:
            self.dynamodb = starting.enter_context(DynamoDbLocal(self._home))
            self.proxy = starting.enter_context(FaultProxy(self.aws.endpoint, self.dynamodb.endpoint))
            self.clients = self._connect()
            self.clients.s3.create_bucket(Bucket=BUCKET)
            self._closing = starting.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing.close()

    @property
    def environ(self) -> dict[str, str]:
        """Environment of processes whose requests pass the proxy."""
        return {**self.aws.environ, "AWS_ENDPOINT_URL": self.proxy.endpoint}

    def new_log(self) -> DeltaLog:
        """Return the log of a new table."""
        return DeltaLog(self.clients, f"s3a://{BUCKET}/t{uuid.uuid4().hex[:8]}")

    def _connect(self) -> Clients:
        keys = {"key": self.aws.environ["AWS_ACCESS_KEY_ID"], "secret": self.aws.environ["AWS_SECRET_ACCESS_KEY"]}
        found = Clients.connect(self.aws.endpoint, REGION, **keys)
        return replace(found, dynamodb=Clients.connect(self.dynamodb.endpoint, REGION, **keys).dynamodb)


@pytest.fixture(scope="session")
def local_aws(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalAws]:
    """Yield one local AWS for all tests that need no separate one. Buckets and queues have unique names."""
    with LocalAws(tmp_path_factory.mktemp("aws"), 0) as running:
        yield running


@pytest.fixture(scope="session")
def proxied_services(local_aws: LocalAws, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ProxiedAws]:
    with ProxiedAws(tmp_path_factory.mktemp("dynamodb"), local_aws) as services:
        yield services


@pytest.fixture
def proxied_aws(proxied_services: ProxiedAws) -> Iterator[ProxiedAws]:
    """Yield the services. The rules of the proxy end with the test."""
    yield proxied_services
    proxied_services.proxy.clear()


@pytest.fixture(scope="session")
def proxied_spark(proxied_services: ProxiedAws, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """Yield a session of a server all of whose requests pass the proxy."""
    server = SparkServer(
        tmp_path_factory.mktemp("proxied-spark"), proxied_services.environ, port=0, memory="2g", conf=SMALL_DATA
    )
    try:
        server.start(_START_SECONDS)
        with isolated_session(server.remote) as session:
            yield session
    finally:
        server.stop()
