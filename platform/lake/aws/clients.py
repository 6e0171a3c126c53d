"""AWS clients by the default chain of credentials, or as configured."""

from __future__ import annotations

import getpass
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from botocore.loaders import Loader
from botocore.session import Session

from tidegate.platform.lake.aws.direct_calls import FREQUENT, DirectClient

#: Connections of one client: as many as its widest thread pool has threads. Every further connection is opened for
#: one request only.
_CONNECTIONS = {"sqs": 256}
_FEWER_CONNECTIONS = 64
#: Services that a tick sends many requests in few seconds, and Glue, which follows a commit, with the seconds that an
#: answer may take. If one of them does not answer, the next tick or run asks again. A receive waits for four seconds at
#: most, and is repeated once by boto3 and once before (`DirectClient`). STS only names a caller.
_QUICK = {"sqs": 6, "sns": 10, "resourcegroupstaggingapi": 10, "cloudwatch": 10, "glue": 10, "sts": 10}


class _Descriptions(Loader):
    """AWS's descriptions of its services, parsed once per process. A client of S3 needs a megabyte of JSON."""

    @property
    def search_paths(self) -> list[str]:
        """A copy, because each session of boto3 appends a folder that no client reads."""
        return list(super().search_paths)


_DESCRIPTIONS = _Descriptions()


@dataclass(frozen=True)
class Aws:
    """Clients for S3 and SQS.

    Left empty, every field follows AWS's default chain (environment, profile, instance role); the endpoint follows
    AWS_ENDPOINT_URL, the region AWS_REGION, which boto3 by itself does not read.
    """

    region_name: str | None = None
    max_attempts: int = 5
    profile_name: str | None = None
    use_ssl: bool = True
    endpoint_url: str | None = None
    verify: bool | None = True
    aws_access_key_id: str | None = field(default=None, repr=False)
    aws_secret_access_key: str | None = field(default=None, repr=False)
    aws_session_token: str | None = field(default=None, repr=False)

    @classmethod
    def from_environ(cls, environ: Mapping[str, str]) -> Aws:
        """Return the settings that the variables of an environment give.

        The environment of this process plays no part.
        """
        return cls(
            endpoint_url=environ.get("AWS_ENDPOINT_URL") or None,
            region_name=environ.get("AWS_REGION") or environ.get("AWS_DEFAULT_REGION") or None,
            profile_name=environ.get("AWS_PROFILE") or None,
            aws_access_key_id=environ.get("AWS_ACCESS_KEY_ID") or None,
            aws_secret_access_key=environ.get("AWS_SECRET_ACCESS_KEY") or None,
            aws_session_token=environ.get("AWS_SESSION_TOKEN") or None,
        )

    def queues(self, region: str | None) -> Any:
        """Return a client of SQS in a region; None for the region of the credentials."""
        return self.quick_client("sqs", region)

    def quick_client(self, service: str, region: str | None = None) -> Any:
        """Return a client of a service in a region; None for the region of the credentials.

        It tries twice, or three times for a receive, so that a queue or topic that does not answer is recognized within
        half a minute, and usually at once.
        """
        here = replace(self, region_name=region) if region else self
        return replace(here, max_attempts=min(1, self.max_attempts)).client(service)

    def with_endpoint(self, region: str, endpoint: str | None) -> Aws:
        """Return the same credentials in another region, at another endpoint."""
        return replace(self, region_name=region, endpoint_url=endpoint)

    def session(self) -> boto3.session.Session:
        """Return a session with the region and the credentials that are found now."""
        return self._session_on(Session())

    def _session_on(self, core: Session) -> boto3.session.Session:
        core.register_component("data_loader", _DESCRIPTIONS)
        return boto3.session.Session(
            botocore_session=core,
            profile_name=self.profile_name,
            region_name=self.region_name or os.environ.get("AWS_REGION") or None,
            aws_access_key_id=self.aws_access_key_id,
            aws_secret_access_key=self.aws_secret_access_key,
            aws_session_token=self.aws_session_token,
        )

    def account(self) -> str:
        """Return the AWS account of the credentials. Needs no permission."""
        return str(self._identity()["Account"])

    def caller(self) -> str:
        """Return the ARN of the user or role whose credentials these are. Needs no permission. Asked once a process."""
        return _caller_arn(self)

    def _identity(self) -> Any:
        return self.quick_client("sts").get_caller_identity()

    def client(self, service: str) -> Any:
        """Return a thread-safe client of a service (`s3`, `sqs`)."""
        core = Session()
        make: Any = self._session_on(core).client  # boto3-stubs types it per service name; here the name is a variable
        connect, read = (3, _QUICK[service]) if service in _QUICK else (10, 60)
        client = make(
            service,
            use_ssl=self.use_ssl,
            verify=self.verify,
            endpoint_url=self.endpoint_url,
            config=Config(
                max_pool_connections=_CONNECTIONS.get(service, _FEWER_CONNECTIONS),
                connect_timeout=connect,
                read_timeout=read,
                retries={"mode": "standard", "max_attempts": self.max_attempts},
            ),
        )
        credentials = core.get_credentials()
        if service not in FREQUENT or credentials is None:
            return client
        own_list = core.get_config_variable("ca_bundle")
        return DirectClient(client, credentials, own_list if self.verify is None else self.verify)


@cache
def _caller_arn(aws: Aws) -> str:
    return str(aws._identity()["Arn"])


def parse_descriptions() -> None:
    """Parse the descriptions that clients need before the first client is made. Sends no request."""
    nobody = Aws(region_name="us-east-1", aws_access_key_id="-", aws_secret_access_key="-")
    for service in ("s3", "sqs"):
        nobody.client(service).close()


def caller(aws: Aws) -> str:
    """Return the ARN that AWS gives the caller, and the name on this machine, which anybody can set.

    Without an answer of AWS, it is that name, and why there is no ARN.
    """
    name = getpass.getuser()
    try:
        return f"{aws.caller()} ({name})"
    except ClientError as error:
        why = error.response.get("Error", {}).get("Code", "refused")
    except BotoCoreError as error:
        why = type(error).__name__
    return f"{name} (AWS did not say whose credentials these are: {why})"
