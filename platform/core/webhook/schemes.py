"""The schemes by their names in `lake.yaml`.

- Standard Webhooks, which Svix, Clerk, Resend, OpenAI and many others send:
  https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
- GitHub, and Gitea and Forgejo, which sign in the same way:
  https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries
- Stripe: https://docs.stripe.com/webhooks?verify=verify-manually
- Slack: https://docs.slack.dev/authentication/verifying-requests-from-slack
- Shopify: https://shopify.dev/docs/apps/build/webhooks/subscribe/https
- Senders that sign nothing, and send a secret in a header.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from standardwebhooks.webhooks import EmptyWebhookSecretError, Webhook

from tidegate.platform.core.webhook.refusal import Reason, Refusal
from tidegate.platform.core.webhook.scheme import MIN_SECRET, Received, Scheme, hmac_sha256, require_match

_SHOPIFY_SIGNATURE = "x-shopify-hmac-sha256"

_SLACK_SIGNATURE, _SLACK_TIME = "x-slack-signature", "x-slack-request-timestamp"

_STRIPE_SIGNATURE = "stripe-signature"

_GITHUB_SIGNATURE = "x-hub-signature-256"

_STANDARD_ID, _STANDARD_TIME, _STANDARD_SIGNATURE = "webhook-id", "webhook-timestamp", "webhook-signature"


def verify_standard(received: Received, secrets: Sequence[str]) -> None:
    """Verify `v1` signatures: base64 of the HMAC-SHA256 of `<id>.<time>.<body>`, with the decoded secret as the key.

    The signature is the library's. Its own comparison is not used, because it reads the clock itself and raises errors
    of many types for malformed headers.

    Raises:
        Refusal: no signature is right, or the time is too far away.
    """
    given = received.header(_STANDARD_SIGNATURE).split()
    seconds = received.seconds(received.header(_STANDARD_TIME), _STANDARD_TIME)
    try:
        body, time = received.body.decode(), datetime.fromtimestamp(seconds, UTC)
    except UnicodeDecodeError:
        raise Refusal(Reason.NO_ROW, "the body is not UTF-8, so it is not JSON") from None
    except (ValueError, OverflowError, OSError):
        raise Refusal(Reason.SIGNATURE, f"the time in the header {_STANDARD_TIME} is not a time") from None
    require_match(
        [Webhook(secret).sign(received.header(_STANDARD_ID), time, body) for secret in secrets],
        given,
        _STANDARD_SIGNATURE,
    )
    received.refuse_old(seconds)


def standard_secret_problem(secret: str) -> str:
    """Say what is wrong with a secret, without the secret."""
    try:
        Webhook(secret)
        key = base64.b64decode(secret.removeprefix("whsec_"))
    except (EmptyWebhookSecretError, ValueError):
        return "it is not `whsec_` and base64"
    return "" if len(key) >= MIN_SECRET else f"its key has {len(key)} bytes, and {MIN_SECRET} are the least"


STANDARD = Scheme(
    verify_standard,
    (_STANDARD_ID, _STANDARD_TIME, _STANDARD_SIGNATURE),
    id_header=_STANDARD_ID,
    secret_problem=standard_secret_problem,
)


def verify_github(received: Received, secrets: Sequence[str]) -> None:
    """Verify `sha256=` and the HMAC-SHA256 of the body in hexadecimal digits. The scheme has no time.

    Raises:
        Refusal: the signature is wrong.
    """
    expected = [f"sha256={hmac_sha256(secret, received.body).hex()}" for secret in secrets]
    require_match(expected, [received.header(_GITHUB_SIGNATURE)], _GITHUB_SIGNATURE)


GITHUB = Scheme(verify_github, (_GITHUB_SIGNATURE,), id_header="x-github-delivery")


def verify_stripe(received: Received, secrets: Sequence[str]) -> None:
    """Verify `t=<time>,v1=<signature>,…`: hexadecimal digits of the HMAC-SHA256 of `<time>.<body>`.

    Signatures of other versions, such as `v0`, are ignored, as Stripe requires.

    Raises:
        Refusal: no signature is right, or the time is too far away.
    """
    parts = [part.strip().partition("=") for part in received.header(_STRIPE_SIGNATURE).split(",")]
    time = next((value for name, _, value in parts if name == "t"), "")
    seconds = received.seconds(time, _STRIPE_SIGNATURE)
    expected = [hmac_sha256(secret, time.encode(), b".", received.body).hex() for secret in secrets]
    require_match(expected, [value for name, _, value in parts if name == "v1"], _STRIPE_SIGNATURE)
    received.refuse_old(seconds)


STRIPE = Scheme(verify_stripe, (_STRIPE_SIGNATURE,), id_member="id", time_member="created")


def verify_slack(received: Received, secrets: Sequence[str]) -> None:
    """Verify `v0=` and hexadecimal digits of the HMAC-SHA256 of `v0:<time>:<body>`.

    Raises:
        Refusal: the signature is wrong, or the time is too far away.
    """
    given, time = received.header(_SLACK_SIGNATURE), received.header(_SLACK_TIME)
    seconds = received.seconds(time, _SLACK_TIME)
    signed = f"v0:{time}:".encode()
    expected = [f"v0={hmac_sha256(secret, signed, received.body).hex()}" for secret in secrets]
    require_match(expected, [given], _SLACK_SIGNATURE)
    received.refuse_old(seconds)


def slack_challenge(members: Mapping[str, Any]) -> str | None:
    """Return the answer to Slack's test of a new address; None for an event.

    Raises:
        Refusal: the answer would not be text, for example half a surrogate pair.
    """
    text = members.get("challenge")
    if members.get("type") != "url_verification" or not isinstance(text, str):
        return None
    if not text.isprintable():
        raise Refusal(Reason.NO_ROW, "its challenge has characters that are not text")
    return text


SLACK = Scheme(
    verify_slack,
    (_SLACK_SIGNATURE, _SLACK_TIME),
    id_member="event_id",
    time_member="event_time",
    challenge=slack_challenge,
)


def verify_shopify(received: Received, secrets: Sequence[str]) -> None:
    """Verify the base64 of the HMAC-SHA256 of the body. The scheme has no time.

    Raises:
        Refusal: the signature is wrong.
    """
    expected = [base64.b64encode(hmac_sha256(secret, received.body)).decode() for secret in secrets]
    require_match(expected, [received.header(_SHOPIFY_SIGNATURE)], _SHOPIFY_SIGNATURE)


SHOPIFY = Scheme(verify_shopify, (_SHOPIFY_SIGNATURE,), id_header="x-shopify-webhook-id")

_SIGNED = {"standard": STANDARD, "github": GITHUB, "stripe": STRIPE, "slack": SLACK, "shopify": SHOPIFY}


def scheme_of(verification: str, header: str) -> Scheme:
    """Return the scheme of a webhook.

    Args:
        verification: as `lake.yaml` gives it.
        header: of `secret`, the header with the secret.
    """
    return shared_secret(header) if verification == "secret" else _SIGNED[verification]


def shared_secret(header: str) -> Scheme:
    """Return the scheme of a header with the secret. If a `webhook-id` is sent, it identifies the delivery.

    Args:
        header: the name of the header.
    """
    name = header.lower()

    def verify(received: Received, secrets: Sequence[str]) -> None:
        require_match(secrets, [received.header(name)], name)

    return Scheme(verify, (name,), id_header="webhook-id")
