"""A full disk is a sentence that names the folder, and never a trace: before servers start, and in every command."""

from __future__ import annotations

import errno
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

import pytest

from tidegate.platform.core.errors import UnavailableError
from tidegate.platform.lake.disk import MIN_FREE, explain_full_disk, is_full, require_space

FULL = OSError(errno.ENOSPC, "No space left on device")


def sizes(monkeypatch: pytest.MonkeyPatch, *, free: int, total: int = 1 << 40, folder: str = "/") -> None:
    """Let the disk of a folder have so many bytes, and each other disk enough."""

    def usage(path: Path) -> SimpleNamespace:
        assert path.exists()
        return SimpleNamespace(total=total, free=free if path.is_relative_to(folder) else 1 << 40)

    monkeypatch.setattr(shutil, "disk_usage", usage)


def test_servers_start_only_where_their_home_has_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "not" / "made"
    sizes(monkeypatch, free=MIN_FREE)
    require_space(home)
    sizes(monkeypatch, free=MIN_FREE - 1)
    with pytest.raises(
        UnavailableError, match=rf"^the disk with {home} has 63 MiB left, .* needs 64 MiB: delete .* with --home$"
    ):
        require_space(home)
    assert not home.parent.exists()
    sizes(monkeypatch, free=0, total=0)  # a disk that does not know its size
    require_space(home)


def test_the_disk_is_that_of_the_file_or_the_one_without_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    sizes(monkeypatch, free=0, folder="/nowhere")
    todo = "is full: delete what you do not need there, and repeat the command"
    assert explain_full_disk(OSError(28, "No space left", "/a/b")) == f"the disk with /a {todo}"
    # As from `shutil.copyfile`: source and copy.
    assert explain_full_disk(OSError(28, "No space left", "/a/b", None, "/c/d")) == f"the disk with /c {todo}"
    assert explain_full_disk(FULL) == f"the disk that the output goes to {todo}"
    sizes(monkeypatch, free=0, folder=str(tmp_path))
    assert explain_full_disk(FULL) == f"the disk with {tmp_path} {todo}"
    monkeypatch.chdir("/")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert explain_full_disk(FULL) == f"the disk with {tmp_path} {todo}"
    assert is_full(OSError(errno.EDQUOT, "Disk quota exceeded"))
    assert not is_full(OSError(errno.EACCES, "Permission denied"))


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="Linux has a file that is always full")
@pytest.mark.parametrize("environ", [{}, {"PYTHONUNBUFFERED": "1"}])
def test_a_command_whose_output_has_no_room_says_so_in_a_line(environ: dict[str, str]) -> None:
    """The first command of the tutorial is written to a file."""
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "tidegate.platform.cli.main", "dagster-yaml"],
            stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, check=False, env={"PATH": "/bin", **environ},
        )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr.startswith("error: the disk ")
    assert done.stderr.endswith(" is full: delete what you do not need there, and repeat the command\n")
    assert done.stderr.count("\n") == 1
