"""The billing provider of the demo's company: sends webhooks, and repeats each of them until it gets its answer."""

from __future__ import annotations

import json
import threading
from base64 import b64encode
from datetime import UTC, datetime
from http.client import HTTPConnection, HTTPException
from typing import Any

from standardwebhooks.webhooks import Webhook

from tidegate.platform.local.process.ports import LOOPBACK

#: Seconds between two deliveries of one webhook.
_PAUSE = 0.5
#: Of so many webhooks, the answer to one is lost twice.
_LOST_EVERY, _LOST_TIMES = 4, 2
#: Of so many webhooks, one is followed by a forged one.
_FORGED_EVERY = 25

SECRET = "whsec_" + b64encode(b"a secret of the demo of events!!").decode()
_OTHER_SECRET = "whsec_" + b64encode(b"a secret that somebody guessed!!").decode()


class BillingProvider:
    """Sends its webhooks one after the other, in a thread of its own.

    It begins before the server listens, so that its first deliveries fail.

    Args:
        port: port of the server on loopback.
        number: number of webhooks.

    Attributes:
        deliveries: number of deliveries that were tried.
        unanswered: number of deliveries whose answer did not come, or was lost.
        forged: number of forged webhooks that were sent.
        refused: number of forged webhooks that were refused.
        delivered: number of webhooks whose answer came.
    """

    def __init__(self, port: int, number: int) -> None:
        self._port, self.number = port, number
        self.deliveries = self.unanswered = self.forged = self.refused = self.delivered = 0
        self.trouble = ""
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        """Begin to send."""
        self._thread.start()

    @property
    def done(self) -> bool:
        """Whether every webhook was answered."""
        return not self._thread.is_alive()

    def stop(self) -> None:
        """Send no more."""
        self._stopped.set()
        self._thread.join(timeout=30)

    def _run(self) -> None:
        for number in range(self.number):
            lost = _LOST_TIMES if number % _LOST_EVERY == 0 else 0
            while not self._stopped.is_set():
                answer = self._deliver(number, SECRET)
                if answer == 200 and lost == 0:
                    self.delivered += 1
                    break
                # A lost answer: the row is stored, and the provider does not know it.
                self.unanswered += 1
                if answer == 200:
                    lost -= 1
                else:
                    self.trouble = f"the last answer was {answer or 'none'}"
                    self._stopped.wait(_PAUSE)
            if number % _FORGED_EVERY == 0 and not self._stopped.is_set():
                self.forged += 1
                self.refused += self._deliver(number + self.number, _OTHER_SECRET) == 401

    def _deliver(self, number: int, secret: str) -> int:
        """Send a webhook. Returns the status of the answer; 0 if there was none."""
        self.deliveries += 1
        body = json.dumps(billing_row(number))
        now, name = datetime.now(UTC), f"invoice-{number}"
        headers = {
            "content-type": "application/json",
            "webhook-id": name,
            "webhook-timestamp": str(int(now.timestamp())),
            "webhook-signature": Webhook(secret).sign(name, now, body),
        }
        connection = HTTPConnection(LOOPBACK, self._port, timeout=10)
        try:
            connection.request("POST", "/billing", body=body, headers=headers)
            return connection.getresponse().status
        except (OSError, HTTPException):
            return 0
        finally:
            connection.close()


def billing_row(number: int) -> dict[str, Any]:
    """Return the body of a webhook."""
    return {"id": f"invoice-{number}", "cents": number * 11, "currency": "EUR"}
