"""The whole local platform: up, down, killed, restarted."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.servers.small_server import ENDS, NEVER_LISTENS, small_spark
from tidegate.platform.core.config.commits import Commits, log_store_class
from tidegate.platform.core.errors import UnavailableError
from tidegate.platform.lake.settings import Settings
from tidegate.platform.lake.spark.remote import SparkRemote
from tidegate.platform.lake.spark.server_errors import SparkUnreachable
from tidegate.platform.lake.spark.session import isolated_session, probe
from tidegate.platform.local.aws import LocalAws
from tidegate.platform.local.spark.server import SparkServer
from tidegate.platform.local.stack import LocalStack
from tidegate.platform.local.stack_file import find_stack

pytestmark = pytest.mark.timeout(180)

LAKE = """
lake: {root: "s3://tidegate-lake/lake"}
queues: [{url: "${TIDEGATE_QUEUE_URL}"}]
buckets: [landing, other-landing]
"""


@pytest.fixture
def stack(tmp_path: Path) -> Iterator[LocalStack]:
    lake = tmp_path / "lake.yaml"
    lake.write_text(LAKE)
    made = LocalStack(tmp_path / "home", lake=lake, aws_port=0, spark_port=0)
    yield made
    made.stop()


@pytest.mark.parametrize("commits", ["dynamodb", "s3"])
def test_the_platform_has_the_log_store_and_the_table_of_its_lake(
    commits: Commits, stack: LocalStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse() -> None:
        raise UnavailableError("far enough")

    monkeypatch.setattr(stack, "_start_servers", refuse)
    assert stack.lake is not None
    stack.lake.write_text(LAKE.replace('lake"}', f'lake", commits: {commits}}}'))
    with pytest.raises(UnavailableError, match="far enough"):
        stack.start()
    assert stack.spark.log_store == log_store_class(commits)
    assert (stack.wanted.commit_table is None) == (commits == "s3")


def everything_of(stack: LocalStack) -> list[int]:
    found = find_stack(stack.home)
    assert found is not None
    return [*found.pids.values(), *found.guards.values()]


def test_up_append_a_killed_server_comes_back_down(
    stack: LocalStack, tmp_path: Path, is_gone: Callable[[int], bool], until: Callable[..., bool]
) -> None:
    """With the real server, once.

    The tests of the demo, which start on one home three times, show that state is kept.
    """
    ready: list[Settings] = []
    stack._on_ready = ready.append
    with stack:
        assert ready == [stack.settings]
        info = find_stack(stack.home)
        assert info is not None
        assert info.environ == stack.environ
        _only_with_the_token(stack)
        assert info.environ["TIDEGATE_LAKE"] == str(tmp_path / "lake.yaml")
        assert info.environ["TIDEGATE_QUEUE_URL"].endswith("/tidegate-events")
        assert stack.clients().s3.get_bucket_notification_configuration(Bucket="other-landing")["QueueConfigurations"]
        with pytest.raises(UnavailableError, match="is in use by the local platform"):
            LocalStack(stack.home, aws_port=0, spark_port=0).start()
        with isolated_session(stack.spark.remote) as spark:
            spark.range(10).write.format("delta").mode("append").save("s3a://tidegate-lake/t")
            spark.range(5).write.format("delta").mode("append").save("s3a://tidegate-lake/t")
            assert spark.sql("SELECT current_timezone()").first()[0] == "UTC"  # type: ignore[index]
        keys = [o["Key"] for o in stack.clients().s3.list_objects_v2(Bucket="tidegate-lake")["Contents"]]
        assert not [key for key in keys if key.endswith(".crc")]
        ready.clear()
        _kill_spark(stack, until)
        assert ready == [stack.settings], "the names were not made again"
        with isolated_session(stack.spark.remote) as spark:
            assert spark.read.format("delta").load("s3a://tidegate-lake/t").count() == 15
        pids = everything_of(stack)
    assert all(is_gone(pid) for pid in pids)
    assert find_stack(stack.home) is None


def _only_with_the_token(stack: LocalStack) -> None:
    """Check that the server refuses clients with no token or a wrong one.

    No other user of the machine can read the token.
    """
    remote = stack.spark.remote
    assert remote.token
    assert remote.address.startswith("sc://localhost:")
    for token in (None, "guessed"):
        with pytest.raises(SparkUnreachable, match=r"refuses this client .*_AUTHENTICATE_TOKEN") as refused:
            probe(SparkRemote(remote.address, token))
        assert remote.token not in str(refused.value)
    # As any PySpark client connects: by its own two variables.
    program = "from pyspark.sql import SparkSession; print(SparkSession.builder.getOrCreate().range(3).count())"
    done = subprocess.run(
        [sys.executable, "-c", program], env={**os.environ, **stack.environ}, capture_output=True, text=True, timeout=60
    )
    assert done.stdout == "3\n", done.stderr
    lines = subprocess.run(["ps", "-eww", "-o", "args"], capture_output=True, text=True, timeout=30).stdout
    assert "SparkConnectServer" in lines
    assert remote.token not in lines
    for path in stack.home.rglob("*"):
        if path.is_file() and remote.token.encode() in path.read_bytes():
            assert path.name in ("stack.json", "environment.sh"), path
            assert path.stat().st_mode & 0o777 == 0o600, path


def _kill_spark(stack: LocalStack, until: Callable[..., bool]) -> None:
    """Kill the server, which is restarted. The AWS stays as it is."""
    before = find_stack(stack.home)
    assert before is not None
    assert stack.supervisor is not None
    assert stack.spark.process is not None
    stack.spark.process.kill()
    assert until(lambda: stack.supervisor is not None and stack.supervisor.restarts == 1, 60)
    assert probe(stack.spark.remote).startswith("4.")
    after = find_stack(stack.home)
    assert after is not None
    assert after.pids["spark"] != before.pids["spark"]
    assert after.pids["aws"] == before.pids["aws"]


@small_spark()
def test_an_exception_at_start_leaves_nothing(stack: LocalStack, is_gone: Callable[[int], bool]) -> None:
    def fail(settings: Settings) -> None:
        raise ValueError("no names today")

    stack._on_ready = fail
    with pytest.raises(ValueError, match="no names today"):
        stack.start()
    for process in (stack.aws.process, stack.spark.process):
        assert process is not None
        assert is_gone(process.pid)
        assert is_gone(process.guard_pid)
    assert find_stack(stack.home) is None


@small_spark()
def test_a_server_that_ends_at_start_is_an_error_in_seconds(stack: LocalStack, is_gone: Callable[[int], bool]) -> None:
    stack.spark._conf[ENDS] = "true"
    began = time.monotonic()
    with pytest.raises(UnavailableError, match="Spark server ended at start"):
        stack.start()
    assert time.monotonic() - began < 30
    assert stack.aws.process is not None
    assert is_gone(stack.aws.process.pid)


def _owner(code: str, arguments: list[str], environ: dict[str, str]) -> subprocess.Popen[bytes]:
    """Run code in a process of its own, which has a platform when this returns."""
    imports = (
        "import sys\n"
        "from pathlib import Path\n"
        "from tests.support.servers.small_server import small_spark\n"
        "from tidegate.platform.local.stack import LocalStack\n"
        "small_spark().start()\n"
    )
    owner = subprocess.Popen([sys.executable, "-c", imports + code, *arguments], stdout=subprocess.PIPE, env=environ)
    assert owner.stdout is not None
    assert owner.stdout.readline() == b"up\n"
    return owner


@small_spark()
def test_a_sigkilled_owner_leaves_nothing_and_its_home_can_be_used(
    stack: LocalStack, python_path: dict[str, str], is_gone: Callable[[int], bool]
) -> None:
    owner = _owner(
        "stack = LocalStack(Path(sys.argv[1]), aws_port=int(sys.argv[2]), spark_port=int(sys.argv[3]))\n"
        "stack.start(); print('up', flush=True); stack.run_until_signal()\n",
        [str(stack.home), str(stack.aws.port), str(stack.spark.port)],
        python_path,
    )
    pids = everything_of(stack)
    assert len(pids) == 4
    owner.send_signal(signal.SIGKILL)
    owner.communicate(timeout=10)
    # At once, on the same ports: the start waits for the guards of the dead platform.
    with stack:
        assert all(is_gone(pid) for pid in pids)


@small_spark()
def test_a_signal_ends_it_in_order(
    stack: LocalStack, python_path: dict[str, str], is_gone: Callable[[int], bool]
) -> None:
    owner = _owner(
        "with LocalStack(Path(sys.argv[1]), aws_port=0, spark_port=0) as stack:\n"
        "    print(stack.run_until_signal(lambda: print('up', flush=True)), flush=True)\n",
        [str(stack.home)],
        python_path,
    )
    pids = everything_of(stack)
    os.kill(owner.pid, signal.SIGTERM)
    out, _ = owner.communicate(timeout=60)
    assert out.decode().split()[-1] == str(int(signal.SIGTERM))
    assert owner.returncode == 0
    assert all(is_gone(pid) for pid in pids)
    assert not (stack.home / "stack.json").exists()


@small_spark()
def test_a_server_that_is_not_ready_in_time(tmp_path: Path, is_gone: Callable[[int], bool]) -> None:
    server = SparkServer(tmp_path, LocalAws(tmp_path, 1).environ, port=0, conf={NEVER_LISTENS: "true"})
    with pytest.raises(UnavailableError, match=r"not ready within 1 s"):
        server.start(1.0)
    assert server.process is not None
    assert is_gone(server.process.pid)
