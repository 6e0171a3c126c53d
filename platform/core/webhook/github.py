"""Webhooks of GitHub, and of Gitea and Forgejo, which sign in the same way.

https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries
"""

from __future__ import annotations

from collections.abc import Sequence

from tidegate.platform.core.webhook.received import Received
from tidegate.platform.core.webhook.scheme import Scheme
from tidegate.platform.core.webhook.signature import hmac_sha256, require_match

_SIGNATURE = "x-hub-signature-256"


def verify(received: Received, secrets: Sequence[str]) -> None:
    """Verify `sha256=` and the HMAC-SHA256 of the body in hexadecimal digits. The scheme has no time.

    Raises:
        Refusal: the signature is wrong.
    """
    expected = [f"sha256={hmac_sha256(secret, received.body).hex()}" for secret in secrets]
    require_match(expected, [received.header(_SIGNATURE)], _SIGNATURE)


GITHUB = Scheme(verify, (_SIGNATURE,), id_header="x-github-delivery")
