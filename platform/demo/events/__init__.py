"""The demo of events: many event types in one bucket, with everything that a data team makes of them.

`catalog` and `producers` say what the company's services send, as a list of operations, and `oracle` computes from that
list alone what every output must contain. None of the three knows Tidegate.
"""

from pathlib import Path


def events_lake_file() -> Path:
    """Return the path of the `lake.yaml` of the demo of events."""
    return Path(__file__).with_name("lake.yaml")
