"""Check of CloudWatch: metrics may be published."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from botocore.exceptions import ClientError

from tidegate.platform.cli.check.findings import Finding, call_permitted, make_finding
from tidegate.platform.cli.check.known_checks import Check
from tidegate.platform.core.health.metrics import NAMESPACE
from tidegate.platform.lake.aws.answers import code_of

#: CloudWatch refuses metrics older than two weeks. If publishing is allowed, it refuses this probe for its age, and
#: neither stores nor bills it.
_TOO_OLD = timedelta(days=30)


def check_metrics(cloudwatch: Any) -> Finding:
    """Check that metrics can be published.

    Args:
        cloudwatch: the client.
    """

    def publishable() -> str:
        datum = {"MetricName": "Check", "Timestamp": datetime.now(UTC) - _TOO_OLD, "Value": 0.0}
        try:
            call_permitted(
                "cloudwatch:PutMetricData",
                f"the namespace {NAMESPACE}",
                cloudwatch.put_metric_data,
                Namespace=NAMESPACE,
                MetricData=[datum],
            )
        except ClientError as error:
            if not code_of(error).startswith("InvalidParameter"):
                raise
        return "allowed"

    return make_finding(Check.METRICS_PUBLISH, "CloudWatch", publishable)
