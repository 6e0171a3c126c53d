"""The checks of webhooks: secrets that are missing here, and queues that accept too little."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tidegate.platform.cli.check.findings import Finding
from tidegate.platform.cli.check.queues import CheckedQueue
from tidegate.platform.cli.check.webhooks import check_webhooks
from tidegate.platform.core.config.webhook import WebhookSpec


def found(largest: int | None, environ: dict[str, str], **fields: Any) -> list[Finding]:
    spec = {"name": "shop", "queue": "rows", "verification": "github", "secrets": [{"env": "SHOP"}], **fields}
    queues = [CheckedQueue("events", "arn", {}, 1), CheckedQueue("rows", "arn", {}, largest)]
    return list(check_webhooks([WebhookSpec.model_validate(spec)], queues, environ))


def test_a_webhook_with_its_secret_and_the_smallest_queue_of_sqs_is_ok() -> None:
    secrets, size = found(262_144, {"SHOP": "hush-nobody-knows"})
    assert (secrets.outcome, secrets.detail) == ("ok", "1 of `github`")
    assert (size.outcome, size.detail) == ("ok", "261120 bytes")
    assert found(None, {"SHOP": "hush-nobody-knows"})[1].ok


def test_a_missing_secret_is_a_warning_because_the_server_may_be_elsewhere() -> None:
    secrets, _ = found(None, {})
    assert (secrets.outcome, secrets.detail) == ("warning", "the environment variable SHOP is not set")


def test_a_secret_s_file_that_others_may_read_is_a_warning_with_what_to_run(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    path.write_text("hush-nobody-knows")
    for mode, outcome in ((0o600, "ok"), (0o640, "ok"), (0o644, "warning"), (0o660, "warning")):
        path.chmod(mode)
        secrets, _ = found(None, {}, secrets=[{"file": str(path)}])
        assert secrets.outcome == outcome
        assert outcome == "ok" or f"(mode {mode:04o}): run `chmod 600 {path}`" in secrets.detail


def test_a_queue_that_accepts_less_than_a_webhook_fails() -> None:
    _, size = found(262_144, {}, max_bytes=261_121)
    assert size.outcome == "failed"
    assert "accepts messages of 262144 bytes" in size.detail


def test_a_queue_that_does_not_answer_has_its_own_finding() -> None:
    assert [finding.check.id for finding in found(None, {}, queue="elsewhere")] == ["webhook.secrets"]
