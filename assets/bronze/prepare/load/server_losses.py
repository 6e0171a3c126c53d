"""Files that were being read when the Spark server was lost: read in ever smaller sets, and alone at last set apart.

A note is a manifest like any other: it waits in the inbox beside the hints of its files, is taken with them, and goes
with them. Only who has seen the server go writes one, so a run that is killed blames no file.
"""

from __future__ import annotations

from collections.abc import Sequence

from tidegate.assets.bronze.prepare.formats.format import SourceFile
from tidegate.platform.core.bronze.hint import LOST, LOST_ALONE, Hint
from tidegate.platform.core.bronze.manifest import Manifest
from tidegate.platform.core.bronze.plan import Candidate, Plan, candidate_hints
from tidegate.resources.lake import Table
from tidegate.resources.spark.session import SparkUnreachable

#: Sets that files with as many losses are read in: of ten thousand, the one at fault is alone after two more.
_SETS = 100
#: Losses while a file was read alone, after which it is at fault.
_MOST_ALONE = 2


class ServerLost(SparkUnreachable):
    """The Spark server went, or was started anew, while it read files."""


def server_lost(table: Table, files: Sequence[SourceFile]) -> ServerLost:
    """Note durably which files were being read; the error to raise."""
    name = LOST_ALONE if len(files) == 1 else LOST
    hints = [Hint(file.candidate.key, event_name=name, read=file.candidate.found.etag) for file in files]
    table.inbox.put([Manifest.new(table.text, "lost", hints)])
    such = f"{files[0].candidate.key} alone" if len(files) == 1 else f"{len(files)} files"
    return ServerLost(
        f"the Spark server was lost while it read {such} of {table.text}; its log says why. Nothing was changed: the "
        "next run reads them in smaller sets, and a file that it loses the server with twice is set apart"
    )


def sets_to_read(plan: Plan, files: Sequence[SourceFile]) -> list[Sequence[SourceFile]]:
    """The sets to read one after the other: all in one, but before them, in small ones, those that lost the server.

    The most suspect are first, for what was read before another loss was read in vain.
    """
    by_losses: dict[int, list[SourceFile]] = {}
    for file in files:
        by_losses.setdefault(len(_losses(plan, file.candidate)), []).append(file)
    sets: list[Sequence[SourceFile]] = []
    for losses, alike in sorted(by_losses.items(), reverse=True):
        size = -(-len(alike) // _SETS) if losses else len(alike)
        sets += [alike[start : start + size] for start in range(0, len(alike), size)]
    return sets


def blame(plan: Plan, candidate: Candidate) -> str | None:
    """Why a file is not read again; None if it is."""
    if _losses(plan, candidate).count(LOST_ALONE) < _MOST_ALONE:
        return None
    return (
        f"the Spark server was lost {_MOST_ALONE} times while it read this file and no other of its table. One endless "
        "line or an unclosed quote takes more memory than it has: mend the file and write it again. If the server was "
        "stopped for another reason, or has more memory now: `tidegate redrive`"
    )


def _losses(plan: Plan, candidate: Candidate) -> list[str]:
    """What the notes of the very bytes that are to be read say."""
    return [hint.event_name for hint in candidate_hints(plan, candidate) if hint.read == candidate.found.etag]
