"""A secret is found in the files, in what is not committed yet, and in a commit that a later one undid."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tidegate.platform.release.committed_secrets import committed_secrets

#: Put together here, so that no scanner finds them in this file.
KEY, TOKEN = "AKIA" + "Q3EGRWMGKJHTXA7B", "ghp_" + "a1B2" * 9
PEM = "-----BEGIN RSA " + "PRIVATE KEY-----"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a checkout whose history has one secret, which its files no longer have."""
    _git(tmp_path, "init", "-q", "-b", "main")
    (tmp_path / "settings.py").write_text(f'key = "{KEY}"\n')
    _commit(tmp_path, "first")
    (tmp_path / "settings.py").write_text('key = "AKIAEXAMPLE"\ndigest = "' + "0a" * 32 + '"\n')
    _commit(tmp_path, "second")
    return tmp_path


def _git(root: Path, *arguments: str) -> None:
    names = ("-c", "user.name=n", "-c", "user.email=n@example.org")
    subprocess.run(["git", *names, *arguments], cwd=root, check=True, capture_output=True, timeout=30)


def _commit(root: Path, message: str) -> None:
    _git(root, "add", ".")
    _git(root, "commit", "-q", "-m", message)


def test_a_commit_that_another_one_undid_still_has_its_secret(root: Path) -> None:
    (found,) = committed_secrets(root)
    assert found.startswith("settings.py (commit ")
    assert "(AWS Access Key)" in found
    assert KEY not in found


def test_what_is_not_committed_yet_is_read_too(root: Path) -> None:
    (root / "settings.py").write_text(f"token = {TOKEN}\n")
    (root / "new.pem").write_text(f"{PEM}\n")
    places = [line.split(" has ")[0] for line in committed_secrets(root)[1:]]
    assert places == ["settings.py (the working tree)", "new.pem"]


def test_a_secret_on_another_branch_and_in_a_merge_is_found(root: Path) -> None:
    _git(root, "checkout", "-q", "-b", "other")
    (root / "other.txt").write_text(f"{TOKEN}\n")
    _commit(root, "third")
    _git(root, "checkout", "-q", "main")
    assert len(committed_secrets(root)) == 2
