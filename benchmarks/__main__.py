"""Takes all measurements one after another and prints JSON.

Method and figures: docs/internals/benchmarks.md.

Each measurement is a module of this folder that also runs alone and prints JSON, like `python -m benchmarks.load`.

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

#: Modules by name, and their arguments. Each takes some minutes on two quiet cores.
MEASUREMENTS: dict[str, tuple[str, ...]] = {
    "load": (),
    "small_files": ("--files", "3000"),
    "repartition": ("--files", "3000"),
    "register": (),
    "one_file_run": (),
    "run_cost": ("--files", "20", "--tables", "100", "--own", "10"),
    "intake": (),
    "tick": (),
    "merge": (),
    "ledger": (),
    "large_table": (),
    "commit_requests": (),
    "row_queue": (),
    "webhook": (),
    "forwarding": (),
}


def main() -> None:
    """Take the requested measurements, all by default."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("measurement", nargs="*", metavar="measurement", help=f"of {', '.join(MEASUREMENTS)}")
    chosen = parser.parse_args().measurement or list(MEASUREMENTS)
    if unknown := set(chosen) - set(MEASUREMENTS):
        parser.error(f"no measurement is called {', '.join(sorted(unknown))}; there are {', '.join(MEASUREMENTS)}")
    found: dict[str, Any] = {"cores": os.cpu_count()}
    for name in chosen:
        begun = time.monotonic()
        done = subprocess.run(
            [sys.executable, "-m", f"benchmarks.{name}", *MEASUREMENTS[name]], stdout=subprocess.PIPE, check=True
        )
        found[name] = json.loads(done.stdout)
        print(f"{name}: {time.monotonic() - begun:.0f} s", file=sys.stderr)
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
