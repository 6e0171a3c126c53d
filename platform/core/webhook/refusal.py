"""A delivery that is not accepted, as the answer that its sender gets."""

from __future__ import annotations

from enum import Enum

from tidegate.platform.core.errors import DataError


class Reason(Enum):
    """Why a request is refused.

    Attributes:
        label: the reason in counters, logs and answers.
        status: the HTTP status of the answer.
    """

    NO_ROW = "no-row", 400
    UNSIGNED = "unsigned", 401
    SIGNATURE = "signature", 401
    CLOCK = "clock", 401
    UNKNOWN_SENDER = "unknown-sender", 404
    SLOW_BODY = "slow-body", 408
    TOO_LARGE = "too-large", 413
    TOO_MANY = "too-many", 429
    BUSY = "busy", 503
    UNAVAILABLE = "unavailable", 503

    def __init__(self, label: str, status: int) -> None:
        self.label, self.status = label, status


class Refusal(DataError):
    """A refused request.

    Attributes:
        reason: the kind of refusal.
        detail: what is wrong and what to do. It contains no secret and no part of the body.
        retry_after: seconds after which the sender may try again; None if that would not help.
    """

    def __init__(self, reason: Reason, detail: str, retry_after: int | None = None) -> None:
        super().__init__(detail)
        self.reason, self.detail, self.retry_after = reason, detail, retry_after

    def problem(self) -> dict[str, object]:
        """Return the answer's body, as RFC 9457 defines it."""
        return {
            "type": "about:blank",
            "title": self.reason.label.replace("-", " "),
            "status": self.reason.status,
            "reason": self.reason.label,
            "detail": self.detail,
        }
