"""The newest deliveries that entered a table of inventories."""

from __future__ import annotations

from tidegate.platform.core.inventory.delivery import Delivery, Subject, group_by_subject
from tidegate.platform.lake.lake import Table
from tidegate.platform.lake.ledger_folders import last_keys_of_folders


def newest_deliveries(table: Table, count: int = 1) -> dict[Subject, list[Delivery]]:
    """Return the newest deliveries of each subject, the newest first. What was dropped has a drop as its newest.

    Args:
        table: of inventories.
        count: number of deliveries of each subject.
    """
    keys = last_keys_of_folders(table.ledger, table.ledger.clock().version, count)
    return group_by_subject(found for key in keys if (found := Delivery.of(key, table.key.prefix)))
