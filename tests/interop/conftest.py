"""One shore for all tests of other writers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests.dynamodb_local import DynamoDbLocal, direct
from tests.interop.shore import BUCKET, DEADLINE, Shore
from tidegate.platform.local.aws import LocalAws
from tidegate.platform.local.fault_proxy import FaultProxy
from tidegate.platform.local.spark_conf import SMALL_DATA
from tidegate.platform.local.spark_server import SparkServer
from tidegate.resources.spark import session_of_its_own


@pytest.fixture(scope="session")
def shore(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shore]:
    folder = tmp_path_factory.mktemp("interop")
    with ExitStack() as closing:
        aws = closing.enter_context(LocalAws(folder / "aws", 0))
        dynamodb = closing.enter_context(DynamoDbLocal(folder / "dynamodb"))
        router = closing.enter_context(FaultProxy(aws.endpoint, dynamodb.endpoint))
        clients = direct(aws, dynamodb)
        clients.s3.create_bucket(Bucket=BUCKET)
        environ = {**aws.environ, "AWS_ENDPOINT_URL": router.endpoint}
        server = SparkServer(folder / "spark", environ, port=0, memory="2g", conf=SMALL_DATA)
        closing.callback(server.stop)
        server.start(DEADLINE)
        session = closing.enter_context(session_of_its_own(server.remote))
        yield Shore(folder, session, aws, dynamodb, router, clients, closing)
