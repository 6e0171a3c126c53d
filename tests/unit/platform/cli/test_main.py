"""The command ends on a signal, also as a background job of a shell, and explains what it could not reach."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from botocore.exceptions import ClientError, NoCredentialsError, ProfileNotFound
from typer.testing import CliRunner

from tests.support.servers.child import ending_with_us
from tidegate.platform.cli import main as command
from tidegate.platform.cli.check.check import run_check
from tidegate.platform.cli.main import app, explain_error
from tidegate.platform.cli.terminal import command_console
from tidegate.platform.core.errors import BadSetting, BadValue, ConfigurationError, DataError, UnavailableError
from tidegate.platform.lake.aws.s3 import StoreError

#: Runs a command where Spark's and Dagster's packages cannot be imported.
_WITHOUT_SPARK = """
import sys

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("pyspark", "py4j", "grpc", "delta", "dagster", "dagster_pyspark", "dagster_aws"):
            raise ImportError(f"{name} must not be imported")

sys.meta_path.insert(0, Refuse())
from tidegate.platform.cli.main import main
main()
"""
_WAITS = """
import signal, sys, time
signal.signal(signal.SIGINT, signal.SIG_IGN)  # as a shell starts a background job
signal.signal(signal.SIGHUP, signal.SIG_DFL)
from dagster._utils.interrupts import capture_interrupts
from tidegate.platform.cli.main import app, main

@app.command()
def wait() -> None:
    with capture_interrupts():  # as every run of Dagster in this process does
        pass
    try:
        print("ready", flush=True)
        time.sleep(60)
    finally:
        print("tidied up", flush=True)

sys.argv = ["tidegate", "wait"]
main()
"""


@pytest.mark.parametrize(
    ("before", "after"), [(signal.SIG_DFL, signal.default_int_handler), (signal.SIG_IGN, signal.SIG_IGN)]
)
def test_the_end_of_a_terminal_ends_a_command_unless_it_should_survive_it(
    before: signal.Handlers, after: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    each = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    kept = {number: signal.getsignal(number) for number in each}
    during = []
    monkeypatch.setattr(command, "app", lambda **_: during.append(signal.getsignal(signal.SIGHUP)))
    try:
        signal.signal(signal.SIGHUP, before)
        command.main()
    finally:
        for number, handler in kept.items():
            signal.signal(number, handler)
    assert during == [after]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_background_job_ends_in_order(number: signal.Signals) -> None:
    command = ending_with_us(sys.executable, "-c", _WAITS)
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(number)
        assert process.wait(30) != 0
        assert process.stdout.read() == "tidied up\n"


def store_error(cause: Exception) -> StoreError:
    error = StoreError("s3://lake/tables/a.json: what the client says")
    error.__cause__ = cause
    return error


def test_who_has_no_way_to_aws_learns_that_no_local_platform_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first command of a new user, in another folder than that of the platform, or while none runs."""
    monkeypatch.chdir(tmp_path)
    for error, said in (
        (ProfileNotFound(profile="prod"), "correct AWS_PROFILE"),
        (store_error(NoCredentialsError()), "no AWS credentials were found"),
    ):
        first, second = explain_error(error).splitlines()
        assert said in first
        assert second.startswith("no local platform runs on .tidegate/demo or .tidegate/local of this directory")
    refused = store_error(ClientError({"Error": {"Code": "SlowDown"}}, "GetObject"))
    assert explain_error(refused) == "s3://lake/tables/a.json: what the client says"


def test_a_check_without_a_way_to_aws_says_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE", "TIDEGATE_LAKE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", "none")
    Path("lake.yaml").write_text("lake: {root: 's3://lake/lake'}\nqueues: [{name: events}]\nbuckets: [landing]\n")
    assert not run_check(command_console(), None, None, None)
    said = capsys.readouterr().out
    assert "no AWS region is set" in said
    assert "no local platform runs on" in said


def raising(error: Exception) -> Callable[..., None]:
    def run(**options: object) -> None:
        raise error

    return run


@pytest.mark.parametrize("kind", [BadSetting, BadValue, ConfigurationError, DataError, UnavailableError, StoreError])
def test_an_error_of_each_kind_is_one_line_and_the_exit_code_1(
    kind: type[Exception], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "app", raising(kind("what is wrong: what to do")))
    with pytest.raises(SystemExit) as end:
        command.main()
    assert end.value.code == "error: what is wrong: what to do"  # Python prints a text, and exits with 1
    assert capsys.readouterr() == ("", "")


def test_a_bug_has_a_trace_and_the_exit_code_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "app", raising(AssertionError("this cannot be")))
    with pytest.raises(SystemExit) as end:
        command.main()
    assert end.value.code == 1
    assert capsys.readouterr().err.startswith("error: this cannot be\n\nTraceback")


@pytest.mark.parametrize(("typed", "completed"), [("tidegate mai", "maintain"), ("tidegate status --js", "--json")])
def test_a_shell_completes_commands_and_options(typed: str, completed: str) -> None:
    words = {"COMP_WORDS": typed, "COMP_CWORD": str(len(typed.split()) - 1)}
    answer = CliRunner().invoke(app, [], prog_name="tidegate", env={"_TIDEGATE_COMPLETE": "complete_bash", **words})
    assert answer.output.split() == [completed]


def test_infer_needs_no_spark_and_no_dagster(tmp_path: Path) -> None:
    """It is the first command of a person who has nothing yet. PySpark alone has 485 MB."""
    (tmp_path / "orders").mkdir()
    (tmp_path / "orders" / "a.json").write_text('{"id": 1}\n')
    (tmp_path / "lines").mkdir()
    (tmp_path / "lines" / "a.csv").write_text("id,at\n1,2\n")
    done = subprocess.run(
        [sys.executable, "-c", _WITHOUT_SPARK, "infer", str(tmp_path)], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert "name: orders" in done.stdout
    assert "at: bigint" in done.stdout
