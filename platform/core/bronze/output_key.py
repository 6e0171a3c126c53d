"""Keys of the objects of an output."""

from __future__ import annotations

from tidegate.platform.core.bronze.birth import Birth

#: Bytes of the key of a folder. S3 permits keys of 1,024 bytes, and the rest is for the name of the object.
MAX_FOLDER_BYTES = 800


def output_key(folder: str, birth: Birth, n: int, index: int, ending: str) -> str:
    """Return the key of an object of a batch. No other batch of any lake has it, and no other object of the batch.

    Args:
        folder: key of the folder.
        birth: the table's birth record.
        n: number of the batch.
        index: number of the object in the batch.
        ending: what readers expect the name to end in, without the dot.
    """
    return f"{folder}{birth.name}-{n:010d}-{index:05d}-{birth.generation}.{ending}"
