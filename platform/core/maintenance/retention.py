"""Which objects under the lake root may be deleted, and after how many days."""

from __future__ import annotations

from tidegate.platform.core.config.lake import MaintainSpec

#: Days for which a copy is kept that a run made of an object for Spark. No run takes a day, and no batch names it.
STAGING_DAYS = 7
#: Folders of what waits for a redrive, was redriven, or did not fit. The lake works without them, but their content may
#: be nowhere else.
QUARANTINE = ("quarantine/messages", "quarantine/redriven", "quarantine/routes", "quarantine/rows")


def retentions(spec: MaintainSpec) -> dict[str, int]:
    """Return the days for which objects are kept, by folder below the lake root.

    Every other folder is kept for ever. Batches, births and ledgers are the memory of what was loaded. The inbox, the
    outbox, `after/`, `signals/` and `waiting/` have work that waits. `rows/` has sources. `forgotten/` keeps persons
    out.
    """
    kept = {"intake": spec.intake, "staging": STAGING_DAYS}
    return kept if spec.quarantine is None else {**kept, **dict.fromkeys(QUARANTINE, spec.quarantine)}
