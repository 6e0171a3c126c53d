"""What nobody may delete: without it, batches land twice and forgotten persons come back."""

from __future__ import annotations

from tidegate.platform.cloud.roles.lake_arns import LakeArns
from tidegate.platform.cloud.roles.statement import Statement

#: Below the lake root. They are written once and never deleted.
KEPT = ("batches/*", "forgotten/requests/*", "operations/*", "lake.json")


def kept_statement(arns: LakeArns) -> Statement:
    """Return the statement. It forbids, so no other policy of the role can allow what it names."""
    return Statement(
        "NeverDelete",
        ("s3:DeleteObject", "s3:DeleteObjectVersion"),
        arns.lake(*KEPT),
        "batches, requests to forget, the log of operations and the identity of the lake are kept for ever",
        denies=True,
    )
