"""The credentials that the Spark server of a proof gets."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tidegate.platform.lake.aws.clients import Aws
from tidegate.platform.prove.server import GivenCredentials


@pytest.fixture(autouse=True)
def nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_PROFILE", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))


def test_credentials_that_only_boto_finds_are_given_with_their_expiry(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = {"Version": 1, "AccessKeyId": "A", "SecretAccessKey": "S", "SessionToken": "T"}
    printed = tmp_path / "printed.json"
    printed.write_text(json.dumps(said | {"Expiration": "2126-01-02T03:04:05Z"}))
    (tmp_path / "config").write_text(f"[profile signed-in]\ncredential_process = cat {printed}\n")
    found = GivenCredentials.from_aws(Aws(profile_name="signed-in"))
    assert found.environ == {"AWS_ACCESS_KEY_ID": "A", "AWS_SECRET_ACCESS_KEY": "S", "AWS_SESSION_TOKEN": "T"}
    assert f"{found.expire:%Y-%m-%d %H:%M}" == "2126-01-02 03:04"
    assert "AWS_SECRET_ACCESS_KEY" not in repr(found)


def test_credentials_that_the_server_finds_and_renews_by_itself_are_not_given(monkeypatch: pytest.MonkeyPatch) -> None:
    assert GivenCredentials.from_aws(Aws()) == GivenCredentials()
    assert GivenCredentials.from_aws(Aws(aws_access_key_id="A", aws_secret_access_key="S")) == GivenCredentials()
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "A")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "S")
    assert GivenCredentials.from_aws(Aws()) == GivenCredentials()
