"""Reads the secrets of webhooks from where `lake.yaml` says they are, and reads their files again when these change."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path

from tidegate.platform.core.config.webhook import WebhookSpec
from tidegate.platform.core.webhook.scheme import MIN_SECRET, Scheme
from tidegate.platform.core.webhook.schemes import scheme_of
from tidegate.platform.lake.secret_text import secret_text

#: Secrets in one place, of which the new and the old one are two.
_MAX_SECRETS = 8
#: A changed file counts after so many seconds.
_LOOK_SECONDS = 1.0
#: What begins a comment, JSON, markup or PEM. Programs write these in the place of a secret that they do not have.
_BEGINS_OTHER_TEXT = ("#", "{", "[", "<", "-----")

#: When a file changed, and which file it is: times of the change and of its content, size and inode.
_Mark = tuple[int, int, int, int]


def secret_values(webhook: WebhookSpec, environ: Mapping[str, str]) -> tuple[tuple[str, ...], list[str]]:
    """Read the secrets of a sender. Each line of a place is one, so that the old and the new one can both be valid.

    Returns:
        The secrets, and a problem for each that is missing or cannot be used. No problem contains a secret.
    """
    scheme = scheme_of(webhook.verification, webhook.header)
    found, problems = [], []
    for spec in webhook.secrets:
        try:
            secrets = [line.strip() for line in secret_text(spec, environ).split("\n") if line.strip()]
        except (OSError, UnicodeDecodeError) as error:
            problems.append(f"{spec.place} cannot be read: {getattr(error, 'strerror', None) or 'it is not UTF-8'}")
            continue
        if not secrets:
            problems.append(f"{spec.place} is {'not set' if spec.env else 'empty'}")
        elif len(secrets) > _MAX_SECRETS:
            problems.append(f"{spec.place} has {len(secrets)} secrets, a line each, and {_MAX_SECRETS} are the most")
        for secret in secrets[:_MAX_SECRETS]:
            if wrong := _problem(secret, scheme, webhook.verification):
                problems.append(f"{spec.place} {wrong}")
            else:
                found.append(secret)
    return tuple(found), list(dict.fromkeys(problems))


class CurrentSecrets:
    """The secrets of a sender as its files have them now.

    A file that cannot be used changes nothing, and a secret that its file no longer has stays valid until the file has
    been as it is for a second: half of a write must not refuse genuine deliveries.

    Args:
        webhook: names the places of the secrets.
        environ: has those that are in variables. A variable of a process does not change.
        found: the secrets that were read at the start.
        say: takes a line for each change.
        now: seconds of any steady clock.
        wall: epoch nanoseconds of the clock that files have their times from.
    """

    def __init__(
        self,
        webhook: WebhookSpec,
        environ: Mapping[str, str],
        found: tuple[str, ...],
        say: Callable[[str], None],
        now: Callable[[], float] = time.monotonic,
        wall: Callable[[], int] = time.time_ns,
    ) -> None:
        self._webhook, self._environ, self._found, self._say = webhook, environ, found, say
        self._now, self._wall = now, wall
        self._files = [Path(spec.file) for spec in webhook.secrets if spec.file]
        # No marks, so that the first look reads: a file may have changed since the start.
        self._marks, self._looked = list[_Mark | None](), now()
        self._last_look: tuple[str, ...] | None = None
        self._problems: list[str] = []

    def values(self) -> tuple[str, ...]:
        """Return the secrets that are valid. The files are looked at once a second."""
        if self._files and self._now() >= self._looked + _LOOK_SECONDS:
            self._looked = self._now()
            # Before the files are read: a change in between is seen by the next look.
            marks = self._file_marks()
            if marks != self._marks or self._problems or self._last_look != self._found:
                self._marks = marks
                self._read()
        return self._found

    def _read(self) -> None:
        found, problems = secret_values(self._webhook, self._environ)
        for problem in problems if problems != self._problems else ():
            self._say(f"WARNING: webhook {self._webhook.name}: {problem}; the secrets from before stay valid")
        self._problems = problems
        if problems:
            self._last_look = None
            return
        removed = () if self._is_settled(found) else tuple(secret for secret in self._found if secret not in found)
        self._last_look = found
        if self._found != (valid := found + removed):
            self._found = valid
            more = f", and {len(removed)} that the files no longer have, until the next look" if removed else ""
            self._say(f"webhook {self._webhook.name}: {len(found)} secrets are valid now{more}")

    def _is_settled(self, found: tuple[str, ...]) -> bool:
        """Return whether the files are not being written: two looks agree, or the last change is a second ago."""
        changed = max((mark[0] for mark in self._marks if mark), default=0)
        return found == self._last_look or self._wall() - changed >= _LOOK_SECONDS * 1e9

    def _file_marks(self) -> list[_Mark | None]:
        marks = list[_Mark | None]()
        for file in self._files:
            try:
                found = file.stat()
            except OSError:
                marks.append(None)
            else:
                # The time of the last change of its permissions too, by which a file can be read again.
                marks.append((found.st_ctime_ns, found.st_mtime_ns, found.st_size, found.st_ino))
        return marks


def _problem(secret: str, scheme: Scheme, verification: str) -> str | None:
    """Return what is wrong with a secret, without it."""
    if not secret.isprintable():
        return "has control characters inside of the secret"
    if " " in secret or secret.startswith(_BEGINS_OTHER_TEXT):
        return (
            "has a line with blanks, or one that begins like a comment, JSON, markup or PEM: each line is a secret, "
            "and others may know such a text"
        )
    if not secret.isascii():
        return "has characters beyond ASCII, which a header cannot have"
    if len(secret) < MIN_SECRET:
        return f"has a secret of {len(secret)} characters, and {MIN_SECRET} are the least"
    if wrong := scheme.secret_problem(secret):
        return f"has no secret of `{verification}`: {wrong}"
    return None
