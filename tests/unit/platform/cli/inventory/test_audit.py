"""What `tidegate inventory audit` and its asset show."""

from __future__ import annotations

import io

from rich.console import Console

from tidegate.assets.inventory.audit import audit_metadata
from tidegate.platform.cli.inventory.audit import audit_answer, print_audit
from tidegate.platform.core.storage.audits import FIELDS, Audit, AuditFinding, AuditPlace, AuditReport, unlisted_fields

FULL = dict.fromkeys(FIELDS, 1)
ROWS = "FROM bronze.objects AS stored WHERE stored.bucket = 'acme'"
REPORT = AuditReport(
    [
        AuditFinding(
            Audit("outside", "acme", ROWS),
            1200,
            3 << 30,
            [AuditPlace("acme/tmp/", 1200, 3 << 30, "s3://a", "s3://b")],
        ),
        AuditFinding(
            Audit("lone_delete_markers", "", ROWS), 1, 0, [AuditPlace("acme", 1, 0, "s3://acme/x", "s3://acme/x")]
        ),
    ],
    unlisted_fields([{"bucket": "acme", **FULL, "encryption_status": 0}]),
)


def test_findings_are_printed_with_examples_and_a_query_on_one_line() -> None:
    console = Console(file=io.StringIO(), width=40)
    print_audit(console, REPORT, 1)
    lines = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
    assert lines[:4] == [
        "outside (acme): 1,200 objects below no table's prefix, 3.000 GiB",
        "  most in: acme/tmp/ (1,200)",
        "  such as: s3://a s3://b",
        f"  SELECT bucket, key, version_id, size {ROWS}",
    ]
    rest = " ".join(" ".join(lines[4:]).split())
    assert "and 1 more findings: --limit shows more" in rest
    nothing = rest.partition("nothing found: ")[2].partition(" WARNING")[0]
    assert "noncurrent" in nothing
    assert "unencrypted" not in nothing
    assert "WARNING: the inventory of acme does not list EncryptionStatus" in rest


def test_programs_and_the_page_get_what_people_get() -> None:
    answer = audit_answer(REPORT, 1)
    assert [(finding.audit, finding.of, finding.objects, finding.bytes) for finding in answer.findings] == [
        ("outside", "acme", 1200, 3 << 30)
    ]
    assert (answer.more, answer.not_listed[0].field, answer.not_listed[0].audits) == (
        1,
        "EncryptionStatus",
        ("unencrypted",),
    )
    page = audit_metadata(REPORT, "tidegate inventory audit objects")
    assert (page["findings"], page["outside"], page["lone_delete_markers"], page["noncurrent"]) == (2, 1200, 1, 0)
    assert "unencrypted" not in page
    assert page["not_listed"].value.startswith("- the inventory of acme does not list EncryptionStatus")
    assert page["audits"].records[0].data["sql"] == REPORT.findings[0].audit.sql == answer.findings[0].sql
