"""Files of secrets that others may read or change are named, with what to run."""

from __future__ import annotations

from pathlib import Path
from shlex import quote

from tidegate.platform.core.config.webhook import SecretSpec
from tidegate.platform.lake.secret_text import explain_exposure, secret_text


def test_a_file_is_exposed_if_others_may_read_it_or_anybody_but_its_owner_may_change_it(tmp_path: Path) -> None:
    path, link = tmp_path / "the secret", tmp_path / "link"
    path.write_text("hush, nobody knows\n")
    link.symlink_to(path)
    for mode in range(0o1000):
        path.chmod(mode)
        for file in (path, link):
            why = explain_exposure(SecretSpec(file=str(file)))
            assert bool(why) == bool(mode & 0o026)
            if why:
                assert why.endswith(f"(mode {mode:04o}): run `chmod 600 {quote(str(file))}`, and change the secret")
                assert ("may read" in why) == bool(mode & 0o004)
                assert "hush" not in why
    path.chmod(0o600)
    assert secret_text(SecretSpec(file=str(link)), {}) == "hush, nobody knows"


def test_what_is_not_a_file_is_not_exposed(tmp_path: Path) -> None:
    assert explain_exposure(SecretSpec(env="SECRET")) is None
    assert explain_exposure(SecretSpec(file=str(tmp_path / "missing"))) is None
