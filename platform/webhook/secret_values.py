"""Reads the secrets of webhooks from where `lake.yaml` says they are."""

from __future__ import annotations

from collections.abc import Mapping

from tidegate.platform.core.config.webhook import WebhookSpec
from tidegate.platform.core.webhook.scheme import MIN_SECRET
from tidegate.platform.core.webhook.schemes import scheme_of
from tidegate.platform.lake.secret_text import secret_text


def secret_values(webhook: WebhookSpec, environ: Mapping[str, str]) -> tuple[tuple[str, ...], list[str]]:
    """Read the secrets of a sender.

    Returns:
        The secrets, and a problem for each that is missing or cannot be used. No problem contains a secret.
    """
    scheme = scheme_of(webhook.verification, webhook.header)
    found, problems = [], []
    for spec in webhook.secrets:
        try:
            secret = secret_text(spec, environ)
        except (OSError, UnicodeDecodeError) as error:
            problems.append(f"{spec.place} cannot be read: {getattr(error, 'strerror', None) or 'it is not UTF-8'}")
            continue
        if not secret:
            problems.append(f"{spec.place} is {'not set' if spec.env else 'empty'}")
        elif not secret.isprintable():
            problems.append(f"{spec.place} has line ends or other control characters inside of the secret")
        elif not secret.isascii():
            problems.append(f"{spec.place} has characters beyond ASCII, which a header cannot have")
        elif len(secret) < MIN_SECRET:
            problems.append(f"{spec.place} has a secret of {len(secret)} characters, and {MIN_SECRET} are the least")
        elif wrong := scheme.secret_problem(secret):
            problems.append(f"{spec.place} has no secret of `{webhook.verification}`: {wrong}")
        else:
            found.append(secret)
    return tuple(found), problems
