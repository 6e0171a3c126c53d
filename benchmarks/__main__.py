"""Takes all measurements one after another and prints JSON.

Method and figures: docs/internals/benchmarks.md.

Each measurement is a module of this folder or of `events` that also runs alone and prints JSON, like
`python -m benchmarks.load`.

    python -m benchmarks [measurement …]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from typing import Any

#: Modules and their arguments. A measurement is called as its module. Each takes some minutes on two quiet cores.
MEASUREMENTS: dict[str, tuple[str, ...]] = {
    "load": (),
    "small_files": ("--files", "3000"),
    "repartition": ("--files", "3000"),
    "inventory": ("--rows", "25000"),
    "register": (),
    "one_file_run": (),
    "run_cost": ("--files", "20", "--tables", "100", "--own", "10"),
    "events.intake": (),
    "events.tick": (),
    "merge": (),
    "why": ("--rows", "2000000"),
    "forget": (),
    "ledger": (),
    "large_table": (),
    "vacuum": ("--files", "5000", "--left", "200"),
    "commit_requests": (),
    "events.row_queue": (),
    "events.webhook": (),
    "events.forwarding": (),
}


def main() -> None:
    """Take the requested measurements, all by default."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=(__doc__ or "").splitlines()[0])
    modules = {module.rpartition(".")[2]: module for module in MEASUREMENTS}
    parser.add_argument("measurement", nargs="*", metavar="measurement", help=f"of {', '.join(modules)}")
    chosen = parser.parse_args().measurement or list(modules)
    if unknown := set(chosen) - set(modules):
        parser.error(f"no measurement is called {', '.join(sorted(unknown))}; there are {', '.join(modules)}")
    found: dict[str, Any] = {"cores": os.cpu_count()}
    for name in chosen:
        begun = time.monotonic()
        done = subprocess.run(
            [sys.executable, "-m", f"benchmarks.{modules[name]}", *MEASUREMENTS[modules[name]]],
            stdout=subprocess.PIPE,
            check=True,
        )
        found[name] = json.loads(done.stdout)
        print(f"{name}: {time.monotonic() - begun:.0f} s", file=sys.stderr)
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
