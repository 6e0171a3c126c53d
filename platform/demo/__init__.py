"""The demo: real data, the systems that produce it, and an oracle that computes the expected tables.

`source` finds the data, `producers` turn it into files and operations on a bucket, and `oracle` computes from those
alone what every table must contain. None of the three knows Tidegate.
"""

from pathlib import Path


def lake_file() -> Path:
    """Return the path of the demo's `lake.yaml`."""
    return Path(__file__).with_name("lake.yaml")
