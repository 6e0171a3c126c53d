"""The demo of storage: the inventories of two hundred buckets over thirty days, in one table.

`company` says which objects the buckets have on which day, and `oracle` computes from that alone what the table and its
reports must contain. Neither knows Tidegate.
"""

from pathlib import Path


def storage_lake_file() -> Path:
    """Return the path of the `lake.yaml` of the demo of storage."""
    return Path(__file__).with_name("lake.yaml")
