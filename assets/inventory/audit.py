"""The asset that audits the objects in a table of inventories."""

from typing import Any

import dagster as dg

from tidegate.assets.inventory.report_asset import report_asset, report_command
from tidegate.assets.keys import LakeNames
from tidegate.assets.presentation.markdown import list_lines, shown_lines
from tidegate.platform.core.config.inventories import StorageReportsSpec
from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.core.storage.audits import KINDS, AuditFinding, AuditReport
from tidegate.platform.core.storage.prices import GIGABYTE
from tidegate.platform.inventory.audits import audit_of
from tidegate.resources.lake_resource import LakeResource


def build_audit(names: LakeNames, spec: TableSpec, reports: StorageReportsSpec) -> dg.AssetsDefinition:
    """Build the audits of the objects in a table of inventories."""

    @report_asset(
        names,
        spec,
        "audit",
        "Which objects are not encrypted, not replicated, noncurrent, or unknown to the lake's tables.",
    )
    def audit(lake: LakeResource) -> dg.MaterializeResult[Any]:
        found = audit_of(lake.open(spec.table_key.encode()), spec.table_key.encode(), reports.configuration or "")
        return dg.MaterializeResult(metadata=audit_metadata(found, report_command("audit", spec, reports)))

    return audit


def audit_metadata(report: AuditReport, command: str) -> dict[str, Any]:
    """Return what audits found as metadata.

    Args:
        report: the findings, those with the most objects first.
        command: prints them.
    """
    return {
        "findings": len(report.findings),
        **report.objects,
        **({"not_listed": list_lines(report.unlisted)} if report.unlisted else {}),
        **shown_lines("audits", report.findings, _record, command),
    }


def _record(finding: AuditFinding) -> dict[str, Any]:
    return {
        "found": KINDS[finding.audit.kind],
        "of": finding.audit.of,
        "objects": finding.objects,
        "GiB": round(finding.bytes / GIGABYTE, 3),
        "most in": ", ".join(f"{place.place} ({place.objects:,})" for place in finding.places),
        "examples": " ".join(finding.examples),
        "sql": finding.audit.sql,
    }
