"""A request as it came, and what every scheme needs to read from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tidegate.platform.core.webhook.refusal import Reason, Refusal

#: Seconds between the time in a signature and the clock of this machine. Every scheme with a time recommends five
#: minutes.
TOLERANCE = 300
_MAX_DIGITS = 12


@dataclass(frozen=True, slots=True)
class Received:
    """A request of a sender.

    Attributes:
        headers: by name in lower case.
        body: the raw bytes, over which signatures are made.
        at: epoch seconds at which it came.
    """

    headers: Mapping[str, str]
    body: bytes
    at: float

    def header(self, name: str) -> str:
        """Return a header that the scheme needs.

        Raises:
            Refusal: the request does not have it.
        """
        value = self.headers.get(name, "").strip()
        if not value:
            raise Refusal(Reason.UNSIGNED, f"the header {name} is missing, by which this webhook is verified")
        return value

    def seconds(self, text: str, source: str) -> int:
        """Return a time of a signature in epoch seconds.

        Args:
            text: the time as it was sent.
            source: its header, for the error.

        Raises:
            Refusal: it is no number of seconds.
        """
        if not (text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS):
            raise Refusal(Reason.SIGNATURE, f"the time in the header {source} is no whole number of epoch seconds")
        return int(text)

    def refuse_old(self, seconds: int) -> None:
        """Refuse a request whose signature was made long ago, or in the future.

        Call it after the signature was verified, because only then the sender is known to have written the time.

        Raises:
            Refusal: the clocks differ by more than `TOLERANCE`.
        """
        age = self.at - seconds
        if abs(age) > TOLERANCE:
            what = f"{age:.0f} s old" if age > 0 else f"{-age:.0f} s in the future"
            raise Refusal(
                Reason.CLOCK,
                f"the signature is right but {what}, and {TOLERANCE} s are allowed: send it again with a new "
                "signature, and compare the clocks of both machines if it was new",
            )
