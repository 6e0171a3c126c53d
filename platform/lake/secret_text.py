"""Reads a secret from where `lake.yaml` says it is."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path

from tidegate.platform.core.config.webhook import SecretSpec

#: Permissions of a file that every user of the machine may read, or that others than its owner may write.
_FOR_OTHERS, _TO_CHANGE = 0o004, 0o022


def secret_text(spec: SecretSpec, environ: Mapping[str, str]) -> str:
    """Return a secret without blanks and line ends around it. Empty if the environment variable is not set.

    Raises:
        OSError: the file cannot be read. Also `UnicodeDecodeError`.
    """
    text = environ.get(spec.env, "") if spec.env else Path(spec.file or "").read_text(encoding="utf-8")
    return text.strip()


def explain_exposure(spec: SecretSpec) -> str | None:
    """Return why others than the owner of a secret's file may read or change it, and what to run; None if none may.

    Its group may read it: in a container, that is often how the process gets it. A file that is not there is not
    exposed.
    """
    if spec.file is None:
        return None
    try:
        mode = Path(spec.file).stat().st_mode & 0o777
    except OSError:
        return None
    if not mode & (_FOR_OTHERS | _TO_CHANGE):
        return None
    may = "every user of this machine may read" if mode & _FOR_OTHERS else "others than its owner may change"
    return f"{may} {spec.place} (mode {mode:04o}): run `chmod 600 {shlex.quote(spec.file)}`, and change the secret"
