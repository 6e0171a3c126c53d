"""A server that a command of the user prints."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest

from tidegate.platform.core.errors import BadSetting
from tidegate.platform.lake.spark import server_command
from tidegate.platform.lake.spark.server_command import ServerByCommand, server_of
from tidegate.platform.lake.spark.server_errors import SparkUnreachable


def command(code: str) -> ServerByCommand:
    return ServerByCommand([sys.executable, "-I", "-S", "-c", code], {})


def prints(**fields: Any) -> ServerByCommand:
    return command(f"print({json.dumps(fields)!r})")


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the servers that were asked. Each answers at its second call."""
    asked: list[str] = []

    def probe(remote: Any) -> str:
        asked.append(str(remote))
        if len(asked) == 1:
            raise SparkUnreachable("not yet")
        return "4.2.0"

    monkeypatch.setattr(server_command, "probe", probe)
    monkeypatch.setattr(server_command, "_PAUSE", 0.0)
    return asked


def test_a_session_has_the_server_and_the_token_that_the_command_printed(answers: list[str]) -> None:
    found = prints(endpoint="sc://10.0.0.7:15002/;use_ssl=true", token="s3cr3t")
    assert (found.find(), answers) == ([], [])
    remote = found.obtain()
    assert (remote.address, remote.token) == ("sc://10.0.0.7:15002/;use_ssl=true", "s3cr3t")
    assert [found.obtain()] == [remote] == found.find()
    assert answers == ["sc://10.0.0.7:15002"] * 2
    found.release()
    assert found.find() == []
    assert found.obtain() is not remote, "another session has another server"


def test_a_token_may_be_a_command_of_its_own() -> None:
    remote = server_of(b'{"endpoint": "sc://host:443", "token_command": "echo fresh"}')
    assert remote.url == "sc://host:443/;token=fresh"
    assert server_of(b'{"endpoint": "sc://localhost:15002"}').token is None


@pytest.mark.parametrize(
    ("output", "why"),
    [
        ("", "it is not one JSON object such as"),
        ("starting...\n{}", "it is not one JSON object such as"),
        ("[" * 60_000, "it is not one JSON object such as"),
        ('["sc://host:1"]', "it must be a JSON object whose values are texts"),
        ('{"endpoint": 15002}', "it must be a JSON object whose values are texts"),
        ('{"endpoint": ""}', "it must be a JSON object whose values are texts"),
        ('{"token": "s3cr3t"}', "it has no `endpoint`"),
        ('{"endpoint": "sc://host:1", "url": "x"}', "'url' is not one of endpoint, token, token_command"),
        ('{"endpoint": "sc://h:1", "token": "a", "token_command": "b"}', "must have one of them at most"),
        ('{"endpoint": "https://host"}', "is not an address of a Spark Connect server"),
        (" " * 70_000, "it has more than 64 KiB"),
    ],
)
def test_an_output_that_names_no_server_is_refused_and_not_repeated(output: str, why: str) -> None:
    with pytest.raises(BadSetting) as refused:
        server_of(output.encode())
    assert why in str(refused.value)
    assert "s3cr3t" not in str(refused.value)


@pytest.mark.parametrize(
    ("server", "why"),
    [
        (ServerByCommand(["/no/such", "s3cr3t"], {}), r"\(/no/such\) cannot be run \(No such file or directory\)"),
        (command("import sys; print('s3cr3t'); sys.exit('no capacity')"), "ended with 1: no capacity$"),
        (command("print('s3cr3t')"), r"printed no server: it is not one JSON object"),
    ],
)
def test_a_command_that_fails_is_one_sentence_without_its_output(server: ServerByCommand, why: str) -> None:
    with pytest.raises(SparkUnreachable, match=why) as refused:
        server.obtain()
    assert "s3cr3t" not in str(refused.value)


def test_a_command_that_does_not_end_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_command, "_ENDS_WITHIN", 0)
    with pytest.raises(SparkUnreachable, match="did not end within 0 s"):
        command("import time; time.sleep(60)").obtain()


def test_a_server_that_never_answers_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_command, "_ANSWERS_WITHIN", 0.0)
    with pytest.raises(SparkUnreachable, match=r"no Spark Connect server at sc://127\.0\.0\.1:1"):
        prints(endpoint="sc://127.0.0.1:1").obtain()
