"""AWS as a Dagster resource."""

from __future__ import annotations

from dagster_aws.utils import ResourceWithBoto3Configuration

from tidegate.resources.aws.clients import Aws


class AwsResource(ResourceWithBoto3Configuration):
    """The fields of every AWS resource of Dagster; dagster-aws has no SQS resource and does not size connection pools.

    Apart from what it makes, because dagster-aws imports Dagster's daemon: commands need neither.
    """

    @property
    def aws(self) -> Aws:
        """Clients, as the fields say."""
        return Aws(**self.model_dump())
