"""Reads a secret from where `lake.yaml` says it is."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tidegate.platform.core.config.webhook import SecretSpec


def secret_text(spec: SecretSpec, environ: Mapping[str, str]) -> str:
    """Return a secret without blanks and line ends around it. Empty if the environment variable is not set.

    Raises:
        OSError: the file cannot be read. Also `UnicodeDecodeError`.
    """
    text = environ.get(spec.env, "") if spec.env else Path(spec.file or "").read_text(encoding="utf-8")
    return text.strip()
