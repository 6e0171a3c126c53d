"""Full dumps that delete nothing yet: rows of them are in quarantine, or they wait for the rest of their files."""

from __future__ import annotations

from pyspark.sql import functions as F

from tidegate.platform.core.bronze.ledger import Status
from tidegate.platform.core.silver.fates.incomplete_dump import MAX_NAMES
from tidegate.platform.core.wording import first_few
from tidegate.platform.lake.lake import Lake
from tidegate.platform.silver.audit.key_rows import KeyRows
from tidegate.platform.silver.audit.orders import Orders


def unfinished_dumps(lake: Lake, rows: KeyRows, order: str) -> tuple[str, ...]:
    """Returns a sentence for each dump that is not whole and newer than an order, and one for files that wait.

    Args:
        lake: reads the tables.
        rows: queries of a table of full dumps.
        order: of the newest row of a key, as JSON.
    """
    spec = rows.work.table.spec
    found = rows.incomplete_dumps(lake, rows.work.n)
    orders = Orders.of(lake.delta.session, rows.order_type, [order, *(dump.order for dump in found)] if found else [])
    newer = sorted((dump for dump in found if orders.rank(dump.order) < orders.rank(order)), key=lambda dump: -dump.n)
    sentences = [dump.sentence(spec.name, is_discreet=False) for dump in newer[:MAX_NAMES]]
    if spec.completion and (waits := _waiting(rows)):
        sentences.append(waits)
    return tuple(sentences)


def _waiting(rows: KeyRows) -> str | None:
    """Returns which files and signals wait, and why. None if nothing waits."""
    table = rows.work.table
    states = table.ledger.last_states(rows.work.recorded).where(F.col("status") == str(Status.WAITING))
    every = F.array_sort(F.collect_list(F.struct("key", "reason")))
    (found,) = states.agg(F.count(F.lit(1)).alias("files"), F.slice(every, 1, MAX_NAMES).alias("first")).collect()
    if not found["files"]:
        return None
    named = [f"{row['key']}: {row['reason']}" for row in found["first"]]
    return (
        f"a dump is not complete: {found['files']} files or signals wait, so its rows are not in bronze and it deletes "
        f"nothing in silver.{table.spec.name} ({'; '.join(first_few(named, MAX_NAMES, found['files']))})"
    )
