"""Reads the secrets of webhooks from where `lake.yaml` says they are."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tidegate.platform.core.config.webhook import SecretSpec, WebhookSpec
from tidegate.platform.core.webhook.schemes import scheme_of


def secret_values(webhook: WebhookSpec, environ: Mapping[str, str]) -> tuple[tuple[str, ...], list[str]]:
    """Read the secrets of a sender.

    Returns:
        The secrets, and a problem for each that is missing or cannot be used. No problem contains a secret.
    """
    scheme = scheme_of(webhook.verification, webhook.header)
    found, problems = [], []
    for spec in webhook.secrets:
        try:
            secret = _value(spec, environ)
        except (OSError, UnicodeDecodeError) as error:
            problems.append(f"{spec.place} cannot be read: {getattr(error, 'strerror', None) or 'it is not UTF-8'}")
            continue
        if not secret:
            problems.append(f"{spec.place} is {'not set' if spec.env else 'empty'}")
        elif not secret.isprintable():
            problems.append(f"{spec.place} has line ends or other control characters inside of the secret")
        elif wrong := scheme.secret_problem(secret):
            problems.append(f"{spec.place} has no secret of `{webhook.verification}`: {wrong}")
        else:
            found.append(secret)
    return tuple(found), problems


def _value(spec: SecretSpec, environ: Mapping[str, str]) -> str:
    text = environ.get(spec.env, "") if spec.env else Path(spec.file or "").read_text(encoding="utf-8")
    return text.strip()
