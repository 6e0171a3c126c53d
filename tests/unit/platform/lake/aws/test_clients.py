"""Clients are cheap: AWS's descriptions of its services are parsed once."""

from __future__ import annotations

import json
import threading
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import pytest
from botocore.loaders import JSONFileLoader

from tidegate.platform.core.config.queues import QueueSpec
from tidegate.platform.lake.aws.clients import Aws, parse_descriptions


def test_a_client_parses_nothing_that_was_parsed_before(monkeypatch: pytest.MonkeyPatch) -> None:
    parse_descriptions()
    monkeypatch.setattr(JSONFileLoader, "load_file", lambda _, path: pytest.fail(f"{path} is parsed again"))
    here = Aws(region_name="eu-central-1", aws_access_key_id="a", aws_secret_access_key="b")
    for service in ("s3", "sqs"):
        assert here.client(service).meta.region_name == "eu-central-1"


@pytest.mark.parametrize(
    ("url", "region"),
    [
        ("https://sqs.eu-west-1.amazonaws.com/111122223333/events", "eu-west-1"),
        ("https://sqs-fips.us-gov-west-1.amazonaws.com/111122223333/events", "us-gov-west-1"),
        ("https://vpce-0a.sqs.ap-southeast-2.vpce.amazonaws.com/111122223333/events", "ap-southeast-2"),
        ("http://127.0.0.1:4566/000000000000/events", None),
        ("https://sqs.example.org/1/events", None),
    ],
)
def test_a_queue_of_another_region_is_asked_there(url: str, region: str | None) -> None:
    assert QueueSpec(url=url).region == region
    keys = Aws(region_name="us-east-1", aws_access_key_id="-", aws_secret_access_key="-")
    client = keys.queues(QueueSpec(url=url).region)
    assert client.meta.region_name == (region or "us-east-1")
    assert region is None or client.meta.endpoint_url == f"https://sqs.{region}.amazonaws.com"


def test_a_queue_that_does_not_answer_is_given_up_within_a_tick() -> None:
    keys = Aws(region_name="us-east-1", aws_access_key_id="-", aws_secret_access_key="-")
    for config in (keys.queues("eu-west-1").meta.config, keys.queues(None).meta.config):
        attempts = config.retries["total_max_attempts"]
        assert attempts == 2, "a lost packet is not trouble"
        assert (1 + attempts) * (config.connect_timeout + config.read_timeout) < 30, "with the one that is not boto3's"
        assert config.read_timeout > 5, "a long poll of four seconds is not trouble"
    assert keys.client("cloudwatch").meta.config.read_timeout == 10
    assert keys.client("s3").meta.config.read_timeout == 60, "an object may be large"


class _Keys(BaseHTTPRequestHandler):
    """Answers STS, and keeps which key signed each request."""

    seen: ClassVar[list[str]] = []

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.seen.append(self.headers["Authorization"].split("Credential=")[1].split("/")[0])
        body = b"<r><GetCallerIdentityResult><Arn>a</Arn><Account>1</Account></GetCallerIdentityResult></r>"
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


def test_keys_of_a_command_are_replaced_in_a_client_that_is_in_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So are those of roles, which botocore asks for again before they end."""
    key, script = tmp_path / "key", tmp_path / "print-keys"
    key.write_text("AKIAOLD")
    ends = (datetime.now(UTC) + timedelta(minutes=5)).isoformat()
    given = {"Version": 1, "AccessKeyId": "KEY", "SecretAccessKey": "s", "Expiration": ends}
    script.write_text(f"#!/bin/sh\nsed 's/KEY/'$(cat '{key}')'/' <<'END'\n{json.dumps(given)}\nEND\n")
    script.chmod(0o700)
    (tmp_path / "config").write_text(f"[profile lake]\ncredential_process = {script}\n")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    with ThreadingHTTPServer(("127.0.0.1", 0), _Keys) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        endpoint = f"http://127.0.0.1:{server.server_port}"
        client = Aws(region_name="us-east-1", profile_name="lake", endpoint_url=endpoint).client("sts")
        client.get_caller_identity()
        key.write_text("AKIANEW")
        client.get_caller_identity()
        server.shutdown()
    assert _Keys.seen == ["AKIAOLD", "AKIANEW"]
