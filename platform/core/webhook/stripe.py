"""Webhooks of Stripe: https://docs.stripe.com/webhooks?verify=verify-manually."""

from __future__ import annotations

from collections.abc import Sequence

from tidegate.platform.core.webhook.received import Received
from tidegate.platform.core.webhook.scheme import Scheme
from tidegate.platform.core.webhook.signature import hmac_sha256, require_match

_SIGNATURE = "stripe-signature"


def verify(received: Received, secrets: Sequence[str]) -> None:
    """Verify `t=<time>,v1=<signature>,…`: hexadecimal digits of the HMAC-SHA256 of `<time>.<body>`.

    Signatures of other versions, such as `v0`, are ignored, as Stripe requires.

    Raises:
        Refusal: no signature is right, or the time is too far away.
    """
    parts = [part.strip().partition("=") for part in received.header(_SIGNATURE).split(",")]
    time = next((value for name, _, value in parts if name == "t"), "")
    seconds = received.seconds(time, _SIGNATURE)
    expected = [hmac_sha256(secret, time.encode(), b".", received.body).hex() for secret in secrets]
    require_match(expected, [value for name, _, value in parts if name == "v1"], _SIGNATURE)
    received.refuse_old(seconds)


STRIPE = Scheme(verify, (_SIGNATURE,), id_member="id", time_member="created")
