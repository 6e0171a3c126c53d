"""Simulates a fleet of 4,200 tables, and writes the page about scale with its charts.

The same seed gives the same page. It takes a minute or two, and starts no server.

    python -m benchmarks.fleet [docs]
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from benchmarks.fleet.dollars import peers
from benchmarks.fleet.figures import figures
from benchmarks.fleet.page import Results, write
from benchmarks.fleet.rules import Rules
from benchmarks.fleet.scenarios import BLACK_FRIDAY, EXPORT, FLEET, OBJECT_BYTES, TUNED, simulate, windows

_HOUR = 3_600.0


def main() -> None:
    """Simulate, and write the page."""
    asked = argparse.ArgumentParser(prog="python -m benchmarks.fleet", description="Write the page about scale.")
    asked.add_argument("docs", nargs="?", type=Path, default=Path(__file__).parents[2] / "docs", help="the folder docs")
    docs: Path = asked.parse_args().docs
    if missing := [folder for folder in ("images", "operate") if not (docs / folder).is_dir()]:
        asked.error(f"{docs} has no folder {missing[0]}: give the folder docs of a checkout")
    found = figures()
    hour = replace(FLEET, seconds=_HOUR)
    larger = replace(TUNED, receives=37.5, events=100_000)
    results = Results(
        steady=[
            simulate("as shipped, 8 cores", found, Rules(), cores=8),
            simulate("`every: 5`", found, replace(Rules(), every=5.0)),
            simulate("`every: 5`, 16 runs at work", found, replace(TUNED, at_work=16)),
            simulate("and `window: 300`", found, replace(TUNED, window=300.0)),
            simulate("`every: 5`, 32 runs at work", found, TUNED),
        ],
        windows=list(windows(found)),
        scaled=[
            (times, simulate(f"{times:g}", found, TUNED, load=replace(hour, a_day=FLEET.a_day * times)))
            for times in (0.25, 0.5, 1.0, 1.5, 2.0, 4.0)
        ],
        export=simulate(
            "26 tables get 10,000 files each in a minute",
            found,
            load=replace(hour, bursts=(EXPORT,), seconds=2 * _HOUR),
        ),
        black_friday=[
            simulate(name, found, rules, load=replace(FLEET, bursts=(BLACK_FRIDAY,), seconds=5 * _HOUR))
            for name, rules in (
                ("ten times the load for an hour", TUNED),
                ("and `intake: {seconds: 50, events: 100000}`", larger),
                ("four processes of the intake, and 64 runs at work", replace(TUNED, processes=4, at_work=64)),
            )
        ],
        peers=peers(FLEET, found, window=300.0, object_bytes=OBJECT_BYTES),
    )
    write(results, found, docs)


if __name__ == "__main__":
    main()
