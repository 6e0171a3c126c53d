"""S3Proxy in its own process: an S3 server that nobody of this project wrote, which keeps objects in a folder."""

from __future__ import annotations

import http.client
import time
from pathlib import Path

from tidegate.platform.local.process.ports import LOOPBACK, accepts_connections, free_port
from tidegate.platform.local.process.process import Process, RunningServer, spawn
from tidegate.platform.local.spark.java import require_java

_JARS = Path(__file__).resolve().parents[3] / "platform" / "jvm" / "s3proxy" / "target" / "lib"
_MAIN = "org.gaul.s3proxy.Main"
#: Without the last option it refuses the checksums that AWS's clients send.
_SETTINGS = """\
s3proxy.endpoint=http://{host}:{port}
s3proxy.authorization=aws-v2-or-v4
s3proxy.identity=test
s3proxy.credential=test
jclouds.provider=filesystem-nio2
jclouds.filesystem.basedir={folder}
jclouds.identity=test
jclouds.credential=test
s3proxy.ignore-unknown-headers=true
"""


class S3Proxy(RunningServer):
    """The server.

    Args:
        home: folder of its objects and its log.
    """

    def __init__(self, home: Path) -> None:
        self.port = free_port()
        self._home = home
        self._process: Process | None = None

    @property
    def endpoint(self) -> str:
        """The URL for clients."""
        return f"http://{LOOPBACK}:{self.port}"

    def start(self) -> None:
        """Start it, and wait until it answers."""
        assert any(_JARS.glob("s3proxy-*.jar")), "S3Proxy is missing: run `make test`, which fetches it"
        objects = self._home / "objects"
        objects.mkdir(parents=True)
        settings = self._home / "s3proxy.conf"
        settings.write_text(_SETTINGS.format(host=LOOPBACK, port=self.port, folder=objects))
        java = [str(require_java()), "-Xmx256m", "-XX:TieredStopAtLevel=1", "-cp", f"{_JARS}/*"]
        self._process = spawn(
            "S3Proxy", [*java, _MAIN, "--properties", str(settings)], log=self._home / "s3proxy.log", cwd=self._home
        )
        end = time.monotonic() + 60
        while not (accepts_connections(self.port, 0.2) and self._answers()):
            assert time.monotonic() < end, self._process.log_hint
            self._process.require_alive()

    def _answers(self) -> bool:
        connection = http.client.HTTPConnection(LOOPBACK, self.port, timeout=5)
        try:
            connection.request("GET", "/")
            return connection.getresponse().status in (200, 403)
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()

    def stop(self) -> None:
        """End it."""
        if self._process is not None:
            self._process.stop()
