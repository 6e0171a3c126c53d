"""AWS clients by the default chain of credentials, or as configured."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import boto3
from botocore.config import Config
from dagster_aws.utils import ResourceWithBoto3Configuration

#: Connections of one client: as many as the widest thread pool has threads.
_CONNECTIONS = 64


class AwsResource(ResourceWithBoto3Configuration):
    """Clients for S3 and SQS; dagster-aws has no SQS resource and does not size the connection pool.

    Left empty, every field follows AWS's default chain (environment, profile, instance role); the endpoint follows
    AWS_ENDPOINT_URL, the region AWS_REGION, which boto3 by itself does not read.
    """

    @classmethod
    def of(cls, environ: Mapping[str, str]) -> AwsResource:
        """What the variables of an environment say, whatever those of this process are."""
        return cls(
            endpoint_url=environ.get("AWS_ENDPOINT_URL") or None,
            region_name=environ.get("AWS_REGION") or environ.get("AWS_DEFAULT_REGION") or None,
            profile_name=environ.get("AWS_PROFILE") or None,
            aws_access_key_id=environ.get("AWS_ACCESS_KEY_ID") or None,
            aws_secret_access_key=environ.get("AWS_SECRET_ACCESS_KEY") or None,
            aws_session_token=environ.get("AWS_SESSION_TOKEN") or None,
        )

    def elsewhere(self, region: str, endpoint: str | None) -> AwsResource:
        """The same credentials in another region, at another endpoint."""
        return self.model_copy(update={"region_name": region, "endpoint_url": endpoint})

    def session(self) -> boto3.session.Session:
        """Region and credentials, as they are found now."""
        return boto3.session.Session(
            profile_name=self.profile_name,
            region_name=self.region_name or os.environ.get("AWS_REGION") or None,
            aws_access_key_id=self.aws_access_key_id,
            aws_secret_access_key=self.aws_secret_access_key,
            aws_session_token=self.aws_session_token,
        )

    def client(self, service: str) -> Any:
        """A thread-safe client of a service (``s3``, ``sqs``)."""
        make: Any = self.session().client  # boto3-stubs types it per service name; here the name is a variable
        return make(
            service,
            use_ssl=self.use_ssl,
            verify=self.verify,
            endpoint_url=self.endpoint_url,
            config=Config(
                max_pool_connections=_CONNECTIONS,
                connect_timeout=10,
                read_timeout=60,
                retries={"mode": "standard", "max_attempts": self.max_attempts},
            ),
        )
