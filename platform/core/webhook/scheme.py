"""One way in which senders sign their webhooks and identify them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tidegate.platform.core.webhook.received import Received

#: Characters, or bytes of a key, that a secret has at least.
MIN_SECRET = 16


def _no_problem(_: str) -> str:
    return ""


def _no_answer(_: Mapping[str, Any]) -> str | None:
    return None


@dataclass(frozen=True)
class Scheme:
    """A scheme. Deliveries without an id of the scheme are identified by the hash of their body.

    Attributes:
        verify: refuses a request that none of the secrets signed, or whose signature is too old.
        headers: the headers that it needs. A request without one of them is refused before its body is read.
        id_header: the header with the id of the webhook, which each retry has again.
        id_member: the member of the body with that id, if it is in no header.
        time_member: the member of the body with the time of the event, in epoch seconds, which each retry has again.
        secret_problem: says what is wrong with a secret; empty if nothing is. The text does not contain the secret.
        challenge: returns the answer to a test of the address, which is no row.
    """

    verify: Callable[[Received, Sequence[str]], None]
    headers: tuple[str, ...]
    id_header: str = ""
    id_member: str = ""
    time_member: str = ""
    secret_problem: Callable[[str], str] = _no_problem
    challenge: Callable[[Mapping[str, Any]], str | None] = _no_answer
