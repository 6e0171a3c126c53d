"""Which runs of this machine live, whatever folder a command is run in."""

from __future__ import annotations

from pathlib import Path

import pytest

from tidegate.platform.core.errors import UnavailableError
from tidegate.platform.prove.locks import held_run, is_running, remove_ended_runs

RUN, ENDED, FOREIGN = "0123456789", "fedcba9876", "aaaaaaaaaa"


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of the state of a user."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state"


def test_a_run_lives_while_its_lock_is_held_and_no_folder_plays_a_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert is_running(RUN) is None
    with held_run(tmp_path / "one", RUN) as home:
        assert home.is_dir()
        monkeypatch.chdir(tmp_path)
        assert is_running(RUN) is True
    assert is_running(RUN) is False


def test_only_files_of_runs_that_have_ended_here_are_removed(tmp_path: Path) -> None:
    folder = tmp_path / "runs"
    with held_run(folder, ENDED) as home:
        (home / "worker.log").write_text("x")
    (folder / FOREIGN).mkdir()
    (folder / "mine").mkdir()
    with held_run(folder, RUN):
        remove_ended_runs(folder, [ENDED])
        assert (folder / ENDED / "worker.log").exists()
        remove_ended_runs(folder, [])
    assert sorted(path.name for path in folder.iterdir()) == sorted([RUN, FOREIGN, "mine"])
    assert is_running(ENDED) is None


def test_a_folder_that_cannot_be_made_says_which_to_choose(tmp_path: Path, state: Path) -> None:
    state.touch()
    with pytest.raises(UnavailableError, match=r"state.* cannot be made: .*XDG_STATE_HOME"), held_run(tmp_path, RUN):
        raise AssertionError
