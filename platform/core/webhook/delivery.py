"""A verified delivery as the message of a row queue."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tidegate.platform.core.events.row_queue import RowOrigin, row_of
from tidegate.platform.core.webhook.refusal import Reason, Refusal
from tidegate.platform.core.webhook.scheme import Received, Scheme

_DAY_MILLIS = 86_400_000
_ID = re.compile(r"[!-~]{1,200}")
#: Characters that JSON may contain and SQS refuses. They can only be inside of texts, where an escape means the same.
_NOT_IN_SQS = {0xFFFE: "\\ufffe", 0xFFFF: "\\uffff"}
#: Digits of a number that can be a time. Python refuses to read numbers of thousands of digits.
_MAX_DIGITS = 15


@dataclass(frozen=True, slots=True)
class Delivery:
    """A delivery that was verified.

    Attributes:
        text: the body of the row queue's message.
        origin: the identity of the row, equal in each retry of the sender.
        challenge: the answer to a test of the address. Such a delivery is not a row.
    """

    text: str
    origin: RowOrigin
    challenge: str | None = None


def delivery_of(scheme: Scheme, sender: str, received: Received, secrets: Sequence[str], retry_days: int) -> Delivery:
    """Verify a request and make the message of its row.

    Args:
        scheme: how the sender signs and identifies its webhooks.
        sender: its name, which becomes a part of the identity.
        received: the request.
        secrets: all that are valid now.
        retry_days: days for which the sender may repeat a delivery.

    Raises:
        Refusal: it is not genuine, too old, or no row.
    """
    scheme.verify(received, secrets)
    arrival = RowOrigin("-", int(received.at * 1000))
    text = _text(received)
    try:
        row_of(text, arrival)
    except ValueError as error:
        raise Refusal(Reason.NO_ROW, f"{error}{_hint(received)}") from None
    text = text.removeprefix("\ufeff")  # the only one: with another it is not a row
    members = json.loads(text, parse_int=_number, parse_float=str) if scheme.id_member else {}
    origin = _origin(scheme, f"{sender}:{_id(scheme, received, members)}", received, members, retry_days)
    return Delivery(text.translate(_NOT_IN_SQS), origin, scheme.challenge(members))


def _text(received: Received) -> str:
    try:
        return received.body.decode()
    except UnicodeDecodeError:
        raise Refusal(Reason.NO_ROW, f"the body is not UTF-8{_hint(received)}") from None


def _hint(received: Received) -> str:
    kind = received.headers.get("content-type", "").partition(";")[0].strip().lower()
    if not kind or kind == "application/json" or kind.endswith("+json"):
        return ""
    return "; the request has another content type than JSON: set application/json for the webhook"


def _number(digits: str) -> Any:
    return int(digits) if len(digits) <= _MAX_DIGITS else digits


def _id(scheme: Scheme, received: Received, members: dict[str, Any]) -> str:
    found = received.headers.get(scheme.id_header) if scheme.id_header else members.get(scheme.id_member)
    if not isinstance(found, str) or not found:
        return f"sha256:{hashlib.sha256(received.body).hexdigest()}"
    if not _ID.fullmatch(found):
        where = scheme.id_header or scheme.id_member
        raise Refusal(Reason.NO_ROW, f"the webhook's id in {where} must be 1 to 200 visible characters of ASCII")
    return found


def _origin(scheme: Scheme, message_id: str, received: Received, members: dict[str, Any], retry_days: int) -> RowOrigin:
    now = int(received.at * 1000)
    time = members.get(scheme.time_member)
    if not isinstance(time, int) or isinstance(time, bool) or time <= 0:
        return RowOrigin(message_id, now, now - retry_days * _DAY_MILLIS)
    if time * 1000 > now + _DAY_MILLIS:
        raise Refusal(Reason.NO_ROW, f"its member {scheme.time_member} is a time after tomorrow")
    return RowOrigin(message_id, time * 1000)
