"""A sender of webhooks in `lake.yaml`."""

from __future__ import annotations

import re
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, ValidationInfo, field_validator, model_validator

from tidegate.platform.core.config.fields import Model, QueueName, Text
from tidegate.platform.core.errors import BadSetting

#: Bytes of a message that the attributes of a row may need.
_ATTRIBUTES = 1024
_MAX_BYTES = (1 << 20) - _ATTRIBUTES
#: What every queue accepts, also one of the time when SQS accepted 256 KiB.
_DEFAULT_BYTES = (256 << 10) - _ATTRIBUTES
_DEFAULT_HEADER = "x-webhook-secret"
_RESERVED = ("healthz", "readyz", "metrics")

Verification = Literal["standard", "github", "stripe", "slack", "shopify", "secret"]


def _checked_sender(name: str) -> str:
    if not re.fullmatch(r"[a-z0-9][a-z0-9_-]{0,63}", name):
        raise BadSetting("use lower-case letters, digits, underscores and hyphens: it is the path of the address")
    if name in _RESERVED:
        raise BadSetting(f"/{name} is an address of the server itself, choose another name")
    return name


def _checked_variable(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        # The text may be the secret itself, so it is not shown.
        raise BadSetting("must be the name of an environment variable, which has the secret; not the secret itself")
    return name


def _checked_header(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9-]{1,64}", name):
        raise BadSetting(f"{name!r} is not a name of an HTTP header")
    return name.lower()


class SecretSpec(Model):
    """Where a secret is. Exactly one of `env` and `file`."""

    env: Annotated[Text, AfterValidator(_checked_variable)] | None = None
    """Name of the environment variable that has the secret."""
    file: Text | None = None
    """Path of the file that has the secret. That of a webhook may have several, a line each, and may change."""

    @model_validator(mode="after")
    def _check_secret_source(self) -> Self:
        if (self.env is None) == (self.file is None):
            raise BadSetting("give exactly one of env and file")
        return self

    @property
    def place(self) -> str:
        """The place, for messages."""
        return f"the environment variable {self.env}" if self.env else f"the file {self.file}"


class WebhookSpec(Model):
    """A sender whose webhooks become rows of a table with a row queue."""

    name: Annotated[Text, AfterValidator(_checked_sender)]
    """Name of the sender. Its webhooks are sent to `POST /<name>`."""
    queue: QueueName
    """Name of the row queue that takes the rows: `row_queue` of a table."""
    verification: Verification
    """How a request proves that it is from the sender."""
    secrets: Annotated[tuple[SecretSpec, ...], Field(min_length=1)]
    """Where the secrets are, by environment variable or file. Each is valid, so that a secret can be replaced."""
    header: Annotated[Text, AfterValidator(_checked_header)] = _DEFAULT_HEADER
    """Of `secret`: the header in which the sender sends the secret."""
    max_bytes: Annotated[int, Field(ge=1, le=_MAX_BYTES)] = _DEFAULT_BYTES
    """Maximum size of a body."""
    rate: Annotated[float, Field(gt=0, le=100_000)] = 100
    """Deliveries per second on average. What ten seconds may bring can come at once."""
    retry_days: Annotated[int, Field(ge=1, le=30)] = 4
    """Days for which the sender may repeat a delivery that has no time of its own in the body."""

    @field_validator("header")
    @classmethod
    def _check_secret_header(cls, header: str, info: ValidationInfo) -> str:
        if info.data.get("verification") not in ("secret", None):
            raise BadSetting("only `verification: secret` has a header of its own; remove it")
        return header
