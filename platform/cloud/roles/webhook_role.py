"""The permissions of the server of webhooks."""

from __future__ import annotations

from tidegate.platform.cloud.address import Address
from tidegate.platform.cloud.statement import Statement, Statements, without_empty
from tidegate.platform.core.config.lake import LakeConfig


def webhook(config: LakeConfig) -> Statements:
    """Return what `tidegate webhook` needs: nothing if the lake has no webhooks."""
    address = Address.of(config)
    specs = [config.row_queue(webhook.queue) for webhook in config.webhooks]
    named = ("sqs:GetQueueUrl",) if any(spec.given_name for spec in specs) else ()
    return without_empty(
        Statement(
            "SendRows",
            ("sqs:SendMessage", *named),
            tuple(dict.fromkeys(address.queue(spec) for spec in specs)),
            "a delivery that was verified becomes a message; `/readyz` sends an empty call, which SQS refuses",
        )
    )
