"""What nobody may delete or overwrite: without it, batches land twice and forgotten persons come back."""

from __future__ import annotations

from tidegate.platform.cloud.roles.lake_arns import LakeArns
from tidegate.platform.cloud.statement import Statement, Statements

#: Below the lake root. They are written once and never deleted.
KEPT = ("batches/*", "forgotten/requests/*", "operations/*", "lake.json")

#: Those of them that are created under the condition that the key is free. The server puts `batches/….void` without.
CREATED = ("batches/*.json", "forgotten/requests/*", "operations/*", "lake.json")


def kept_statements(arns: LakeArns) -> Statements:
    """Return the statements. They forbid, so no other policy of the role can allow what they name."""
    return (
        Statement(
            "NeverDelete",
            ("s3:DeleteObject", "s3:DeleteObjectVersion"),
            arns.lake(*KEPT),
            "batches, requests to forget, the log of operations and the identity of the lake are kept for ever",
            denies=True,
        ),
        Statement(
            "NeverOverwrite",
            ("s3:PutObject",),
            arns.lake(*CREATED),
            "they are created once, by a put with `If-None-Match`; copies have none",
            # The parts of an upload are no object yet. Its end is one, and has to have the condition.
            {"Null": {"s3:if-none-match": "true"}, "Bool": {"s3:ObjectCreationOperation": "true"}},
            denies=True,
        ),
    )
