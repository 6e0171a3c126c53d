"""Checks of what keeps forgotten persons out: the secret of the suppression list, and the subjects of tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

from tidegate.platform.cli.check.findings import Failed, Finding, Warned, make_finding
from tidegate.platform.cli.check.known_checks import Check
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.forgetting.request import ForgetRequest
from tidegate.platform.core.forgetting.subject_columns import lost_columns, subject_is_missing
from tidegate.platform.forgetting.forget import FOUND
from tidegate.platform.lake.lake_root.store import LakeStore
from tidegate.platform.lake.secret_text import explain_exposure
from tidegate.platform.lake.suppression import SecretProblem, subject_key
from tidegate.platform.lake.threads import parallel


def check_forget(config: LakeConfig, store: LakeStore, environ: Mapping[str, str]) -> Iterator[Finding]:
    """Check that the secret is the one of the requests, and that their tables have subjects, for each kind of subject.

    Args:
        store: the store of the lake. It answers.
        environ: may have the secret.
    """
    requests = store.forgotten.requests()
    for kind in config.subject_kinds:
        asked = [request for request in requests if request.kind == kind]
        yield make_finding(Check.FORGET_SECRET, kind, partial(_secret, config, environ, kind, asked))
    for kind in sorted({request.kind for request in requests}):
        asked = [request for request in requests if request.kind == kind]
        yield make_finding(Check.FORGET_TABLES, kind, partial(_tables, config, store, kind, asked))


def _secret(config: LakeConfig, environ: Mapping[str, str], kind: str, requests: list[ForgetRequest]) -> str:
    try:
        subject_key(config, environ, kind, requests)
    except SecretProblem as problem:
        if requests:
            raise Failed(str(problem)) from None
        raise Warned(f"{problem}. Nobody asked to forget a {kind} yet, so no table waits") from None
    if config.forget and (why := explain_exposure(config.forget.secret)):
        raise Warned(why)
    return "it is that of every request" if requests else "it can be used; there are no requests yet"


def _tables(config: LakeConfig, store: LakeStore, kind: str, requests: list[ForgetRequest]) -> str:
    notes = parallel(lambda request: store.forgotten.note(request.id, FOUND), requests)
    named: dict[str, set[str]] = {}
    for note in filter(None, notes):
        for table in note["tables"]:
            # A note of an earlier version does not have the columns.
            named.setdefault(table["table"], set()).update(note.get("subjects", {}).get(table["table"], ()))
    # No row enters a table that lake.yaml does not have.
    present = [spec for spec in config.tables if spec.name in named]
    lost = {
        spec.name: lost_columns(
            kind, named[spec.name], spec.subject_kind, spec.personal.subject if spec.personal else ()
        )
        for spec in present
    }
    if problems := [subject_is_missing(name, kind, columns) for name, columns in lost.items() if columns is not None]:
        raise Failed("; ".join(problems))
    return f"each of {len(present)} tables has its subject"
