"""Step 2, prepare: turn candidates into the adds of a batch."""

from __future__ import annotations

from tidegate.assets.bronze.prepare.load.load import prepare_load
from tidegate.assets.bronze.prepare.prepared import PreparedBatch
from tidegate.assets.bronze.prepare.register import prepare_register
from tidegate.platform.core.bronze.batch_draft import BatchDraft
from tidegate.resources.lake import Table


def prepare(table: Table, work: BatchDraft) -> PreparedBatch:
    """Prepare the candidates of a draft: register their files, or load their rows.

    Raises:
        NotWritable: all that is left waits for a permission that is missing.
    """
    prepared = prepare_register(table, work) if work.birth.registered else prepare_load(table, work)
    prepared.require_progress()
    return prepared
