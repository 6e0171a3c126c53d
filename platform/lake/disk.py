"""A disk that is full: the check before a server starts, and the error of a command that cannot write."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path
from tempfile import gettempdir

from tidegate.platform.core.errors import UnavailableError

#: Bytes that the servers of a home write at their start, with room for their first logs and tables.
MIN_FREE = 64 << 20
_FULL = (errno.ENOSPC, errno.EDQUOT)
#: A disk with fewer free bytes is taken for the full one, if an error names no file.
_ALMOST_FULL = 1 << 20


def is_full(error: BaseException) -> bool:
    """Return whether an error says that a disk, or what a user may have of it, is full."""
    return isinstance(error, OSError) and error.errno in _FULL


def require_space(home: Path) -> None:
    """Check that servers have room in their home. They would end with errors of their own, or with half a table.

    Raises:
        UnavailableError: the disk has less than `MIN_FREE`. The message names the folder, and what to free.
    """
    there = next(folder for folder in (home.absolute(), *home.absolute().parents) if folder.exists())
    disk = shutil.disk_usage(there)
    # A network file system may not know its size.
    if disk.total and disk.free < MIN_FREE:
        raise UnavailableError(
            f"the disk with {home} has {disk.free >> 20} MiB left, and a start needs {MIN_FREE >> 20} MiB: delete what "
            "you do not need there, or choose a folder on another disk with --home"
        )


def explain_full_disk(error: OSError) -> str:
    """Return which disk is full, as far as the error or the disks show it, and what to do."""
    named = error.filename2 or error.filename
    folders = [Path(os.fsdecode(named)).parent] if isinstance(named, str | bytes) else [Path.cwd(), Path(gettempdir())]
    full = [folder for folder in folders if named or shutil.disk_usage(folder).free < _ALMOST_FULL]
    where = f"the disk with {full[0].absolute()}" if full else "the disk that the output goes to"
    return f"{where} is full: delete what you do not need there, and repeat the command"
