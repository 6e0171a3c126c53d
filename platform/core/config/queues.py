"""An SQS queue in `lake.yaml`."""

from __future__ import annotations

import re
from typing import Annotated, Self

from pydantic import Field, model_validator

from tidegate.platform.core.config.fields import Model, QueueName, QueueUrl, TopicArn
from tidegate.platform.core.errors import BadSetting

# AWS: "Amazon SQS endpoints and quotas"; the service answers for queues of its own region only.
_REGION = re.compile(r"https?://(?:[\w-]+\.)?sqs(?:-fips)?\.(?P<region>[a-z]{2}(?:-[a-z]+)+-\d)\.")


class QueueSpec(Model):
    """An SQS queue that intake drains. Exactly one of `url` and `name`."""

    url: QueueUrl | None = None
    """URL of the queue."""
    given_name: Annotated[QueueName | None, Field(alias="name")] = None
    """Name of the queue, in the account and region of the credentials."""
    dlq: QueueName | None = None
    """Name of its dead-letter queue."""

    @model_validator(mode="after")
    def _check_single_address(self) -> Self:
        if (self.url is None) == (self.given_name is None):
            raise BadSetting("give exactly one of url and name")
        if self.dlq == self.name:
            raise BadSetting(f"{self.dlq!r} is the queue itself; `dlq` takes the name of the queue of its dead letters")
        return self

    @property
    def name(self) -> str:
        """The queue's name, taken from its URL if a URL is configured."""
        return self.given_name or (self.url or "").rstrip("/").rsplit("/", 1)[-1]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the queue and, if lake.yaml gives one, of its dead-letter queue."""
        return (self.name, self.dlq) if self.dlq else (self.name,)

    @property
    def region(self) -> str | None:
        """The AWS region that the URL names; None if it names none. Then the region of the credentials applies."""
        found = _REGION.match(self.url or "")
        return found["region"] if found else None


class RowQueueSpec(QueueSpec):
    """The queue of a table whose messages are its rows."""

    topic: TopicArn | None = None
    """ARN of the SNS topic that publishes rows to the queue without raw delivery. Its envelopes are opened, and the id
    and time of a row are those of the publication. Nothing else in the queue is opened."""
