"""The secret of a sender is replaced while the server runs: both are valid for a time, and no delivery is refused."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tidegate.platform.core.config.webhook import WebhookSpec
from tidegate.platform.webhook.secret_values import CurrentSecrets, secret_values

OLD, NEW = "the old secret of the shop", "the new secret of the shop"


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        self.seconds += 2.0
        return self.seconds


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "secret").write_text(f"{OLD}\n")
    return tmp_path / "secret"


def current(path: Path, said: list[str], environ: dict[str, str] | None = None) -> CurrentSecrets:
    places = [{"file": str(path)}, *({"env": name} for name in environ or {})]
    given = {"name": "shop", "queue": "rows", "verification": "secret", "secrets": places}
    spec = WebhookSpec.model_validate(given)
    found, problems = secret_values(spec, environ or {})
    assert problems == []
    return CurrentSecrets(spec, environ or {}, found, said.append, Clock())


def test_a_line_is_added_the_sender_is_changed_and_the_old_line_is_removed(path: Path) -> None:
    said: list[str] = []
    secrets = current(path, said, {"OTHER": "a secret of a variable"})
    assert secrets.values() == (OLD, "a secret of a variable")
    path.write_text(f"{NEW}\n{OLD}\n")
    assert secrets.values() == (NEW, OLD, "a secret of a variable")
    path.write_text(f"{NEW}\n")
    assert secrets.values() == (NEW, "a secret of a variable")
    assert said == [f"webhook shop: {count} secrets are valid now" for count in (3, 2)]


def test_a_file_that_is_replaced_as_kubernetes_does_is_read_again(path: Path) -> None:
    """The new file may have the same size, and any time."""
    secrets = current(path, [])
    stat = path.stat()
    other = path.with_name("other")
    other.write_text(f"{NEW}\n")
    os.utime(other, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    other.rename(path)
    assert secrets.values() == (NEW,)


@pytest.mark.parametrize("text", ["", "short", "€" * 16, None], ids=["empty", "short", "beyond ASCII", "gone"])
def test_a_file_that_cannot_be_used_changes_nothing_and_is_reported_once(path: Path, text: str | None) -> None:
    said: list[str] = []
    secrets = current(path, said)
    path.unlink() if text is None else path.write_text(text)
    assert [secrets.values() for _ in range(3)] == [(OLD,)] * 3
    (line,) = said
    assert line.startswith(f"WARNING: webhook shop: the file {path} ")
    assert line.endswith("; the secrets from before stay valid")
    path.write_text(NEW)
    assert secrets.values() == (NEW,)


def test_one_place_has_few_secrets(path: Path) -> None:
    said: list[str] = []
    secrets = current(path, said)
    path.write_text("".join(f"secret number {number} of many\n" for number in range(9)))
    assert secrets.values() == (OLD,)
    assert "has 9 secrets, a line each, and 8 are the most" in said[0]


def test_the_files_are_looked_at_once_a_second(path: Path) -> None:
    secrets = current(path, [])
    secrets._now = lambda: 2.5
    path.write_text(NEW)
    assert secrets.values() == (OLD,)
    secrets._now = lambda: 3.0
    assert secrets.values() == (NEW,)
