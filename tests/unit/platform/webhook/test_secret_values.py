"""The secret of a sender is replaced while the server runs: both are valid for a time, and no delivery is refused."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from tidegate.platform.core.config.webhook import WebhookSpec
from tidegate.platform.webhook.secret_values import CurrentSecrets, secret_values

OLD, NEW = "the-old-secret-of-the-shop", "the-new-secret-of-the-shop"


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


def current(path: Path, said: list[str], environ: dict[str, str] | None = None, wall: int = 0) -> CurrentSecrets:
    """Return the secrets of a file and of variables. By the given clock of the files, no write is over."""
    places = [{"file": str(path)}, *({"env": name} for name in environ or {})]
    given = {"name": "shop", "queue": "rows", "verification": "secret", "secrets": places}
    spec = WebhookSpec.model_validate(given)
    found, problems = secret_values(spec, environ or {})
    assert problems == []
    return CurrentSecrets(spec, environ or {}, found, said.append, Clock(), lambda: wall)


def test_a_line_is_added_the_sender_is_changed_and_the_old_line_is_removed(path: Path) -> None:
    said: list[str] = []
    secrets = current(path, said, {"OTHER": "a-secret-of-a-variable"})
    assert secrets.values() == (OLD, "a-secret-of-a-variable")
    path.write_text(f"{NEW}\n{OLD}\n")
    assert secrets.values() == (NEW, OLD, "a-secret-of-a-variable")
    path.write_text(f"{NEW}\n")
    assert secrets.values() == (NEW, "a-secret-of-a-variable", OLD)
    assert secrets.values() == (NEW, "a-secret-of-a-variable")
    assert said == [
        "webhook shop: 3 secrets are valid now",
        "webhook shop: 2 secrets are valid now, and 1 that the files no longer have, until the next look",
        "webhook shop: 2 secrets are valid now",
    ]


def test_a_file_that_is_written_in_two_steps_removes_no_secret(path: Path) -> None:
    path.write_text(f"{NEW}\n{OLD}\n")
    secrets = current(path, [])
    assert secrets.values() == (NEW, OLD)
    path.write_text(f"{NEW}\n")
    assert secrets.values() == (NEW, OLD)
    path.write_text("short")
    assert secrets.values() == (NEW, OLD)
    path.write_text(f"{NEW}\n{OLD}\n")
    assert [secrets.values() for _ in range(2)] == [(NEW, OLD)] * 2


def test_a_secret_that_was_removed_before_a_quiet_hour_is_refused_at_once(path: Path) -> None:
    secrets = current(path, [], wall=time.time_ns() + 3600 * 10**9)
    assert secrets.values() == (OLD,)
    path.write_text(f"{NEW}\n")
    assert secrets.values() == (NEW,)


@pytest.mark.parametrize("in_place", [False, True], ids=["as Kubernetes does", "in place"])
def test_a_file_that_is_replaced_is_read_again(path: Path, in_place: bool) -> None:
    """The new file may have the same size, and any time."""
    secrets = current(path, [])
    assert secrets.values() == (OLD,)
    stat = path.stat()
    other = path if in_place else path.with_name("other")
    other.write_text(f"{NEW}\n")
    os.utime(other, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    other.rename(path)
    assert secrets.values() == (NEW, OLD)
    assert secrets.values() == (NEW,)


def test_a_change_between_the_start_and_the_first_look_counts(path: Path) -> None:
    given = {"name": "shop", "queue": "rows", "verification": "secret", "secrets": [{"file": str(path)}]}
    spec = WebhookSpec.model_validate(given)
    found, _ = secret_values(spec, {})
    path.write_text(f"{OLD}\n{NEW}\n")
    assert CurrentSecrets(spec, {}, found, print, Clock()).values() == (OLD, NEW)


@pytest.mark.parametrize(
    "text",
    [
        '{"errors":["permission-denied"]}',
        "# the-new-one-since-March",
        f"#{NEW}",
        "Error making API request.",
        "<html><head><title>503</title></head></html>",
        "-----BEGIN-PRIVATE-KEY-----",
    ],
)
@pytest.mark.parametrize("verification", ["github", "stripe", "slack", "shopify", "secret"])
def test_a_text_that_others_may_know_is_not_a_secret(path: Path, verification: str, text: str) -> None:
    path.write_text(f"{text}\n{NEW}\n")
    given = {"name": "shop", "queue": "rows", "verification": verification, "secrets": [{"file": str(path)}]}
    found, (problem,) = secret_values(WebhookSpec.model_validate(given), {})
    assert found == (NEW,)
    assert problem.startswith(f"the file {path} has a line with blanks, or one that begins like a comment, JSON,")


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
    assert [secrets.values() for _ in range(2)] == [(NEW, OLD), (NEW,)]


def test_one_place_has_few_secrets(path: Path) -> None:
    said: list[str] = []
    secrets = current(path, said)
    path.write_text("".join(f"secret-number-{number}-of-many\n" for number in range(9)))
    assert secrets.values() == (OLD,)
    assert "has 9 secrets, a line each, and 8 are the most" in said[0]


def test_the_files_are_looked_at_once_a_second(path: Path) -> None:
    secrets = current(path, [])
    secrets._now = lambda: 2.5
    path.write_text(NEW)
    assert secrets.values() == (OLD,)
    secrets._now = lambda: 3.0
    assert secrets.values() == (NEW, OLD)
