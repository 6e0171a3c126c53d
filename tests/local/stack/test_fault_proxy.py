"""The proxy forwards unchanged, and causes exactly the configured faults."""

from __future__ import annotations

import http.client
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError, ConnectionClosedError

from tests.support.servers.fault_proxy import FaultProxy
from tidegate.platform.local.aws import REGION, LocalAws


@pytest.fixture(scope="module")
def aws(local_aws: LocalAws) -> LocalAws:
    s3(local_aws.endpoint).create_bucket(Bucket="bucket")
    return local_aws


@pytest.fixture
def proxy(aws: LocalAws) -> Iterator[FaultProxy]:
    with FaultProxy(aws.endpoint) as running:
        yield running


def s3(endpoint: str):  # type: ignore[no-untyped-def]  # noqa: ANN201
    return boto3.client(
        "s3",
        endpoint_url=endpoint,
        region_name=REGION,
        aws_access_key_id="test",
        aws_secret_access_key="test",
        config=Config(retries={"total_max_attempts": 1}, read_timeout=20),
    )


def exists(aws: LocalAws, key: str) -> bool:
    listed = s3(aws.endpoint).list_objects_v2(Bucket="bucket", Prefix=key).get("Contents", [])
    return key in [item["Key"] for item in listed]


def test_it_forwards_faithfully(proxy: FaultProxy) -> None:
    client = s3(proxy.endpoint)
    key = "a//b+c d%/ü.bin"
    counted = proxy.count("PUT|GET|HEAD", "/bucket/")
    body = bytes(range(256)) * 5000
    client.put_object(Bucket="bucket", Key=key, Body=body)
    assert client.get_object(Bucket="bucket", Key=key)["Body"].read() == body
    assert client.get_object(Bucket="bucket", Key=key, Range="bytes=5-9")["Body"].read() == body[5:10]
    assert client.head_object(Bucket="bucket", Key=key)["ContentLength"] == len(body)
    client.put_object(Bucket="bucket", Key="empty", Body=b"")
    assert key in [item["Key"] for item in client.list_objects_v2(Bucket="bucket")["Contents"]]
    with pytest.raises(ClientError, match="PreconditionFailed"):
        client.put_object(Bucket="bucket", Key=key, Body=b"1", IfNoneMatch="*")
    client.delete_object(Bucket="bucket", Key=key)
    with pytest.raises(ClientError, match="404"):
        client.head_object(Bucket="bucket", Key=key)
    assert counted.count == 7
    assert counted.forwarded == [200, 200, 206, 200, 200, 412, 404]


def test_a_request_that_is_cut_never_arrives(aws: LocalAws, proxy: FaultProxy) -> None:
    cut = proxy.cut("PUT", "/bucket/cut$")
    with pytest.raises(ConnectionClosedError):
        s3(proxy.endpoint).put_object(Bucket="bucket", Key="cut", Body=b"1")
    assert (cut.count, cut.forwarded) == (1, [])
    assert not exists(aws, "cut")
    s3(proxy.endpoint).put_object(Bucket="bucket", Key="cut", Body=b"1")
    assert exists(aws, "cut")


def test_a_held_put_lands_after_its_client_has_gone(aws: LocalAws, proxy: FaultProxy) -> None:
    held = proxy.hold("PUT", r"/_delta_log/0+7\.json$")
    client = socket.create_connection(("127.0.0.1", proxy.port))
    path = "/bucket/t/_delta_log/00000000000000000007.json"
    client.sendall(f"PUT {path} HTTP/1.1\r\nHost: x\r\nIf-None-Match: *\r\nContent-Length: 4\r\n\r\nbody".encode())
    held.wait_caught(5)
    assert held.requests == [f"PUT {path}"]
    client.close()
    # No other request is delayed meanwhile.
    s3(proxy.endpoint).put_object(Bucket="bucket", Key="t/_delta_log/00000000000000000008.json", Body=b"1")
    assert not exists(aws, path.removeprefix("/bucket/"))
    held.release()
    held.wait_forwarded(5)
    assert held.forwarded == [200]
    assert exists(aws, path.removeprefix("/bucket/"))


def test_a_held_client_gets_its_answer(aws: LocalAws, proxy: FaultProxy) -> None:
    held = proxy.hold("PUT", "held")
    done = threading.Event()

    def put() -> None:
        s3(proxy.endpoint).put_object(Bucket="bucket", Key="held", Body=b"1")
        done.set()

    threading.Thread(target=put, daemon=True).start()
    held.wait_caught(5)
    assert not done.wait(0.3)
    held.release()
    assert done.wait(5)


def test_a_dropped_reply_has_landed(aws: LocalAws, proxy: FaultProxy) -> None:
    rule = proxy.drop_reply("PUT", "dropped")
    with pytest.raises(ConnectionClosedError):
        s3(proxy.endpoint).put_object(Bucket="bucket", Key="dropped", Body=b"1")
    assert rule.forwarded == [200]
    assert exists(aws, "dropped")
    s3(proxy.endpoint).put_object(Bucket="bucket", Key="dropped", Body=b"1")


@pytest.mark.parametrize("status", [409, 500, 503])
def test_a_refused_request_is_not_forwarded(aws: LocalAws, proxy: FaultProxy, status: int) -> None:
    key = f"refused-{status}"
    rule = proxy.status("PUT", key, status, times=2)
    for _ in range(2):
        with pytest.raises(ClientError) as caught:
            s3(proxy.endpoint).put_object(Bucket="bucket", Key=key, Body=b"1")
        assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] == status
    assert not exists(aws, key)
    assert rule.forwarded == []
    s3(proxy.endpoint).put_object(Bucket="bucket", Key=key, Body=b"1")
    assert exists(aws, key)


def test_a_chunked_body_arrives_whole(aws: LocalAws, proxy: FaultProxy) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", proxy.port, timeout=10)
    connection.request("PUT", "/bucket/chunked", iter([b"one", b"two"]), encode_chunked=True)
    assert connection.getresponse().status == 200
    connection.close()
    assert s3(aws.endpoint).get_object(Bucket="bucket", Key="chunked")["Body"].read() == b"onetwo"


def test_waiting_has_a_deadline(proxy: FaultProxy) -> None:
    with pytest.raises(TimeoutError, match=r"no 1 requests of PUT never"):
        proxy.hold("PUT", "never").wait_caught(0.1)


def test_stop_releases_what_is_held(aws: LocalAws, tmp_path: Path) -> None:
    with FaultProxy(aws.endpoint) as proxy:
        rule = proxy.hold("GET", "/")
        thread = threading.Thread(target=lambda: s3(proxy.endpoint).list_buckets(), daemon=True)
        thread.start()
        rule.wait_caught(5)
    thread.join(5)
    assert not thread.is_alive()
