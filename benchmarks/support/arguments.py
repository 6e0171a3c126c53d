"""The arguments of a measurement: numbers with defaults."""

from __future__ import annotations

import argparse


def arguments(measurement: str, **defaults: int) -> argparse.Namespace:
    """Parse the command line of `python -m benchmarks.<measurement>`, which has an option for each number."""
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks.{measurement}")
    for name, number in defaults.items():
        parser.add_argument(f"--{name}", type=int, default=number)
    return parser.parse_args()
