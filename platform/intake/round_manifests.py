"""Decides which hints of a round are gathered with those of other tables, and when these go to the inbox. Pure.

A table with a window needs its hints in the inbox when the window ends, and not before. A manifest for each table and
round would be most of what thousands of tables cost, so their hints are gathered in a few objects a round.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil
from zlib import crc32

from tidegate.platform.core.bronze.hint import Hint
from tidegate.platform.core.bronze.manifest import Manifest, split_into_manifests
from tidegate.platform.core.bronze.plan import BATCH_BYTES
from tidegate.platform.core.bronze.window import shortest_wait
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.config.table_defaults import TableDefaults
from tidegate.platform.core.keys.table_key import TableKey
from tidegate.platform.intake.due_tables import COLD_HINTS

#: Seconds of the shortest window for which hints are gathered. In shorter ones most tables of a fleet get few objects,
#: and the further batches of these cost what gathering saves.
MIN_WINDOW = 120
#: Seconds for which hints are gathered, at most. So little is ever gathered, whatever the windows are.
MAX_SECONDS = 300.0
#: Parts of the tables, which are dealt one after another. If all were dealt at once, their windows would end at once.
PHASES = 8
#: Tables that share an object, at least. Fewer have a manifest each, as all tables of a small lake.
MIN_TABLES = 3
#: A round of which a table gets more than this part of a batch is not gathered: the batch could be full before the end
#: of the window.
BATCH_PARTS = 100


@dataclass
class RoundManifests:
    """The manifests of a round.

    Attributes:
        direct: those that are written to the inbox.
        gathered: those that are gathered, by the epoch seconds at which they are dealt.
    """

    direct: list[Manifest] = field(default_factory=list)
    gathered: dict[int, list[Manifest]] = field(default_factory=dict)


def may_wait(settings: TableDefaults, hints: Sequence[Hint], every: float) -> bool:
    """Return whether the hints of a table need not be in the inbox at the next tick.

    Args:
        settings: those of the table.
        hints: those of a round.
        every: seconds from one tick of the intake to the next.
    """
    size = sum(hint.size or 0 for hint in hints)
    is_small = len(hints) * BATCH_PARTS <= settings.max_files and size * BATCH_PARTS <= BATCH_BYTES
    # Files of unknown size may be large.
    is_small = is_small and sum(hint.size is None for hint in hints) <= COLD_HINTS
    return is_small and settings.window >= MIN_WINDOW and shortest_wait(settings.window, every) > every


def deal_time(table: str, window: float, now: float) -> int:
    """Return when hints of a table that are gathered now are dealt, in epoch seconds: before its window ends.

    A table is dealt once in each window, or several times if the window is long. The times are the same for all hints
    of the table. So when the window of the oldest one ends, those of the whole window are dealt, and are one batch.

    Args:
        table: table key.
        window: seconds.
        now: epoch seconds.
    """
    cycle = window / ceil(window / MAX_SECONDS)
    phase = crc32(table.encode()) % PHASES * cycle / PHASES
    return int(now + cycle - (now - phase) % cycle)


def intake_manifests(config: LakeConfig, hints: Mapping[TableKey, Sequence[Hint]]) -> list[Manifest]:
    """Return the manifests of hints by table."""
    return [
        manifest
        for table, found in hints.items()
        for manifest in split_into_manifests(table.encode(), "intake", found, config.settings(table).max_files)
    ]


def divide_round(
    hints: Mapping[TableKey, Sequence[Hint]], config: LakeConfig, unborn: Collection[TableKey], now: float
) -> RoundManifests:
    """Make the manifests of a round, and decide which are gathered.

    Args:
        hints: hints by table.
        unborn: tables that nothing but their hints in the inbox makes known.
        now: epoch seconds.
    """
    divided = RoundManifests()
    for table, found in hints.items():
        settings, made = config.settings(table), intake_manifests(config, {table: found})
        if table not in unborn and may_wait(settings, found, config.intake.every):
            divided.gathered.setdefault(deal_time(table.encode(), settings.window, now), []).extend(made)
        else:
            divided.direct += made
    for at in [at for at, made in divided.gathered.items() if len(made) < MIN_TABLES]:
        divided.direct += divided.gathered.pop(at)
    return divided
