"""What the jobs of operations write into the log of operations."""

from __future__ import annotations

import getpass
from types import SimpleNamespace
from typing import Any

import pytest

from tidegate.assets.operations.jobs import _requester
from tidegate.resources.aws_resource import AwsResource
from tidegate.resources.lake_resource import LakeResource

ARN = "arn:aws:sts::111122223333:assumed-role/dagster/i-0"


def test_a_job_names_its_run_and_whose_credentials_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(AwsResource, "aws", SimpleNamespace(caller=lambda: ARN))
    resource = LakeResource(lake_yaml="lake.yaml", spark_remote="sc://localhost:1", aws=AwsResource())
    run: Any = SimpleNamespace(run_id="r1")
    assert _requester(run, resource) == f"{ARN} ({getpass.getuser()}), run r1"
