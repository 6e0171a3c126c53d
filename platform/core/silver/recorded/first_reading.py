"""What silver records of its first merge: the last batch that bronze had before any row was read.

A batch that replaces or removes rows of bronze makes a merge read all of bronze, because silver may have these rows.
Silver has none of them if bronze had that batch before silver's first row was read. So the later steps of a first merge
stay bounded where they meet such a batch.

Every run that finds silver without a mark records its own number, under a name of its own, before it merges. A run that
finds a mark reads bronze after one of these. So the smallest of the numbers holds for every row, whichever of two runs
commits first.
"""

from __future__ import annotations

from collections.abc import Mapping

#: Begins the name of a property of a silver table. Its end is the number, and its value the application of the mark.
_PREFIX = "tidegate.silver_read_after."


def first_reading(n: int, app_id: str) -> dict[str, str]:
    """Returns the property that records that rows are read after batch `n` was in the ledger.

    Args:
        n: the batch.
        app_id: application id of silver's transactions. Numbers of another one are of other batches.
    """
    return {f"{_PREFIX}{n}": app_id}


def read_after(properties: Mapping[str, str], app_id: str) -> int | None:
    """Returns the batch that bronze had before any row of silver was read. None if silver does not record it.

    Args:
        properties: of the silver table.
        app_id: as for `first_reading`.
    """
    numbers = (
        name.removeprefix(_PREFIX) for name, of in properties.items() if name.startswith(_PREFIX) and of == app_id
    )
    return min((int(number) for number in numbers), default=None)
