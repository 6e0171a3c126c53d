"""The Spark server of a run: that of `tidegate spark`, with a table of commits of its own, and requests in its log."""

from __future__ import annotations

import secrets
from pathlib import Path

from tidegate.platform.lake.spark.remote import SparkRemote
from tidegate.platform.local.process.ports import free_port
from tidegate.platform.local.spark.deployment_server import DeployedServer, DeployedSettings
from tidegate.platform.local.spark.server_settings import LOG_STORE, log4j_properties

#: A line of the log for each request, in a file of its own. It has names of headers, and no values.
_REQUESTS = """\
appender.requests.type = File
appender.requests.name = requests
appender.requests.fileName = {file}
appender.requests.layout.type = PatternLayout
appender.requests.layout.pattern = %m%n
logger.requests.name = software.amazon.awssdk.request
logger.requests.level = debug
logger.requests.additivity = false
logger.requests.appenderRef.requests.ref = requests
"""


class ProofServer(DeployedServer):
    """The server of one run.

    Args:
        home: folder of its files.
        region: region of the run.
        endpoint: URL of another AWS than Amazon's.
        more: further settings.
        memory: size of its heap, in Java's notation.
    """

    def __init__(self, home: Path, region: str, endpoint: str | None, more: dict[str, str], memory: str) -> None:
        port = free_port()
        wanted = DeployedSettings(region, endpoint, port=port, memory=memory, more=more)
        super().__init__(home, wanted, SparkRemote(f"sc://localhost:{port}", secrets.token_urlsafe(32)))
        self._log = home / "server.log"

    @property
    def request_log(self) -> Path:
        """The file with a line for each request to AWS."""
        return self.home / "requests.log"

    def _log_settings(self) -> str:
        return log4j_properties() + _REQUESTS.format(file=self.request_log)


def commit_table_setting(table: str) -> dict[str, str]:
    """Return the setting that lets a server coordinate commits in a table of another name than the default."""
    return {f"spark.{LOG_STORE}.ddb.tableName": table}


def s3_endpoint_settings(s3: str, dynamodb: str | None) -> dict[str, str]:
    """Return the settings for an S3 at an endpoint that other services do not share.

    Args:
        s3: URL of S3.
        dynamodb: URL of DynamoDB; None for Amazon's.
    """
    found = {
        "spark.hadoop.fs.s3a.endpoint": s3,
        "spark.hadoop.fs.s3a.path.style.access": "true",
        "spark.hadoop.fs.s3a.connection.ssl.enabled": str(not s3.startswith("http:")).lower(),
    }
    return found | ({f"spark.{LOG_STORE}.ddb.endpoint": dynamodb} if dynamodb else {})
