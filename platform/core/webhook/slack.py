"""Events of Slack: https://docs.slack.dev/authentication/verifying-requests-from-slack."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tidegate.platform.core.webhook.received import Received
from tidegate.platform.core.webhook.refusal import Reason, Refusal
from tidegate.platform.core.webhook.scheme import Scheme
from tidegate.platform.core.webhook.signature import hmac_sha256, require_match

_SIGNATURE, _TIME = "x-slack-signature", "x-slack-request-timestamp"


def verify(received: Received, secrets: Sequence[str]) -> None:
    """Verify `v0=` and hexadecimal digits of the HMAC-SHA256 of `v0:<time>:<body>`.

    Raises:
        Refusal: the signature is wrong, or the time is too far away.
    """
    given, time = received.header(_SIGNATURE), received.header(_TIME)
    seconds = received.seconds(time, _TIME)
    signed = f"v0:{time}:".encode()
    expected = [f"v0={hmac_sha256(secret, signed, received.body).hex()}" for secret in secrets]
    require_match(expected, [given], _SIGNATURE)
    received.refuse_old(seconds)


def challenge(members: Mapping[str, Any]) -> str | None:
    """Return the answer to Slack's test of a new address; None for an event.

    Raises:
        Refusal: the answer would be no text, for example half a surrogate pair.
    """
    text = members.get("challenge")
    if members.get("type") != "url_verification" or not isinstance(text, str):
        return None
    if not text.isprintable():
        raise Refusal(Reason.NO_ROW, "its challenge has characters that are no text")
    return text


SLACK = Scheme(verify, (_SIGNATURE, _TIME), id_member="event_id", time_member="event_time", challenge=challenge)
