"""`tidegate inventory audit` prints which objects of all inventories are not as they should be."""

from __future__ import annotations

from rich.console import Console

from tidegate.platform.cli.answers.answer import print_answer
from tidegate.platform.cli.answers.inventory import AuditAnswer, FoundObjects, FoundPlace, UnlistedField
from tidegate.platform.cli.inventory.cost import explain_error
from tidegate.platform.core.inventory.manifest import InventoryError
from tidegate.platform.core.storage.audits import KINDS, AuditFinding, AuditReport
from tidegate.platform.core.storage.prices import GIGABYTE
from tidegate.platform.inventory.audits import audit_of
from tidegate.platform.lake.lake import Lake
from tidegate.platform.query.table_lookup import table_named


def run_audit(
    console: Console, lake: Lake, name: str, configuration: str, limit: int, *, as_json: bool = False
) -> None:
    """Print what the audits of a table of inventories find, the most objects first.

    Args:
        name: SQL name, key or `s3://` prefix of the table of inventories.
        configuration: the one that counts where a bucket has several. Empty: no bucket may have several.
        limit: maximum number of findings.
        as_json: print only one JSON object.

    Raises:
        CommandError: it is not such a table, or has a bucket twice.
    """
    try:
        report = audit_of(lake, table_named(lake, name), configuration)
    except InventoryError as error:
        raise explain_error(error) from None
    if as_json:
        print_answer(console, audit_answer(report, limit))
    else:
        print_audit(console, report, limit)


def audit_answer(report: AuditReport, limit: int) -> AuditAnswer:
    """Return findings for programs.

    Args:
        report: all findings.
        limit: maximum number of findings.
    """
    return AuditAnswer(
        findings=tuple(map(_answer_finding, report.findings[:limit])),
        more=max(0, len(report.findings) - limit),
        not_listed=tuple(
            UnlistedField(
                field=missing_field.field, buckets=tuple(missing_field.buckets), audits=tuple(missing_field.kinds)
            )
            for missing_field in report.unlisted
        ),
    )


def print_audit(console: Console, report: AuditReport, limit: int) -> None:
    """Print findings for people.

    Args:
        report: all findings.
        limit: maximum number of findings.
    """
    for finding in report.findings[:limit]:
        of = f" ({finding.audit.of})" if finding.audit.of else ""
        size = "" if finding.audit.kind == "lone_delete_markers" else f", {finding.bytes / GIGABYTE:,.3f} GiB"
        lines = [
            f"{finding.audit.kind}{of}: {finding.objects:,} {KINDS[finding.audit.kind]}{size}",
            f"  most in: {', '.join(f'{place.place} ({place.objects:,})' for place in finding.places)}",
            f"  such as: {' '.join(finding.examples)}",
            f"  {finding.audit.sql}",
        ]
        for line in lines:
            console.out(line, highlight=False)
    if (more := len(report.findings) - limit) > 0:
        console.print(f"and {more} more findings: --limit shows more")
    if nothing := [kind for kind, objects in report.objects.items() if not objects]:
        console.print(f"nothing found: {', '.join(nothing)}")
    for field in report.unlisted:
        console.print(f"WARNING: {field}")


def _answer_finding(finding: AuditFinding) -> FoundObjects:
    return FoundObjects(
        audit=finding.audit.kind,
        of=finding.audit.of,
        objects=finding.objects,
        bytes=finding.bytes,
        places=tuple(FoundPlace(place=at.place, objects=at.objects, bytes=at.bytes) for at in finding.places),
        examples=tuple(finding.examples),
        sql=finding.audit.sql,
    )
