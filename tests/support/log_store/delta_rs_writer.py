"""Appends rows to a Delta table by the installed `deltalake` until it is stopped.

Its arguments are the table, the writer's name, a file whose existence stops the writer, and the file of outcomes. The
variable `STORAGE_OPTIONS` has the storage options as JSON. An outcome is `ack <row>`, or `lost <row> <why>` for a
commit that lost a race.
"""

from __future__ import annotations

import itertools
import json
import os
import sys
import time
from pathlib import Path

import deltalake
from arro3.core import Array, DataType, Table
from deltalake import CommitProperties, write_deltalake
from deltalake.exceptions import DeltaError


def main(table: str, name: str, stop: Path, outcomes: Path) -> None:
    options = json.loads(os.environ["STORAGE_OPTIONS"])
    # Without its own retries, so that a lost race is visible.
    properties = CommitProperties(custom_metadata={"writer": name}, max_commit_retries=0)
    with outcomes.open("a") as log:
        print("version", deltalake.__version__, file=log, flush=True)
        for n in itertools.count():
            if stop.exists():
                return
            row = f"{name}-{n}"
            rows = Table.from_arrays([Array([row], DataType.utf8())], names=["id"])
            try:
                write_deltalake(table, rows, mode="append", storage_options=options, commit_properties=properties)
                print("ack", row, file=log, flush=True)
            except (DeltaError, OSError) as error:
                print("lost", row, " ".join(str(error).split()), file=log, flush=True)
            time.sleep(0.3)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]), Path(sys.argv[4]))
