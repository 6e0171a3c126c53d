"""AWS as a Dagster resource."""

from __future__ import annotations

from dagster_aws.utils import ResourceWithBoto3Configuration

from tidegate.platform.lake.aws.clients import Aws


class AwsResource(ResourceWithBoto3Configuration):
    """The fields of every AWS resource of Dagster; dagster-aws has no SQS resource and does not size connection pools.

    It is a module of its own, because dagster-aws imports Dagster's daemon, which commands do not need.
    """

    @property
    def aws(self) -> Aws:
        """Clients with the settings of the fields."""
        return Aws(**self.model_dump())
