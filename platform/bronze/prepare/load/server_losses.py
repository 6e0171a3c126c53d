"""Files that were being read when the Spark server was lost: they are read in smaller and smaller sets.

A file that is read alone when the server is lost again is quarantined in the end. A note of a loss is a manifest like
any other manifest: it waits in the inbox next to the hints of its files, is taken with them, and is deleted with them.
Only a run that sees the loss of the server writes a note, so a run that is killed blames no file.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from pyspark.errors import PySparkException

from tidegate.platform.bronze.prepare.file_access import ServerWatch
from tidegate.platform.bronze.prepare.formats.format import SourceFile
from tidegate.platform.core.bronze.hint import Hint, ServerLoss
from tidegate.platform.core.bronze.loss_quota import MAX_LOSSES
from tidegate.platform.core.bronze.manifest import Manifest, rest_of
from tidegate.platform.core.bronze.plan import Candidate, Plan, candidate_hints
from tidegate.platform.core.errors import UnavailableError
from tidegate.platform.lake.lake_root.inbox import WaitingManifest
from tidegate.platform.lake.spark.server_errors import SparkUnreachable

#: Files with equally many losses are read in this many sets. So the file at fault is alone after two more losses, even
#: among ten thousand files.
_SETS = 100
#: A file is at fault after this many losses while it was read alone.
_MAX_LOSSES_ALONE = 2
#: Condition of what the server was asked to end.
_ENDED = "OPERATION_CANCELED"


def require_server(watch: ServerWatch, files: Sequence[SourceFile]) -> None:
    """Check after a failure that the server is alive. If it was lost, record that it was reading these files.

    Raises:
        SparkUnreachable: the server was lost.
    """
    try:
        watch.delta.check_session_alive()
    except (SparkUnreachable, PySparkException) as error:
        if isinstance(error, PySparkException) and error.getCondition() == _ENDED:
            return  # The server that ends a read that takes too long ends this question, too: it is alive.
        raise server_lost(watch, files) from error


def server_lost(watch: ServerWatch, files: Sequence[SourceFile]) -> SparkUnreachable:
    """Record durably which files were being read. Returns the error to raise."""
    alone = len(files) == 1
    hints = [Hint(file.candidate.key, ServerLoss(file.candidate.found.etag, alone)) for file in files]
    watch.inbox.put([Manifest.create(watch.table_key, "lost", hints)])
    until = watch.losses.note(watch.table_key, watch.config, files=len(files))
    if until is not None:
        watch.inbox.put([Manifest.create_rest(watch.table_key, until)])
    files_text = f"{files[0].candidate.key} alone" if alone else f"{len(files)} files"
    return SparkUnreachable(
        f"the Spark server was lost while it read {files_text} of {watch.table_key}; its log says why. Nothing was "
        "changed: the next run reads them in smaller sets, and a file with which the server is lost twice is "
        "quarantined" + ("" if until is None else _resting_text(watch.table_key, until))
    )


def require_awake(table_key: str, waiting: Iterable[WaitingManifest]) -> None:
    """Check that the table does not rest after losses of the server.

    Args:
        table_key: its key, encoded.
        waiting: its manifests.

    Raises:
        UnavailableError: it rests.
    """
    until = max((rest_of(manifest.id) for manifest in waiting), default=0.0)
    if until > time.time():
        raise UnavailableError(f"no files of {table_key} are read now{_resting_text(table_key, until)}")


def _resting_text(table: str, until: float) -> str:
    return (
        f". {table} rests until {datetime.fromtimestamp(until, UTC):%Y-%m-%d %H:%M} UTC, because the server was lost "
        f"{MAX_LOSSES} times in a day while it read files of the table, and other tables need it. Look at its newest "
        "files and at the server's memory. To read the table before then, materialize its partition by hand"
    )


def sets_to_read(plan: Plan, files: Sequence[SourceFile]) -> list[Sequence[SourceFile]]:
    """Return the sets to read one after the other.

    The files without a loss are one set, which comes last. Before it come small sets of the files that were being read
    when the server was lost. The most suspect files are first, because a read before another loss is in vain.
    """
    by_losses: dict[int, list[SourceFile]] = {}
    for file in files:
        by_losses.setdefault(len(losses_of(plan, file.candidate)), []).append(file)
    sets: list[Sequence[SourceFile]] = []
    for losses, group in sorted(by_losses.items(), reverse=True):
        size = -(-len(group) // _SETS) if losses else len(group)
        sets += [group[start : start + size] for start in range(0, len(group), size)]
    return sets


def quarantine_reason(plan: Plan, candidate: Candidate) -> str | None:
    """Return why a file is not read again, or None if it is read."""
    if sum(loss.alone for loss in losses_of(plan, candidate)) < _MAX_LOSSES_ALONE:
        return None
    return (
        f"the Spark server was lost {_MAX_LOSSES_ALONE} times while it read this file and no other of its table. One "
        "endless line or an unclosed quote takes more memory than it has: fix the file and write it again. If the "
        "server was stopped for another reason, or has more memory now: `tidegate redrive`"
    )


def losses_of(plan: Plan, candidate: Candidate) -> list[ServerLoss]:
    """Return what the notes record for exactly the bytes that will be read now, without reads that took too long."""
    causes = [hint.cause for hint in candidate_hints(plan, candidate)]
    return [
        cause
        for cause in causes
        if isinstance(cause, ServerLoss) and cause.etag == candidate.found.etag and not cause.late
    ]
