"""Clients are cheap: AWS's descriptions of its services are parsed once."""

from __future__ import annotations

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
        assert attempts * (config.connect_timeout + config.read_timeout) < 30
        assert config.read_timeout > 5, "a long poll of four seconds is not trouble"
    assert keys.client("cloudwatch").meta.config.read_timeout == 10
    assert keys.client("s3").meta.config.read_timeout == 60, "an object may be large"
