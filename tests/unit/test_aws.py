"""Clients are cheap: what AWS says of its services is parsed once."""

from __future__ import annotations

import pytest
from botocore.loaders import JSONFileLoader

from tidegate.resources.aws import Aws, parse_descriptions


def test_a_client_parses_nothing_that_was_parsed_before(monkeypatch: pytest.MonkeyPatch) -> None:
    parse_descriptions()
    monkeypatch.setattr(JSONFileLoader, "load_file", lambda _, path: pytest.fail(f"{path} is parsed again"))
    here = Aws(region_name="eu-central-1", aws_access_key_id="a", aws_secret_access_key="b")
    for service in ("s3", "sqs"):
        assert here.client(service).meta.region_name == "eu-central-1"
