"""Standard Webhooks, which Svix, Clerk, Resend, OpenAI and many others send.

https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from datetime import UTC, datetime

from standardwebhooks.webhooks import EmptyWebhookSecretError, Webhook

from tidegate.platform.core.webhook.received import Received
from tidegate.platform.core.webhook.refusal import Reason, Refusal
from tidegate.platform.core.webhook.scheme import MIN_SECRET, Scheme
from tidegate.platform.core.webhook.signature import require_match

_ID, _TIME, _SIGNATURE = "webhook-id", "webhook-timestamp", "webhook-signature"


def verify(received: Received, secrets: Sequence[str]) -> None:
    """Verify `v1` signatures: base64 of the HMAC-SHA256 of `<id>.<time>.<body>`, with the decoded secret as the key.

    The signature is the library's. Its own comparison is not used, because it reads the clock itself and raises errors
    of many types for malformed headers.

    Raises:
        Refusal: no signature is right, or the time is too far away.
    """
    given = received.header(_SIGNATURE).split()
    seconds = received.seconds(received.header(_TIME), _TIME)
    try:
        body, time = received.body.decode(), datetime.fromtimestamp(seconds, UTC)
    except UnicodeDecodeError:
        raise Refusal(Reason.NO_ROW, "the body is not UTF-8, so it is no JSON") from None
    except (ValueError, OverflowError, OSError):
        raise Refusal(Reason.SIGNATURE, f"the time in the header {_TIME} is no time") from None
    require_match([Webhook(secret).sign(received.header(_ID), time, body) for secret in secrets], given, _SIGNATURE)
    received.refuse_old(seconds)


def secret_problem(secret: str) -> str:
    """Say what is wrong with a secret, without the secret."""
    try:
        Webhook(secret)
        key = base64.b64decode(secret.removeprefix("whsec_"))
    except (EmptyWebhookSecretError, ValueError):
        return "it is not `whsec_` and base64"
    return "" if len(key) >= MIN_SECRET else f"its key has {len(key)} bytes, and {MIN_SECRET} are the least"


STANDARD = Scheme(verify, (_ID, _TIME, _SIGNATURE), id_header=_ID, secret_problem=secret_problem)
