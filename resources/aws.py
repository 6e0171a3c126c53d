"""AWS clients by the default chain of credentials, or as configured."""

from __future__ import annotations

from typing import Any

import boto3
from botocore.config import Config
from dagster_aws.utils import ResourceWithBoto3Configuration

#: Connections of one client: as many as the widest thread pool has threads.
_CONNECTIONS = 64


class AwsResource(ResourceWithBoto3Configuration):
    """Clients for S3 and SQS; dagster-aws has no SQS resource and does not size the connection pool.

    Left empty, every field follows AWS's default chain (environment, profile, instance role); the endpoint follows
    AWS_ENDPOINT_URL.
    """

    def client(self, service: str) -> Any:
        """A thread-safe client of a service (``s3``, ``sqs``)."""
        session = boto3.session.Session(profile_name=self.profile_name, region_name=self.region_name)
        make: Any = session.client  # boto3-stubs types it per service name; here the name is a variable
        return make(
            service,
            use_ssl=self.use_ssl,
            verify=self.verify,
            endpoint_url=self.endpoint_url,
            aws_access_key_id=self.aws_access_key_id,
            aws_secret_access_key=self.aws_secret_access_key,
            aws_session_token=self.aws_session_token,
            config=Config(
                max_pool_connections=_CONNECTIONS,
                connect_timeout=10,
                read_timeout=60,
                retries={"mode": "standard", "max_attempts": self.max_attempts},
            ),
        )
