"""Checks of the webhooks of a lake."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from tidegate.platform.cli.check.findings import Failed, Finding, Warned, make_finding
from tidegate.platform.cli.check.known_checks import Check
from tidegate.platform.cli.check.queues import CheckedQueue
from tidegate.platform.core.config.webhook import WebhookSpec
from tidegate.platform.lake.secret_text import explain_exposure
from tidegate.platform.webhook.secret_values import secret_values

#: Bytes of a message besides the body: the names and values of its attributes.
_ATTRIBUTES = 1024


def check_webhooks(
    webhooks: Sequence[WebhookSpec], queues: Sequence[CheckedQueue], environ: Mapping[str, str]
) -> Iterator[Finding]:
    """Yield the findings of each webhook.

    Args:
        webhooks: of lake.yaml.
        queues: the queues that can be reached. The findings of another queue are its own.
        environ: has secrets.
    """
    sizes = {queue.name: queue.max_bytes for queue in queues}
    for webhook in webhooks:
        yield make_finding(Check.WEBHOOK_SECRETS, webhook.name, partial(_secrets, webhook, environ))
        if webhook.queue in sizes:
            yield make_finding(Check.WEBHOOK_SIZE, webhook.name, partial(_size, webhook, sizes[webhook.queue]))


def _secrets(webhook: WebhookSpec, environ: Mapping[str, str]) -> str:
    found, problems = secret_values(webhook, environ)
    if problems := [*problems, *filter(None, map(explain_exposure, webhook.secrets))]:
        raise Warned("; ".join(problems))
    return f"{len(found)} of `{webhook.verification}`"


def _size(webhook: WebhookSpec, max_bytes: int | None) -> str:
    if max_bytes is not None and max_bytes < webhook.max_bytes + _ATTRIBUTES:
        raise Failed(
            f"queue {webhook.queue} accepts messages of {max_bytes} bytes, and max_bytes with the attributes of a row "
            f"is {webhook.max_bytes + _ATTRIBUTES}: larger deliveries would be answered with 503"
        )
    return f"{webhook.max_bytes} bytes"
