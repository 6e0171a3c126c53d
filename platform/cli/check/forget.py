"""The check of the secret by which forgotten persons stay out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

from tidegate.platform.cli.check.catalog import Check
from tidegate.platform.cli.check.findings import Failed, Finding, Warned, checked
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.forgetting.request import ForgetRequest
from tidegate.resources.lake_root.store import LakeStore
from tidegate.resources.suppression import SecretProblem, subject_key


def check_forget(config: LakeConfig, store: LakeStore, environ: Mapping[str, str]) -> Iterator[Finding]:
    """Check that the secret is the one of the requests, for each kind of subject.

    Args:
        config: the lake.yaml.
        store: the store of the lake. It answers.
        environ: may have the secret.
    """
    requests = store.forgotten.requests() if config.subject_kinds else []
    for kind in config.subject_kinds:
        asked = [request for request in requests if request.kind == kind]
        yield checked(Check.FORGET_SECRET, kind, partial(_secret, config, environ, kind, asked))


def _secret(config: LakeConfig, environ: Mapping[str, str], kind: str, requests: list[ForgetRequest]) -> str:
    try:
        subject_key(config, environ, kind, requests)
    except SecretProblem as problem:
        if requests:
            raise Failed(str(problem)) from None
        raise Warned(f"{problem}. Nobody asked to forget a {kind} yet, so no table waits") from None
    return "it is that of every request" if requests else "it can be used; there are no requests yet"
