"""Webhooks of senders that sign nothing, and send a secret in a header."""

from __future__ import annotations

from collections.abc import Sequence

from tidegate.platform.core.webhook.received import Received
from tidegate.platform.core.webhook.scheme import Scheme
from tidegate.platform.core.webhook.signature import require_match


def shared_secret(header: str) -> Scheme:
    """Return the scheme of a header with the secret. If a `webhook-id` is sent, it identifies the delivery.

    Args:
        header: the name of the header.
    """
    name = header.lower()

    def verify(received: Received, secrets: Sequence[str]) -> None:
        require_match(secrets, [received.header(name)], name)

    return Scheme(verify, (name,), id_header="webhook-id")
