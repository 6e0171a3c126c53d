"""The log store in a separate JVM, without Spark, which tests kill, pause and race."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from tidegate.platform.local.process.process import tail
from tidegate.platform.local.spark.conf import spark_conf
from tidegate.platform.local.spark.jars import OWN_JAR, class_archive, class_archive_options, jars_folder, log_store_jar
from tidegate.platform.local.spark.java import require_java
from tidegate.platform.local.spark.server import spark_home
from tidegate.platform.local.spark.server_settings import LOG_STORE

#: The two programs: the log store alone, and Delta Kernel with the log store.
ALONE = "io.tidegate.storage.LogStoreProcess"
KERNEL = "io.tidegate.storage.KernelProcess"
#: The log store that publishes conditionally, without DynamoDB.
CONDITIONAL = "io.tidegate.storage.ConditionalS3LogStore"
_TEST_CLASSES = Path(__file__).resolve().parents[3] / "platform" / "jvm" / "target" / "test-classes"
_HADOOP = "spark.hadoop."


class LogStoreProcess:
    """One writer or reader of logs. It ends with the test's process, whose pipe it reads.

    Args:
        folder: folder of its files.
        table: `s3a://` root of a table; in a race, the beginning of the roots.
        aws: address, region and keys of S3 and DynamoDB.
        program: `ALONE` or `KERNEL`.
        store: class of the log store that `ALONE` runs.
        class_path: what it runs with; None for that of the Spark server.
        settings: settings of the log store, without its prefix, with `_` for `.`.
    """

    def __init__(
        self,
        folder: Path,
        table: str,
        aws: Mapping[str, str],
        program: str = ALONE,
        store: str = LOG_STORE,
        class_path: str | None = None,
        **settings: str,
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._said = folder / "said"
        self._errors = folder / "errors"
        self._seen: Counter[str] = Counter()
        command = [str(require_java()), "-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
        classes = (
            ["-cp", _class_path(f"{jars_folder()}/*"), *_archived()] if class_path is None else ["-cp", class_path]
        )
        command += [*classes, program, table, f"test.store={store}"]
        command += [f"{key}={value}" for key, value in {**_conf(folder, aws), **_own(settings)}.items()]
        with self._said.open("wb") as said, self._errors.open("wb") as errors:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=said, stderr=errors, env={**os.environ, **aws}
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()

    @property
    def alive(self) -> bool:
        """Whether the process exists, running or paused."""
        return self._process.poll() is None

    def lines(self) -> list[str]:
        """Return all complete lines of its output."""
        return self._said.read_text().split("\n")[:-1]

    def errors(self) -> str:
        """Return the end of its standard error."""
        return tail(self._errors, 40)

    def wait_ready(self, deadline: float = 60.0) -> Self:
        """Wait until it accepts commands."""
        self._next(deadline)
        return self

    def send_line(self, command: str) -> None:
        """Send a command."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{command}\n".encode())
        self._process.stdin.flush()

    def answer(self, deadline: float = 60.0) -> str:
        """Return the next line of its output."""
        return self._next(deadline)

    def ask(self, command: str, deadline: float = 60.0) -> str:
        """Send a command. Returns the next line of its output."""
        self.send_line(command)
        return self._next(deadline)

    def pause(self) -> None:
        """Send SIGSTOP."""
        self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Send SIGCONT."""
        self._process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        """Send SIGKILL, whatever its state, and wait."""
        self._process.kill()
        self._process.wait(30.0)
        if self._process.stdin is not None:
            self._process.stdin.close()

    def store(self, name: str, table: str, store: str = LOG_STORE, **settings: str) -> HostedStore:
        """Start one more log store in this process. It does not wait for the others.

        Args:
            name: unique in this process.
            table: as for the process.
            store: class of the log store.
            settings: as for the process, in addition to its own settings.
        """
        given = {"test.store": store} | _own(settings)
        hosted = HostedStore(self, name)
        hosted.send_line("\t".join(["open", table, *(f"{key}={value}" for key, value in given.items())]))
        return hosted

    def _next(self, deadline: float) -> str:
        return self.next_of("", deadline)

    def next_of(self, name: str, deadline: float) -> str:
        """Return the next line of a store, by its prefix; `""` for the process itself."""
        end = time.monotonic() + deadline
        while True:
            alive = self.alive
            said = [line for line in self.lines() if line.startswith(name) and (name or not line.startswith("@"))]
            if len(said) > self._seen[name]:
                self._seen[name] += 1
                return said[self._seen[name] - 1].removeprefix(name)
            if not alive or time.monotonic() > end:
                raise AssertionError(f"the log store's process printed nothing\n{self.errors()}")
            time.sleep(0.02)


class HostedStore:
    """A log store in a process with other stores. It is neither killed nor paused."""

    def __init__(self, host: LogStoreProcess, name: str) -> None:
        self._host, self._prefix = host, f"@{name} "

    def wait_ready(self, deadline: float = 60.0) -> Self:
        """Wait as for a process. The other methods are as for a process too."""
        assert self.answer(deadline) == "ready"
        return self

    def send_line(self, command: str) -> None:
        self._host.send_line(self._prefix + command)

    def answer(self, deadline: float = 60.0) -> str:
        return self._host.next_of(self._prefix, deadline)

    def ask(self, command: str, deadline: float = 60.0) -> str:
        self.send_line(command)
        return self.answer(deadline)


def _own(settings: Mapping[str, str]) -> dict[str, str]:
    return {f"spark.{LOG_STORE}.{key.replace('_', '.')}": value for key, value in settings.items()}


def class_path_of_log_store() -> str:
    """Return a class path that has our jar of the log stores, and not that of everything."""
    ours = log_store_jar()
    return _class_path(
        ":".join(map(str, [ours, *(path for path in jars_folder().glob("*.jar") if path.name != OWN_JAR)]))
    )


def _class_path(jars: str) -> str:
    """Return a class path as the Spark server has it with these jars. The archive of classes fits no other.

    The classes of tests come after it.
    """
    assert _TEST_CLASSES.is_dir(), "the JVM tests are not built: run `make test`"
    spark = spark_home()
    (logging,) = (spark / "jars").glob("slf4j-api-*.jar")
    return f"{jars}:{spark / 'conf'}:{logging}:{spark / 'jars'}/*:{_TEST_CLASSES}"


def _archived() -> list[str]:
    """Return the option that takes classes from the archive, if it exists.

    Reading classes is a third of the CPU time.
    """
    archive = class_archive(jars_folder())
    return class_archive_options(archive) if archive else []


def _conf(home: Path, aws: Mapping[str, str]) -> dict[str, str]:
    whole = spark_conf(
        home=home, port=0, jars=home, aws=aws, cores=1, memory="1g", log_store=LOG_STORE, own_catalog=False
    )
    return {
        key.removeprefix(_HADOOP): value
        for key, value in whole.items()
        if key.startswith((_HADOOP, f"spark.{LOG_STORE}"))
    }
