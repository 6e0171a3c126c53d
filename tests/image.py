"""Runs the image of `deploy/image/build` on a local AWS: one file to silver, and the end. `make image` calls it.

The commands of `buildah run` share the files of one working container, as services of compose share the volume of the
token. They have the network of this machine.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from tidegate.platform.cloud.requirements import WantedResources
from tidegate.platform.core.config.load import load_lake
from tidegate.platform.local.aws import REGION, LocalAws
from tidegate.platform.local.process.guard import _descendants
from tidegate.platform.local.provision import Clients, provision

#: GB on disk: pyspark 0.5, Java 0.2, Python's packages 0.6, Debian 0.2.
MAX_GB = 1.9
MAX_END_SECONDS = 10.0
_USER = "10001"
_BUILDAH = {**os.environ, "BUILDAH_ISOLATION": "chroot", "STORAGE_DRIVER": "vfs"}
_LAKE = {
    "lake": {"root": "s3://image-lake/lake"},
    "queues": [{"name": "image-events", "dlq": "image-events-dlq"}],
    "buckets": ["image-landing"],
    "discovery": False,
    "window": 0,
    "tables": [
        {"name": "sold", "prefix": "s3://image-landing/sold/", "format": "json",
         "silver": {"keys": ["id"], "order": "v", "every": 5}}
    ],
}  # fmt: skip


def buildah(*arguments: str) -> str:
    """Run a command of buildah. Return its output."""
    return subprocess.run(
        ["buildah", *arguments], env=_BUILDAH, stdout=subprocess.PIPE, text=True, check=True, timeout=300
    ).stdout.strip()


class Container:
    """A working container of the image, and the commands in it.

    Args:
        image: name of the image.
        folder: its logs.
        lake: the lake.yaml.
        environ: the variables of each command.
    """

    def __init__(self, image: str, folder: Path, lake: Path, environ: dict[str, str]) -> None:
        self._name = buildah("from", image)
        self._folder = folder
        given = [text for name, value in environ.items() for text in ("--env", f"{name}={value}")]
        # Docker and Kubernetes let a container know its own name; a chroot does not, and Spark asks for its address.
        self._run = [
            "buildah",
            "run",
            "--hostname",
            "localhost",
            "--volume",
            f"{lake}:/etc/tidegate/lake.yaml:ro",
            *given,
            self._name,
            "--",
        ]

    def remove(self) -> None:
        """Remove it, and what the commands have written."""
        buildah("rm", self._name)

    def size(self) -> float:
        """Return the GB of its files."""
        mounted = buildah("mount", self._name)
        found = subprocess.run(["du", "-sbx", mounted], stdout=subprocess.PIPE, text=True, check=True).stdout
        return int(found.split()[0]) / 1e9

    def output(self, *command: str) -> str:
        """Run a command of the image's own. Return its output.

        Raises:
            subprocess.CalledProcessError: it failed.
        """
        done = subprocess.run(
            [*self._run, "tini", "--", "entrypoint", *command],
            env=_BUILDAH, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, timeout=300,
        )  # fmt: skip
        if done.returncode:
            raise subprocess.CalledProcessError(done.returncode, command, done.stdout)
        return done.stdout

    @contextmanager
    def running(self, command: str) -> Iterator[Path]:
        """Run a command until the end of the block, and measure its end by SIGTERM. Yields its log."""
        log = self._folder / f"{command}.log"
        with log.open("w") as sink:
            process = subprocess.Popen(
                [*self._run, "tini", "--", "entrypoint", command], env=_BUILDAH, stdout=sink, stderr=sink
            )
        try:
            yield log
            below = list(_descendants(process.pid))
            (first,) = (pid for pid in below if _program(pid) == "tini")
            assert {_user(pid) for pid in [first, *_descendants(first)]} == {_USER}, "a process runs as another user"
            began = time.monotonic()
            os.kill(first, signal.SIGTERM)
            process.wait(60)
            # A container ends what is left with its first process. In a chroot they must end themselves.
            while (left := {pid: _command(pid) for pid in below if _command(pid)}) and time.monotonic() - began < 60:
                time.sleep(0.1)
            seconds = time.monotonic() - began
            print(f"{command}: all processes ended {seconds:.1f} s after SIGTERM", flush=True)
            assert not left, left
            assert seconds < MAX_END_SECONDS
        finally:
            for pid in [*_descendants(process.pid), process.pid]:
                if Path(f"/proc/{pid}").exists() and process.poll() is None:
                    os.kill(pid, signal.SIGKILL)
            process.wait(60)


def _command(pid: int) -> str:
    """Return the command line of a process; empty if it has ended, waited for or not."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
    return ""


def _program(pid: int) -> str:
    return Path(f"/proc/{pid}/comm").read_text().strip()


def _user(pid: int) -> str:
    (line,) = (line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("Uid:"))
    return line.split()[1]


def wait_for(what: str, is_true: Callable[[], bool], log: Path, seconds: float = 180.0) -> None:
    """Wait until something is true.

    Raises:
        AssertionError: the time is over, or the command has ended. The message has the end of the log.
    """
    began = time.monotonic()
    while not is_true():
        assert "\nerror: " not in log.read_text(), log.read_text()[-3000:]
        assert time.monotonic() - began < seconds, f"{what} did not happen:\n{log.read_text()[-3000:]}"
        time.sleep(1)
    print(f"{what}: after {time.monotonic() - began:.0f} s", flush=True)


def run_lake(image: str, folder: Path) -> None:
    """Bring one file to silver in the image, and end its processes."""
    (lake := folder / "lake.yaml").write_text(json.dumps(_LAKE))
    lake.chmod(0o644)
    folder.chmod(0o755)
    with ExitStack() as stack:
        aws = LocalAws(folder / "aws", 0)
        stack.enter_context(aws)
        clients = Clients.connect(aws.endpoint, REGION, key="test", secret="test")
        provision(clients, WantedResources.from_config(load_lake(lake)))
        container = Container(image, folder, lake, aws.environ)
        stack.callback(container.remove)
        print(f"size: {(size := container.size()):.2f} GB", flush=True)
        assert size < MAX_GB
        spark = stack.enter_context(container.running("spark"))
        wait_for("Spark is ready", lambda: "SQL names" in spark.read_text() or "health " in spark.read_text(), spark)
        dagster = stack.enter_context(container.running("dagster"))
        wait_for("Dagster's pages answer", lambda: "Serving dagster-webserver" in dagster.read_text(), dagster)
        clients.s3.put_object(Bucket="image-landing", Key="sold/1.json", Body=b'{"id": 1, "v": 1}\n{"id": 1, "v": 2}\n')
        wait_for("a row is in silver", lambda: _count(container) == 1, dagster)
        print(container.output("check").splitlines()[-1], flush=True)


def _count(container: Container) -> int:
    try:
        found = container.output("sql", "--json", "SELECT count(*) AS n FROM silver.sold")
    except subprocess.CalledProcessError:  # until there is a table
        return 0
    return sum(int(number) for number in re.findall(r'"n": ?(\d+)', found))


def main(arguments: Sequence[str]) -> int:
    """Try an image. Return the exit code."""
    (image,) = arguments
    config: dict[str, Any] = json.loads(buildah("inspect", "--type", "image", image))["OCIv1"]["config"]
    assert config["User"] == _USER
    with tempfile.TemporaryDirectory(prefix="tidegate-image-") as folder:
        run_lake(image, Path(folder))
    print("the image brought a file to silver, as a user without root")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
