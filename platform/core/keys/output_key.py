"""Keys of the objects of an output."""

from __future__ import annotations

from tidegate.platform.core.bronze.birth import Birth


def output_key(folder: str, birth: Birth, n: int, index: int, staged: str) -> str:
    """Return the key of an object of a batch. No other batch of any lake has it, and no other object of the batch.

    Args:
        folder: key of the folder.
        birth: the table's birth record.
        n: number of the batch.
        index: number of the object in the batch.
        staged: path of the object where it was written.
    """
    ending = staged.rpartition("/")[2].partition(".")[2]
    return f"{folder}{birth.name}-{n:010d}-{index:05d}-{birth.generation}.{ending}"
