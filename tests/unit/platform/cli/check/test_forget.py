"""The check of the secret of the suppression list."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from tidegate.platform.cli.check.findings import Finding
from tidegate.platform.cli.check.forget import check_forget
from tidegate.platform.core.config.webhook import SecretSpec
from tidegate.platform.core.forgetting.request import ForgetRequest, SubjectKey

SECRET = "a secret that only this test has"


def found(
    environ: dict[str, str],
    *requests: ForgetRequest,
    subject: str | None = "who",
    kind: str | None = "person",
    subjects: tuple[str, ...] | None = None,
) -> list[Finding]:
    secret = SecretSpec(file=environ["FILE"]) if "FILE" in environ else SecretSpec(env="SECRET")
    config: Any = SimpleNamespace(subject_kinds=["person"] if subject else [], forget=SimpleNamespace(secret=secret))
    config.tables = [
        SimpleNamespace(name="orders", subject_kind=kind, personal=SimpleNamespace(subject=("Who",))),
        SimpleNamespace(name="other", subject_kind=None, personal=None),
    ]
    note: dict[str, Any] = {"tables": [{"table": "orders"}, {"table": "gone"}]}
    note |= {"subjects": {"orders": subjects}} if subjects else {}
    forgotten = SimpleNamespace(requests=lambda: list(requests), note=lambda _, step: note if step == "found" else None)
    store: Any = SimpleNamespace(forgotten=forgotten)
    return list(check_forget(config, store, environ))


def request(secret: str = SECRET) -> ForgetRequest:
    key, now = SubjectKey(secret, "person"), datetime(2026, 1, 1, tzinfo=UTC)
    return ForgetRequest("01", "eva", now, now, "person", key.check, (key.digest("p"),))


def test_the_secret_of_the_requests_is_ok() -> None:
    finding, tables = found({"SECRET": SECRET}, request())
    assert (tables.check.id, tables.outcome) == ("forget.tables", "ok")
    assert (finding.check.id, finding.subject, finding.outcome) == ("forget.secret", "person", "ok")
    assert finding.detail == "it is that of every request"


def test_a_missing_or_another_secret_fails_once_somebody_was_forgotten() -> None:
    for environ, why in (({}, "is not set or empty"), ({"SECRET": SECRET + "!"}, "another")):
        finding, _ = found(environ, request())
        assert finding.outcome == "failed"
        assert why in finding.detail


def test_a_secret_s_file_that_others_may_read_is_a_warning(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    path.write_text(SECRET)
    for mode, outcome in ((0o600, "ok"), (0o604, "warning")):
        path.chmod(mode)
        assert found({"FILE": str(path)})[0].outcome == outcome


def test_a_missing_secret_is_a_warning_before_the_first_request() -> None:
    (finding,) = found({})
    assert finding.outcome == "warning"
    assert "no table waits" in finding.detail
    assert found({"SECRET": SECRET})[0].outcome == "ok"


def test_a_lake_without_subjects_needs_no_secret() -> None:
    assert found({}, subject=None) == []


def test_a_table_that_lost_its_subject_lets_forgotten_persons_in_again() -> None:
    for kind in (None, "client"):
        *_, finding = found({"SECRET": SECRET}, request(), subject=None, kind=kind)
        assert (finding.check.id, finding.subject, finding.outcome) == ("forget.tables", "person", "failed")
        assert "persons were forgotten in orders by its subject (kind 'person')" in finding.detail
        assert "other" not in finding.detail.split(":")[0]
        assert "gone" not in finding.detail, "no row enters it"
    *_, finding = found({"SECRET": SECRET}, request(), subjects=("mail", "who"))
    assert (finding.outcome, "forgotten in orders by mail (" in finding.detail) == ("failed", True)
    assert found({"SECRET": SECRET}, request(), subjects=("who",))[-1].outcome == "ok"
