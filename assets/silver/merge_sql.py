"""The SQL of a merge: the newest row of each key, and what it changes in the silver table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tidegate.assets.silver.aligned import aligned
from tidegate.assets.silver.changes import Changes
from tidegate.assets.silver.pending import Pending
from tidegate.platform.core.schema.column_types import Field, quoted
from tidegate.platform.core.schema.table_schema import TableSchema
from tidegate.resources.lake import CHANGED_AT, CHANGED_BATCH, DELETED
from tidegate.resources.spark.delta import Merging


def build_merge(work: Pending, changes: Changes, columns: Sequence[Field], silver: TableSchema) -> Merging:
    """Returns both forms of a merge: Delta's MERGE, and the query and condition of the keyed merge if it may do it.

    Args:
        work: what is pending.
        changes: the rows to merge.
        columns: bronze's columns that silver takes.
        silver: the columns of the silver table, after it was created or widened.
    """
    keys = ", ".join(quoted(key) for key in work.spec.keys)
    order = quoted(work.spec.order)
    # On lines of its own: it may end in a comment.
    dead = f"coalesce((\n{work.spec.delete_when}\n), false)" if work.spec.delete_when else "false"
    places = (
        f"SELECT *, row_number() OVER (PARTITION BY {keys} ORDER BY {order} DESC NULLS LAST, "
        f"_tidegate_n DESC, _tidegate_path DESC, _tidegate_row DESC) AS _tidegate_place FROM {changes.view}"
    )
    own = {
        DELETED: f"{dead} AS {DELETED}",
        CHANGED_BATCH: f"_tidegate_n AS {CHANGED_BATCH}",
        CHANGED_AT: f"current_timestamp() AS {CHANGED_AT}",
    }
    # What bronze has by the type that silver has it in; a new silver table has bronze's.
    types = {field.name: (field.type, (silver.named(field.name) or field).type) for field in columns}

    def given(name: str, side: str = "", kept: str | None = None) -> str:
        return aligned(*types[name], f"{side}{quoted(name)}", kept)

    def query(values: Iterable[str]) -> str:
        return f"SELECT {', '.join([*values, *own.values()])} FROM ({places}) WHERE _tidegate_place = 1"

    rows = query(f"{given(name)} AS {quoted(name)}" for name in types)
    same = " AND ".join(f"t.{quoted(key)} <=> s.{quoted(key)}" for key in work.spec.keys)
    # Batches of another table or generation are numbered anew: theirs say nothing against these.
    anew = work.mark is None and work.silver.files > 0
    later = "" if anew else f" AND s.{CHANGED_BATCH} >= t.{CHANGED_BATCH}"
    newer = (
        f"s.{order} > t.{order} OR (t.{order} IS NULL AND s.{order} IS NOT NULL) OR (s.{order} <=> t.{order}{later})"
    )
    assigned = ", ".join(
        [
            *(f"t.{quoted(name)} = {given(name, 's.', f't.{quoted(name)}')}" for name in types),
            *(f"t.{name} = s.{name}" for name in own),
        ]
    )
    targets = ", ".join(quoted(name) for name in (*types, *own))
    values = ", ".join([*(given(name, "s.") for name in types), *(f"s.{name}" for name in own)])
    # A full merge that follows removals makes silver what bronze's live rows say, older rows included.
    rebuilds = changes.why_full is not None and work.spec.on_removed == "full"
    # So does one that follows a redrive or a rebuild, but for the rows of before a reset (batch 0): of those bronze
    # says nothing.
    ours = f"t.{CHANGED_BATCH} > 0"
    if rebuilds:
        matched, gone = "WHEN MATCHED", "WHEN NOT MATCHED BY SOURCE THEN DELETE"
    elif changes.replaced:
        matched, gone = f"WHEN MATCHED AND ({ours} OR {newer})", f"WHEN NOT MATCHED BY SOURCE AND {ours} THEN DELETE"
    else:
        matched, gone = f"WHEN MATCHED AND ({newer})", ""
    renumbered = f"THEN UPDATE SET t.{CHANGED_BATCH} = 0" if anew and not rebuilds else ""
    clauses = [
        f"{matched} THEN UPDATE SET {assigned}",
        f"WHEN MATCHED {renumbered}" if renumbered else "",
        f"WHEN NOT MATCHED THEN INSERT ({targets}) VALUES ({values})",
        f"WHEN NOT MATCHED BY SOURCE {renumbered}" if renumbered else "",
        gone,
    ]
    raw = query(map(quoted, types))
    statement = f"MERGE INTO delta.`{work.location}` t USING ({raw}) s ON {same} {' '.join(filter(None, clauses))}"
    # Of a merge of all rows nobody knows how many there are. An empty table takes them in the short way, however many.
    short = not gone and not renumbered and (changes.why_full is None or work.silver.files == 0)
    # A field that bronze lacks stays as it is in the row that is replaced.
    shared = (Field(name, has) for name, (_, has) in types.items())
    short = short and not any(TableSchema(tuple(columns)).missing(shared))
    return Merging(rows, work.spec.keys, newer if short else None, int(changes.volume["rows"]), statement)
