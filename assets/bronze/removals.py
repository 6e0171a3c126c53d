"""The guard against the removal of most files of a registered table."""

from __future__ import annotations

from collections.abc import Sequence

from tidegate.platform.core.bronze.birth import Birth
from tidegate.platform.core.bronze.hint import MISSING
from tidegate.resources.aws.s3 import StoreError
from tidegate.resources.lake import Table

#: A batch that removes at least this many files, and more than this share of the live ones, stops and asks.
REMOVAL_FLOOR = 10


REMOVAL_SHARE = 0.5


#: How events of objects that go begin, and what a listing says of a key that it lacks.
_REMOVED = ("ObjectRemoved", "LifecycleExpiration", MISSING)


class TooManyRemovals(RuntimeError):
    """So many files are gone at once that somebody should look first."""


def require_bucket(table: Table) -> None:
    """Stop where a table's bucket is gone: none of its files is believed to be.

    Raises:
        StoreError: it is gone, or S3 did not answer.
    """
    if not table.source.exists():
        raise StoreError(
            f"the source bucket s3://{table.key.bucket} does not exist, so no file of {table.text} is believed "
            "to be gone: restore the bucket, or take the table out of lake.yaml"
        )


def guard_removals(table: Table, birth: Birth, gone: int, waiting: Sequence[str]) -> None:
    """Stop before most of a registered table goes, at once or batch by batch.

    Args:
        table: the table.
        birth: its birth.
        gone: files that this batch would remove.
        waiting: ids of the manifests behind this batch: what they say was removed counts as well.
    """
    if not birth.registered or gone < REMOVAL_FLOOR:
        return
    behind = sum(
        hint.event_name.startswith(_REMOVED) for manifest in table.inbox.read(waiting) for hint in manifest.hints
    )
    live = table.delta.table_state(birth.location).files
    if gone + behind > REMOVAL_SHARE * live:
        raise TooManyRemovals(
            f"{gone + behind} of {live} live files of bronze.{birth.name} are gone from S3, or were overwritten, at "
            "once. If that is meant, materialize the partition with the run tag tidegate/allow-removals=true; nothing "
            "was changed"
        )
