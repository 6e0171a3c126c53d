"""Webhooks of Shopify: https://shopify.dev/docs/apps/build/webhooks/subscribe/https."""

from __future__ import annotations

import base64
from collections.abc import Sequence

from tidegate.platform.core.webhook.received import Received
from tidegate.platform.core.webhook.scheme import Scheme
from tidegate.platform.core.webhook.signature import hmac_sha256, require_match

_SIGNATURE = "x-shopify-hmac-sha256"


def verify(received: Received, secrets: Sequence[str]) -> None:
    """Verify the base64 of the HMAC-SHA256 of the body. The scheme has no time.

    Raises:
        Refusal: the signature is wrong.
    """
    expected = [base64.b64encode(hmac_sha256(secret, received.body)).decode() for secret in secrets]
    require_match(expected, [received.header(_SIGNATURE)], _SIGNATURE)


SHOPIFY = Scheme(verify, (_SIGNATURE,), id_header="x-shopify-webhook-id")
