"""Which of the two ways the last merge of a silver table took."""

from __future__ import annotations

import json

from tests.support.log_store.delta_log import DeltaLog, commit_file
from tidegate.platform.testing import TestLake


def is_deltas_merge(lake: TestLake, table: str) -> bool:
    """Return whether the newest commit of a silver table is one of Delta's own MERGE.

    Only that one measures its time. The log is read by hand: `DESCRIBE HISTORY` is a Spark job.
    """
    log = DeltaLog(lake.clients, lake.lake.store.uri("silver", table))
    actions = map(json.loads, log.read(commit_file(log.versions()[-1])).splitlines())
    (commit,) = (action["commitInfo"] for action in actions if "commitInfo" in action)
    return "executionTimeMs" in commit.get("operationMetrics", {})
