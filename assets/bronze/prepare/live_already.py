"""Files that a registered table has although no batch added them: DELETE, UPDATE and OPTIMIZE write such files."""

from __future__ import annotations

from tidegate.platform.core.bronze.batch_draft import BatchDraft
from tidegate.platform.core.keys.own_paths import log_path
from tidegate.resources.lake import Table


def live_already(table: Table, work: BatchDraft) -> set[str]:
    """Return the keys of the candidates that are live in the table. The table is read only after a void batch.

    S3 reports such a file like any other file. A batch with the file is void because the file is live already, and the
    file's hint returns to the inbox. Without this check each later batch would be void too.
    """
    if work.previous is None or work.previous.outcome != "void":
        return set()
    paths = {log_path(candidate.key, table.key.prefix): candidate.key for candidate in work.plan.candidates}
    return {paths[path] for path in table.delta.live_entries(work.birth.location, list(paths))}
