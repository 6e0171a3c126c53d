"""The schemes by their names in `lake.yaml`."""

from __future__ import annotations

from tidegate.platform.core.webhook.github import GITHUB
from tidegate.platform.core.webhook.scheme import Scheme
from tidegate.platform.core.webhook.shared_secret import shared_secret
from tidegate.platform.core.webhook.shopify import SHOPIFY
from tidegate.platform.core.webhook.slack import SLACK
from tidegate.platform.core.webhook.standard import STANDARD
from tidegate.platform.core.webhook.stripe import STRIPE

_SIGNED = {"standard": STANDARD, "github": GITHUB, "stripe": STRIPE, "slack": SLACK, "shopify": SHOPIFY}


def scheme_of(verification: str, header: str) -> Scheme:
    """Return the scheme of a webhook.

    Args:
        verification: as `lake.yaml` gives it.
        header: of `secret`, the header with the secret.
    """
    return shared_secret(header) if verification == "secret" else _SIGNED[verification]
