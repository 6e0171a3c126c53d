"""Files that a registered table has although no batch of ours added them: DELETE, UPDATE and OPTIMIZE write them."""

from __future__ import annotations

from tidegate.platform.core.bronze.batch_draft import BatchDraft
from tidegate.platform.core.keys.own_paths import log_path
from tidegate.resources.lake import Table


def live_already(table: Table, work: BatchDraft) -> set[str]:
    """Keys of the candidates that are live in the table; asked only after a batch that was void.

    S3 tells of such a file as of any other. A batch with it is void, for it is live already; its hint goes back to the
    inbox, and without this the next batch would be void as well, and so on for ever.
    """
    if work.previous is None or work.previous.outcome != "void":
        return set()
    paths = {log_path(one.key, table.key.prefix): one.key for one in work.plan.candidates}
    return {paths[path] for path in table.delta.live_entries(work.birth.location, list(paths))}
