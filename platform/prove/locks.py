"""The lock and the local files of each run of this user on this machine, whatever folder its command was run in."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import tempfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from tidegate.platform.core.errors import UnavailableError
from tidegate.platform.core.wording import first_line

_ID = re.compile(r"[0-9a-f]{10}")


@contextmanager
def held_run(folder: Path, id: str) -> Iterator[Path]:
    """Make the folder of a run, and hold its lock while the run lives, so that `prove --clean` leaves it alone.

    Raises:
        UnavailableError: the folder or the lock cannot be made.
    """
    home, path = folder / id, _lock_file(id)
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = path.open("w")
    except OSError as error:
        raise UnavailableError(
            f"{error.filename} cannot be made: {first_line(error)}; choose another folder with --home, and another for "
            "the locks of runs with XDG_STATE_HOME"
        ) from None
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield home


def is_running(id: str) -> bool | None:
    """Return whether a run of this machine lives; None if no run of this user on this machine has the id."""
    path = _lock_file(id)
    if not path.exists():
        return None
    with path.open() as lock:
        return not _is_free(lock)


def remove_run(folder: Path, id: str) -> None:
    """Remove the local files of a run that has ended."""
    shutil.rmtree(folder / id, ignore_errors=True)
    _lock_file(id).unlink(missing_ok=True)


def remove_ended_runs(folder: Path, kept: Collection[str]) -> None:
    """Remove the local files of the runs that have ended.

    Args:
        folder: of the runs' local files.
        kept: ids of the runs of which something is left.
    """
    ids = [path.name for path in (*folder.glob("*"), *_locks_folder().glob("*")) if _ID.fullmatch(path.name)]
    for id in {*ids} - {*kept}:
        if is_running(id) is False:
            remove_run(folder, id)


def _locks_folder() -> Path:
    home = os.path.expanduser("~")
    # A user of a container may have no home.
    default = f"{home}/.local/state" if home != "~" else f"{tempfile.gettempdir()}/state-of-{os.getuid()}"
    return Path(os.environ.get("XDG_STATE_HOME") or default) / "tidegate" / "prove"


def _lock_file(id: str) -> Path:
    return _locks_folder() / id


def _is_free(lock: IO[str]) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
