"""The Spark server of a run: that of `tidegate spark`, with a table of commits of its own, and requests in its log."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

from tidegate.platform.core.config.commits import Commits
from tidegate.platform.lake.aws.clients import Aws
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
#: How boto finds credentials that the SDK of Java finds and renews by itself.
_FOUND_BY_JAVA = ("env", "explicit", "assume-role-with-web-identity", "iam-role", "container-role")


@dataclass(frozen=True)
class GivenCredentials:
    """Credentials of boto that the Spark server gets as variables.

    Attributes:
        environ: the variables. Empty if the server finds the credentials by itself.
        expire: when they end to be valid; None if they do not, or if that is not known.
    """

    environ: Mapping[str, str] = field(default_factory=dict, repr=False)
    expire: datetime | None = None

    @classmethod
    def from_aws(cls, aws: Aws) -> GivenCredentials:
        """Return the credentials of now of a profile: the SDK of Java does not know each way of a profile, as SSO."""
        found = aws.session().get_credentials()
        if found is None or found.method in _FOUND_BY_JAVA:
            return cls()
        now = found.get_frozen_credentials()
        given = {
            "AWS_ACCESS_KEY_ID": now.access_key,
            "AWS_SECRET_ACCESS_KEY": now.secret_key,
            "AWS_SESSION_TOKEN": now.token,
        }
        environ = {name: value for name, value in given.items() if value}
        return cls(environ, getattr(found, "_expiry_time", None))


class ProofServer(DeployedServer):
    """The server of one run.

    Args:
        home: folder of its files.
        wanted: its settings. Its port is a free one.
        credentials: that it gets.
    """

    def __init__(self, home: Path, wanted: DeployedSettings, credentials: GivenCredentials) -> None:
        port = free_port()
        wanted, self._credentials = replace(wanted, port=port), credentials
        super().__init__(home, wanted, SparkRemote(f"sc://localhost:{port}", secrets.token_urlsafe(32)))
        self._log = home / "server.log"

    @property
    def request_log(self) -> Path:
        """The file with a line for each request to AWS."""
        return self.home / "requests.log"

    def _environ(self, spark: Path) -> dict[str, str]:
        return {**super()._environ(spark), **self._credentials.environ}

    def _log_settings(self) -> str:
        return log4j_properties() + _REQUESTS.format(file=self.request_log)


def commit_table_setting(table: str, commits: Commits) -> dict[str, str]:
    """Return the setting that lets a server coordinate commits in a table of another name than the default."""
    return {} if commits == "s3" else {f"spark.{LOG_STORE}.ddb.tableName": table}


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
