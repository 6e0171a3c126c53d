"""The token of a Spark Connect server: no text contains it, and every connection has it."""

from __future__ import annotations

import dagster as dg
import grpc
import pytest
from dagster._core.remote_representation.external_data import RepositorySnap
from pyspark.sql.connect.client.core import DefaultChannelBuilder

from tests.unit.conftest import Paper
from tidegate.platform.definitions import build_definitions
from tidegate.platform.lake.spark import session as spark
from tidegate.platform.lake.spark.remote import REMOTE, SparkRemote
from tidegate.platform.lake.spark.server_errors import SparkUnreachable
from tidegate.platform.lake.spark.session import probe
from tidegate.platform.lake.spark.token_source import TOKEN
from tidegate.resources.lake_resource import LakeResource

SECRET = "s3cr3t/+=tok en"
QUOTED = "s3cr3t%2F%2B%3Dtok%20en"


@pytest.mark.parametrize(
    ("text", "token", "address", "shown"),
    [
        ("sc://spark:15002", None, "sc://spark:15002", "sc://spark:15002"),
        ("sc://spark:15002/", SECRET, "sc://spark:15002", "sc://spark:15002"),
        ("sc://spark", SECRET, "sc://spark", "sc://spark"),
        (f"sc://spark:443/;use_ssl=true;token={QUOTED};user_id=me", "other", "sc://spark:443/;use_ssl=true;user_id=me",
         "sc://spark:443"),
        (f"sc://[::1]:1/;token={QUOTED}", None, "sc://[::1]:1", "sc://[::1]:1"),
    ],
)  # fmt: skip
def test_it_is_shown_as_host_and_port_and_pyspark_gets_all(
    text: str, token: str | None, address: str, shown: str
) -> None:
    remote = SparkRemote.parse(text, token)
    assert (remote.address, str(remote), repr(remote), f"{remote}") == (address, shown, shown, shown)
    builder = DefaultChannelBuilder(remote.url)
    assert builder.token == remote.token
    assert remote.token in (None, SECRET)
    assert SparkRemote.from_environ(remote.environ) == remote
    assert SparkRemote.parse(remote.url) == remote
    assert SECRET not in remote.environ[REMOTE]


@pytest.mark.parametrize(
    "text",
    [
        f"http://spark:1/;token={SECRET}",
        f"sc://:1/;token={SECRET}",
        f"sc://me:{SECRET}@spark:1",
        f"sc://spark:x/;token={SECRET}",
        f"sc://spark:1/{SECRET}",
        f"sc://spark:1/;token={SECRET}",  # its = is not encoded
        f"sc://spark:1/;{SECRET.replace('=', '')}",
        f"sc://spark:1?token={QUOTED}",
    ],
)
def test_an_address_that_is_none_is_not_repeated(text: str) -> None:
    with pytest.raises(ValueError, match="SPARK_REMOTE") as refused:
        SparkRemote.parse(text)
    assert "s3cr3t" not in str(refused.value)
    assert "s3cr3t" not in repr(refused.value.__context__)


def test_the_default_is_this_machine() -> None:
    assert SparkRemote.from_environ({}) == SparkRemote("sc://localhost:15002")


@pytest.mark.parametrize("code", grpc.StatusCode)
def test_no_refusal_repeats_the_token(code: grpc.StatusCode) -> None:
    class Refusal(grpc.RpcError):  # type: ignore[misc]
        def code(self) -> grpc.StatusCode:
            return code

        def details(self) -> str:
            return f"Authorization: Bearer {SECRET}, {QUOTED}"

    remote = SparkRemote.parse("sc://spark:1", SECRET)
    text = spark._format_error(remote, 1.0, Refusal())
    assert "s3cr3t" not in text
    assert "sc://spark:1" in text
    assert "\n" not in text


def test_a_dead_server_is_named_without_the_token() -> None:
    with pytest.raises(SparkUnreachable, match=r"no Spark Connect server at sc://localhost:1:") as dead:
        probe(SparkRemote.parse(f"sc://localhost:1/;token={QUOTED}"))
    assert "s3cr3t" not in str(dead.value)


@pytest.mark.parametrize("environ", [{REMOTE: f"sc://spark:443/;token={QUOTED}"}, {TOKEN: SECRET}])
def test_dagster_gets_the_variables_and_not_their_values(
    environ: dict[str, str], paper: Paper, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the UI gets of the resources of a code location, and what a run gets of them."""
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    lake = LakeResource.from_environment()
    repository = build_definitions(paper.config, lake).get_repository_def()
    snapshot = dg.serialize_value(RepositorySnap.from_def(repository))
    assert "s3cr3t" not in snapshot
    assert all(name in snapshot for name in environ)
    assert "s3cr3t" not in repr(lake)
    assert lake.settings.spark.token == SECRET, "a script uses it without Dagster"
    with lake.process_config_and_initialize_cm() as resolved:
        assert resolved.settings.spark.token == SECRET
