"""ElasticMQ, an SQS server faster than the local AWS, as a child process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.plugins.processes import listens
from tidegate.platform.local.process.ports import LOOPBACK, free_port
from tidegate.platform.local.process.process import spawn
from tidegate.platform.local.spark.java import require_java

_JARS = Path(__file__).resolve().parents[2] / "platform" / "jvm" / "elasticmq" / "target" / "lib"


@contextmanager
def elasticmq(home: Path) -> Iterator[str]:
    """Run ElasticMQ on a free port of loopback, with queues in memory. Yields its endpoint.

    Args:
        home: folder of its log.

    Raises:
        RuntimeError: ElasticMQ is missing, or did not start within a minute.
    """
    if not any(_JARS.glob("elasticmq-server_*.jar")):
        raise RuntimeError("ElasticMQ is missing: run `make bench`, which fetches it")
    home.mkdir(parents=True)
    port = free_port()
    settings = {
        "rest-sqs.bind-hostname": LOOPBACK,
        "rest-sqs.bind-port": port,
        "node-address.host": LOOPBACK,
        "node-address.port": port,
        "rest-stats.enabled": "false",
    }
    java = [str(require_java()), "-Xmx1g", "-cp", f"{_JARS}/*", *(f"-D{name}={on}" for name, on in settings.items())]
    process = spawn("ElasticMQ", [*java, "org.elasticmq.server.Main"], log=home / "elasticmq.log", cwd=home)
    try:
        listens(process, port)
        yield f"http://{LOOPBACK}:{port}"
    finally:
        process.stop()
