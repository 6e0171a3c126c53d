"""The check of the secret of the suppression list."""

from __future__ import annotations

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

from tidegate.platform.cli.check.findings import Finding
from tidegate.platform.cli.check.forget import check_forget
from tidegate.platform.core.forgetting.request import ForgetRequest
from tidegate.platform.core.forgetting.subject_key import SubjectKey

SECRET = "a secret that only this test has"


def found(environ: dict[str, str], *requests: ForgetRequest, subject: str | None = "who") -> list[Finding]:
    secret = SimpleNamespace(env="SECRET", file=None, place="the environment variable SECRET")
    config: Any = SimpleNamespace(subject_kinds=["person"] if subject else [], forget=SimpleNamespace(secret=secret))
    store: Any = SimpleNamespace(forgotten=SimpleNamespace(requests=lambda: list(requests)))
    return list(check_forget(config, store, environ))


def request(secret: str = SECRET) -> ForgetRequest:
    key, now = SubjectKey(secret, "person"), datetime(2026, 1, 1, tzinfo=UTC)
    return ForgetRequest("01", "eva", now, now, "person", key.check, (key.digest("p"),))


def test_the_secret_of_the_requests_is_ok() -> None:
    (finding,) = found({"SECRET": SECRET}, request())
    assert (finding.check.id, finding.subject, finding.outcome) == ("forget.secret", "person", "ok")
    assert finding.detail == "it is that of every request"


def test_a_missing_or_another_secret_fails_once_somebody_was_forgotten() -> None:
    for environ, why in (({}, "is not set or empty"), ({"SECRET": SECRET + "!"}, "another")):
        (finding,) = found(environ, request())
        assert finding.outcome == "failed"
        assert why in finding.detail


def test_a_missing_secret_is_a_warning_before_the_first_request() -> None:
    (finding,) = found({})
    assert finding.outcome == "warning"
    assert "no table waits" in finding.detail
    assert found({"SECRET": SECRET})[0].outcome == "ok"


def test_a_lake_without_subjects_needs_no_secret() -> None:
    assert found({}, subject=None) == []
