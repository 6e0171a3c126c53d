"""A bronze run in a process of its own, for tests that kill or stop it: ``client.py TABLE_KEY [FOLDER ROUNDS]``.

With a folder it runs once per round, as soon as the file ``go-<round>`` is there, and answers ``done-<round>-<pid>``.
"""

from __future__ import annotations

import functools
import os
import signal
import sys
import time
from pathlib import Path

from tidegate.assets.bronze.run import run_table
from tidegate.resources.aws import AwsResource
from tidegate.resources.lake import Lake
from tidegate.resources.lake_resource import LakeResource, lake_path

#: Seconds after which a client ends by itself: Spark's retries a dead server for ten minutes.
_LIFETIME = 240


def main(text: str, folder: str = "", rounds: str = "0") -> None:
    signal.alarm(_LIFETIME)
    # No retries: the S3 that answers 503 in these tests does so for good.
    resource = LakeResource(
        lake_yaml=lake_path(), spark_remote=os.environ["SPARK_REMOTE"], aws=AwsResource(max_attempts=1)
    )
    with resource.opened() as lake:
        if folder:
            _rounds(lake, text, Path(folder), int(rounds))
        else:
            _run(lake, text)


def _run(lake: Lake, text: str) -> None:
    run_table(lake, text, run_id=f"client-{os.getpid()}", log=functools.partial(print, flush=True))


def _rounds(lake: Lake, text: str, folder: Path, rounds: int) -> None:
    lake.table(text).ledger.clock()  # connects to Spark before the race
    for i in range(rounds):
        (folder / f"ready-{i}-{os.getpid()}").touch()
        while not (folder / f"go-{i}").exists():
            time.sleep(0.002)
        _run(lake, text)
        (folder / f"done-{i}-{os.getpid()}").touch()


if __name__ == "__main__":
    main(*sys.argv[1:])
