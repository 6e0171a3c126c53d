"""The embedded AWS: MiniStack as a child process, with its state in a folder that survives restarts."""

from __future__ import annotations

import http.client
import json
import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from tidegate.platform.core.errors import UnavailableError
from tidegate.platform.local.process.ports import LOOPBACK, free_port, require_free
from tidegate.platform.local.process.process import Process, RunningServer, spawn

REGION = "us-east-1"
ACCOUNT = "000000000000"
_MODULE = "ministack"
SERVICES = "s3,sqs,sns,dynamodb,cloudwatch,sts,iam,events,tagging,glue"


class LocalAws(RunningServer):
    """S3, SQS, SNS, DynamoDB, CloudWatch and Glue on one machine, on loopback only.

    Objects are on disk as soon as they are written. Queues, tables, notifications and messages are saved when the
    server stops. After a SIGKILL, the server has all objects, but the queues of its last stop.

    Args:
        home: folder of its state and log; created if it is missing.
        port: port on loopback; 0 takes a free one.
        log: its log file; None takes a file in the home.
        services: its services, by the names of the emulator.
    """

    def __init__(self, home: Path, port: int = 4566, *, log: Path | None = None, services: str = SERVICES) -> None:
        self.home = home.resolve()
        self.port = port or free_port()
        self.process: Process | None = None
        self._log = log or self.home / "aws.log"
        self._services = services

    @property
    def endpoint(self) -> str:
        """The endpoint URL for AWS clients."""
        return f"http://{LOOPBACK}:{self.port}"

    def queue_url(self, name: str) -> str:
        """Return the URL of a queue of this AWS.

        The server itself answers with the port that it had when the queue was created.
        """
        return f"{self.endpoint}/{ACCOUNT}/{name}"

    @property
    def environ(self) -> dict[str, str]:
        """The environment of a client of this AWS: endpoint, region and the fixed credentials of the emulator."""
        return {
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_REGION": REGION,
            "AWS_DEFAULT_REGION": REGION,
            "AWS_EC2_METADATA_DISABLED": "true",
        }

    def start(self, deadline: float = 30.0) -> None:
        """Start the server and wait until it answers.

        Args:
            deadline: seconds.

        Raises:
            UnavailableError: the port is in use, or the server was not ready in time. It is stopped then.
        """
        require_free(self.port, "local AWS", "--aws-port")
        temp = self.home / "tmp"
        temp.mkdir(parents=True, exist_ok=True)
        self.process = spawn(
            "local AWS",
            [sys.executable, "-m", _MODULE],
            log=self._log,
            env=self._server_environ(os.environ, temp),
            cwd=self.home,
        )
        try:
            self._wait_ready(deadline)
        except BaseException:
            self.stop()
            raise

    def _server_environ(self, base: Mapping[str, str], temp: Path) -> dict[str, str]:
        # Proxies and AWS settings of the caller are for the real AWS.
        clean = {k: v for k, v in base.items() if not k.startswith("AWS_") and "_proxy" not in k.lower()}
        return clean | {
            "GATEWAY_PORT": str(self.port),
            "BIND_HOST": LOOPBACK,
            "MINISTACK_REGION": REGION,
            "PERSIST_STATE": "1",
            "STATE_DIR": str(self.home / "state"),
            "S3_PERSIST": "1",
            "S3_DATA_DIR": str(self.home / "s3"),
            "TMPDIR": str(temp),
            "SERVICES": self._services,
            "IOT_MTLS_ENABLED": "0",
            "SFTP_ENABLED": "0",
            "LOG_LEVEL": "WARNING",
        }

    def _wait_ready(self, deadline: float) -> None:
        assert self.process is not None
        end = time.monotonic() + deadline
        while time.monotonic() < end:
            if not self.process.alive:
                raise UnavailableError(
                    f"the local AWS ended at start with exit code {self.process.returncode}; {self.process.log_hint}"
                )
            if self._is_healthy():
                return
            time.sleep(0.05)
        raise UnavailableError(
            f"the local AWS did not answer on port {self.port} within {deadline:.0f} s; {self.process.log_hint}"
        )

    def _is_healthy(self) -> bool:
        connection = http.client.HTTPConnection(LOOPBACK, self.port, timeout=2.0)
        try:
            connection.request("GET", "/_ministack/health")
            reply = connection.getresponse()
            return reply.status == 200 and "services" in json.loads(reply.read())
        except (OSError, http.client.HTTPException, ValueError):
            return False
        finally:
            connection.close()

    @property
    def alive(self) -> bool:
        """Whether the process of the server runs."""
        return self.process is not None and self.process.alive

    def stop(self, deadline: float = 20.0) -> None:
        """Save the state and end the server. Does nothing when it is not running.

        Args:
            deadline: seconds before the server is killed without saving its queues.
        """
        if self.process is not None:
            self.process.stop(deadline)
