"""The demo: real data, the systems that produce it, and an oracle that knows what must come out.

`source` finds the data, `producers` turn it into files and operations on a bucket, `oracle` computes from
those alone what every table must hold. None of the three knows Tidegate.
"""

from pathlib import Path


def lake_file() -> Path:
    """The demo's `lake.yaml`."""
    return Path(__file__).with_name("lake.yaml")
