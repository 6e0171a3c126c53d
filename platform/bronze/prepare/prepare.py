"""Step 2, prepare: turn candidates into the adds of a batch."""

from __future__ import annotations

from collections.abc import Mapping

from tidegate.platform.bronze.completion.incomplete_datasets import failures, record_entering_signals, withdraw
from tidegate.platform.bronze.prepare.inventories.prepare import InventoryLoad
from tidegate.platform.bronze.prepare.load.load import Load
from tidegate.platform.bronze.prepare.outputs import Concatenate, Convert, OutputLoad, Repartition
from tidegate.platform.bronze.prepare.permission_guard import require_access
from tidegate.platform.bronze.prepare.register import prepare_register
from tidegate.platform.bronze.prepared_batch import PreparedBatch, keep_named_folders
from tidegate.platform.core.bronze.plan import BatchDraft
from tidegate.platform.core.config.drift import output_mode_problem
from tidegate.platform.core.errors import ConfigurationError
from tidegate.platform.core.keys.file_format import OutputMode
from tidegate.platform.lake.lake import Table

_OUTPUT_LOADS: Mapping[OutputMode, type[OutputLoad]] = {
    "repartition": Repartition,
    "convert": Convert,
    "concatenate": Concatenate,
}


def prepare(table: Table, work: BatchDraft) -> PreparedBatch:
    """Prepare the candidates of a draft.

    A dataset with a part that cannot be added is withdrawn from the draft's plan.

    Raises:
        NotWritable: all that is left waits for a permission that is missing.
        StoreError: S3 denies access to every object.
        ConfigurationError: as for `prepare_as_born`.
    """
    prepared = prepare_as_born(table, work)
    while failed := failures(work.plan, prepared):
        # The rows of several files are staged together, so the other datasets are prepared again without these.
        for failure in failed:
            withdraw(work.plan, failure)
        keep_named_folders(table.lake.store, prepared, [row for failure in failed for row in failure.rows])
        prepared = prepare_as_born(table, work)
    record_entering_signals(work.plan, prepared)
    if prepared.all_denied:
        require_access(table, prepared.denied)
    prepared.require_progress()
    return prepared


def prepare_as_born(table: Table, work: BatchDraft) -> PreparedBatch:
    """Prepare candidates in the mode of the birth: register their files, load their rows, or write them to an output.

    Raises:
        ConfigurationError: the table was born with an output and `lake.yaml` has none, or the other way round.
    """
    output = table.spec.output
    if work.birth.output != table.spec.output_mode:
        raise ConfigurationError(output_mode_problem(table.spec, work.birth))
    if output is not None and work.birth.output is not None:
        return _OUTPUT_LOADS[work.birth.output](table, work, output).run()
    if table.spec.has_inventories:
        return InventoryLoad(table, work).run()
    return prepare_register(table, work) if work.birth.registered else Load(table, work).run()
