"""A token in a file or of a command: it is read at each connection, and no text has it."""

from __future__ import annotations

import stat
from itertools import combinations
from pathlib import Path
from typing import Any

import grpc
import pytest

from tests.unit.conftest import Paper
from tidegate.platform.core.errors import BadSetting
from tidegate.platform.lake.spark import session, token_source
from tidegate.platform.lake.spark.remote import REMOTE, SparkRemote
from tidegate.platform.lake.spark.server_errors import SparkUnreachable, TokenRefused
from tidegate.platform.lake.spark.token_source import TOKEN, TOKEN_COMMAND, TOKEN_FILE, TokenSource
from tidegate.resources.lake_resource import LakeResource

ALL = (TOKEN, TOKEN_FILE, TOKEN_COMMAND)


def script(folder: Path, body: str) -> str:
    path = folder / "print-token"
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def source_of(variable: str, folder: Path, text: str) -> TokenSource:
    file = folder / "token"
    file.write_text(text, encoding="utf-8")
    return TokenSource(variable, str(file) if variable == TOKEN_FILE else script(folder, f"cat '{file}'"))


@pytest.mark.parametrize("variable", [TOKEN_FILE, TOKEN_COMMAND])
@pytest.mark.parametrize("text", ["s3cr3t", "s3cr3t\n", " s3cr3t\r\n"])
def test_white_space_around_a_token_does_not_count(variable: str, text: str, tmp_path: Path) -> None:
    assert source_of(variable, tmp_path, text).read() == "s3cr3t"


@pytest.mark.parametrize("variable", [TOKEN_FILE, TOKEN_COMMAND])
@pytest.mark.parametrize("text", ["", "\n", "two words", "s3cr3t\ns3cr3t", "s3cr3t\u00e9", "s3cr3t\x07", "s" * 5000])
def test_what_is_not_a_token_is_refused_and_not_repeated(variable: str, text: str, tmp_path: Path) -> None:
    with pytest.raises(SparkUnreachable, match=f"{variable} .* gives no token") as refused:
        source_of(variable, tmp_path, text).read()
    assert not text.strip() or text.split()[0] not in str(refused.value)


@pytest.mark.parametrize(
    ("variable", "value", "why"),
    [
        (TOKEN_FILE, "{folder}/none", r"cannot be read \(No such file or directory\)"),
        (TOKEN_FILE, "{folder}", r"cannot be read \(Is a directory\)"),
        (TOKEN_COMMAND, "{folder}/none s3cr3t", r"cannot be run \(No such file or directory\)"),
        (TOKEN_COMMAND, "sh -c 'exit 3' s3cr3t", "ended with 3"),
        (TOKEN_COMMAND, "echo 's3cr3t", "cannot be run"),
        (TOKEN_COMMAND, "sleep 60", r"did not end within 0\.2 s"),
    ],
)
def test_a_source_that_fails_is_named_without_its_arguments(
    variable: str, value: str, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(token_source, "_COMMAND_ENDS_WITHIN", 0.2)
    with pytest.raises(SparkUnreachable, match=why) as failed:
        TokenSource(variable, value.format(folder=tmp_path)).read()
    assert "s3cr3t" not in str(failed.value)
    assert variable in str(failed.value)


@pytest.mark.parametrize("names", [names for n in (2, 3) for names in combinations(ALL, n)])
def test_a_token_has_one_source(names: tuple[str, ...]) -> None:
    with pytest.raises(BadSetting, match=f"{names[0]} and .* are set, and each names a token"):
        SparkRemote.from_environ(dict.fromkeys(names, "x"))


def test_a_token_in_the_address_takes_precedence() -> None:
    remote = SparkRemote.from_environ({REMOTE: "sc://a:1/;token=s3cr3t", TOKEN_FILE: "/none"})
    assert (remote.token, remote.source) == ("s3cr3t", None)


def test_a_file_is_read_at_each_connection_and_old_tokens_stay_hidden(tmp_path: Path) -> None:
    file = tmp_path / "token"
    environ = {REMOTE: "sc://localhost:1", TOKEN_FILE: str(file)}
    remote = SparkRemote.from_environ(environ)
    assert remote.environ == environ
    for token in ("old", "new", "old"):
        file.write_text(token)
        assert remote.url == f"sc://localhost:1/;token={token}"
    assert remote.hide("old or new?") == "… or …?"
    assert "old" not in repr(remote) + str(remote)


def test_the_answer_of_a_command_counts_until_the_server_refuses_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = tmp_path / "calls"
    remote = SparkRemote("sc://localhost:1", source=TokenSource(
        TOKEN_COMMAND, script(tmp_path, f"echo x >> {calls}; echo token$(wc -l < {calls})")))  # fmt: skip
    assert [remote.url for _ in range(3)] == ["sc://localhost:1/;token=token1"] * 3
    used: list[str] = []

    class Refused(grpc.RpcError):  # type: ignore[misc]
        def code(self) -> grpc.StatusCode:
            return grpc.StatusCode.UNAUTHENTICATED

        def details(self) -> str:
            return "Bearer token1"

    def ask(remote: SparkRemote, deadline: float) -> str:
        used.append(remote.url.partition("token=")[2])
        if used[-1] != wanted:
            raise Refused
        return "4.2.0"

    monkeypatch.setattr(session, "_ask_version", ask)
    wanted = "token2"
    assert session.probe(remote) == "4.2.0"
    assert used == ["token1", "token2"]
    wanted = "another"
    with pytest.raises(TokenRefused, match=rf"{TOKEN_COMMAND} \(\S+\) must have its token") as refused:
        session.probe(remote)
    assert "token1" not in str(refused.value)


def test_a_run_reads_the_file_that_its_environment_names(
    tmp_path: Path, paper: Paper, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "token"
    file.write_text("s3cr3t")
    monkeypatch.setenv(TOKEN_FILE, str(file))
    lake: Any = LakeResource.from_environment()
    assert "s3cr3t" not in repr(lake)
    assert lake.spark_token is None
    with lake.process_config_and_initialize_cm() as resolved:
        assert resolved.settings.spark.url.endswith(";token=s3cr3t")
