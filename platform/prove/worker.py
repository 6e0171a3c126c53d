"""The process that ingests in a run of `tidegate prove`: the steps that Dagster's sensors and assets call, in a loop.

`python -m tidegate.platform.prove.worker FOLDER [--die-at SEAM] [--forget PERSON]`. It ends with 0 when everything that
the file `awaited.json` in the folder names has arrived. With a seam, it dies there by SIGKILL.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import time
from dataclasses import replace
from pathlib import Path

from tidegate.platform.bronze.options import RunOptions
from tidegate.platform.bronze.run import run_table
from tidegate.platform.cloud.requirements import VISIBILITY
from tidegate.platform.core import seams
from tidegate.platform.core.wording import first_line
from tidegate.platform.forgetting.forget import ask, progress, work_off
from tidegate.platform.intake.dealer import Dealer
from tidegate.platform.intake.tick import take_in
from tidegate.platform.lake.lake import Lake
from tidegate.platform.lake.settings import Settings
from tidegate.platform.prove.outcomes import Awaited, read_outcomes, what_waits
from tidegate.platform.prove.requests import Meter, MeteredAws, replace_text, write_counts
from tidegate.platform.silver.merge import merge_table

AWAITED, MISSING = "awaited.json", "missing.json"
#: Exit code of a worker that gave up: nothing more came, and something is missing.
GAVE_UP = 3
#: Seconds without any progress after which a worker gives up: the messages of a worker that was killed come again only
#: when they are visible again.
_PATIENCE = VISIBILITY.seconds + 30.0
_KIND = "person"


def counts_file(folder: Path, pid: int) -> Path:
    """Return the file with the requests of a worker."""
    return folder / f"requests-{pid}.json"


def batches_file(folder: Path, pid: int) -> Path:
    """Return the file with the number of batches and merges that a worker began."""
    return folder / f"batches-{pid}"


def marker_file(folder: Path, seam: str) -> Path:
    """Return the file that a worker writes before it dies at a seam."""
    return folder / f"died-{seam}"


def _die_at(seam: str, folder: Path, meter: Meter) -> None:
    """Let this process die when it reaches a seam. Its requests are counted before."""

    def die(name: str) -> None:
        if name == seam:
            write_counts(meter, counts_file(folder, os.getpid()))
            marker_file(folder, seam).write_text(str(os.getpid()))
            os.kill(os.getpid(), signal.SIGKILL)

    seams.actions.append(die)


def _ingest(lake: Lake, folder: Path, meter: Meter) -> int:
    """Ingest until everything has arrived, or nothing comes any more. Returns the exit code."""
    last, rounds = time.monotonic(), _Rounds(lake, folder)
    while True:
        was_busy = rounds.do_round()
        write_counts(meter, counts_file(folder, os.getpid()))
        if was_busy:
            last = time.monotonic()
            continue
        missing = _missing_keys(lake, folder)
        if not missing:
            (folder / MISSING).unlink(missing_ok=True)  # of a worker before
            return 0
        if time.monotonic() - last > _PATIENCE:
            replace_text(folder / MISSING, json.dumps(missing))
            return GAVE_UP


def _missing_keys(lake: Lake, folder: Path) -> list[str]:
    """Return what has not arrived. While producers still write, the file with what is awaited does not exist."""
    awaited = folder / AWAITED
    if not awaited.exists():
        return ["files of producers that still write"]
    waits = what_waits(lake)
    return [waits] if waits else Awaited.read(awaited).missing_keys(read_outcomes(lake))


class _Rounds:
    """What the ticks of all sensors start, one after another.

    Args:
        folder: takes the number of batches and merges.
    """

    def __init__(self, lake: Lake, folder: Path) -> None:
        self._lake, self._folder, self._batches = lake, folder, 0

    def do_round(self) -> bool:
        """Do what a tick of each sensor starts. Returns whether there was anything to do."""
        taken = take_in(self._lake, seconds=5, patience=1)
        for queue, error in taken.failures.items():
            print(f"queue {queue}: {first_line(error)}", flush=True)
        busy = taken.received > 0
        for line in Dealer().deal(self._lake, time.time()):
            print(line, flush=True)
        for table_key in sorted({waiting.table for waiting in self._lake.store.inbox.waiting_manifests()}):
            self._note_batch()
            run_table(self._lake.table(table_key), RunOptions(run_id=f"prove-{os.getpid()}"))
            busy = True
        for spec in self._lake.config.tables:
            if spec.silver and merge_table(self._lake, spec):
                self._note_batch()
                busy = True
        return busy

    def _note_batch(self) -> None:
        self._batches += 1
        replace_text(batches_file(self._folder, os.getpid()), str(self._batches))


def _forget(lake: Lake, person: str) -> None:
    """Forget a person, or continue with it."""
    if not progress(lake):
        ask(lake, _KIND, [person], "tidegate prove")
    work_off(lake, f"prove-{os.getpid()}", lambda line: print(line, flush=True))


def main() -> int:
    """Run the worker. Returns its exit code."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--die-at")
    parser.add_argument("--forget")
    given = parser.parse_args()
    meter = Meter()
    settings = Settings.from_environment()
    settings = replace(settings, aws=MeteredAws.from_aws(settings.aws, meter))
    if given.die_at:
        _die_at(given.die_at, given.folder, meter)
    try:
        with settings.open_lake() as lake:
            if given.forget:
                _forget(lake, given.forget)
                return 0
            return _ingest(lake, given.folder, meter)
    finally:
        write_counts(meter, counts_file(given.folder, os.getpid()))


if __name__ == "__main__":
    sys.exit(main())
