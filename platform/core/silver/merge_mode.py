"""Merge modes: which rows of a silver table a merge replaces, renumbers and deletes.

A row of silver has the number of the batch that brought it (`_changed_batch`). A number from another bronze table, or
from before a reset, does not compare with the present numbers: the first merge after a reset sets it to 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from tidegate.platform.core.config.silver_columns import CHANGED_BATCH

#: Rows that came from this bronze table, as it has been since its last reset.
_IS_FROM_THIS_BRONZE = f"t.{CHANGED_BATCH} > 0"
_UPDATE = "THEN UPDATE SET {update}"
_INSERT = "WHEN NOT MATCHED THEN INSERT {insert}"
_WITHOUT_SOURCE = "WHEN NOT MATCHED BY SOURCE"
_RENUMBER = f"THEN UPDATE SET t.{CHANGED_BATCH} = 0"


class MergeMode(Enum):
    """How a merge treats the rows that silver has. The value of a mode is its clauses of MERGE, in their order."""

    #: A newer row replaces an older row of its key. Nothing is deleted.
    UPSERT = (f"WHEN MATCHED AND ({{newer}}) {_UPDATE}", _INSERT)
    #: Silver has rows of another bronze table, or of bronze before a reset: they stay, with batch number 0.
    AFTER_RESET = (
        f"WHEN MATCHED AND ({{newer}}) {_UPDATE}",
        f"WHEN MATCHED {_RENUMBER}",
        _INSERT,
        f"{_WITHOUT_SOURCE} {_RENUMBER}",
    )
    #: Rows of files left bronze: rows of this bronze become what bronze has now, older rows included. Rows from before
    #: a reset stay, because bronze does not have them any more.
    REREAD = (
        f"WHEN MATCHED AND ({_IS_FROM_THIS_BRONZE} OR {{newer}}) {_UPDATE}",
        _INSERT,
        f"{_WITHOUT_SOURCE} AND {_IS_FROM_THIS_BRONZE} THEN DELETE",
    )
    #: Silver becomes what bronze has now, older rows included, and loses all other rows.
    FULL = (f"WHEN MATCHED {_UPDATE}", _INSERT, f"{_WITHOUT_SOURCE} THEN DELETE")
    #: Keys with a row of batch `since` or later become what bronze has now. The source has no other key. Rows from
    #: before a reset stay, unless the source has a newer row.
    #: Delta 4.4 takes a row `t` with a NULL key and no row `s` for a matched row, and then finds no clause for it. That
    #: the row `s` has a batch is false there.
    SINCE = (
        f"WHEN MATCHED AND s.{CHANGED_BATCH} IS NOT NULL AND ({_IS_FROM_THIS_BRONZE} OR {{newer}}) {_UPDATE}",
        _INSERT,
        f"{_WITHOUT_SOURCE} AND t.{CHANGED_BATCH} >= {{since}} THEN DELETE",
    )

    def clauses(
        self,
        *,
        newer: str,
        update: str,
        insert: str,
        truncated: str | None = None,
        since: int | None = None,
        late: str | None = None,
        emptied: str | None = None,
    ) -> str:
        """Return the clauses of a MERGE of source rows `s` into a silver table `t`.

        Every source row is newer than each truncate, so a row of the table that a truncate deletes is replaced if its
        key is in the source.

        Args:
            newer: condition, true where `s` is newer than `t`.
            update: assignments that make `t` the row `s`.
            insert: columns and `VALUES` of a new row.
            truncated: condition of the rows `t` that a truncate deletes. None if there is no truncate.
            since: the first batch of a merge in the mode `SINCE`. Other modes have none.
            late: a clause for rows `t` with an older row `s`. None if such a row `s` changes nothing.
            emptied: a clause for rows `t` without a row `s`, that keep no value of a truncated row. None without one.
        """
        deletes = () if truncated is None else (f"{_WITHOUT_SOURCE} AND ({truncated}) THEN DELETE",)
        # Of the clauses for rows without a source row, the first one whose condition is true counts.
        first = next((n for n, clause in enumerate(self.value) if clause.startswith(_WITHOUT_SOURCE)), len(self.value))
        clauses = [clause.format(newer=newer, update=update, insert=insert, since=since) for clause in self.value]
        matched = [clauses[0], *filter(None, [late]), *clauses[1:first]]
        return " ".join([*matched, *deletes, *filter(None, [emptied]), *clauses[first:]])

    def newer_condition(self, order: Sequence[str], tie: str = "true") -> str:
        """Return the condition that a row `s` is newer than the row `t` of its key.

        The columns of the order are compared one after the other. If all of them are equal, the row of the later batch
        is newer. A row of the same batch is newer, too, so that a batch can be merged again. NULL is older than every
        value.

        Args:
            order: the columns or nested fields of the order, quoted for SQL; the first one counts first.
            tie: condition over rows of an equal order. It raises an error if they may not differ.
        """
        equal = [] if self is MergeMode.AFTER_RESET else [f"s.{CHANGED_BATCH} >= t.{CHANGED_BATCH}"]
        # A merge of all of bronze has both rows in its source, where they were compared.
        if tie != "true" and self in (MergeMode.UPSERT, MergeMode.AFTER_RESET):
            equal.append(tie)
        condition = " AND ".join(equal)
        for column in reversed(order):
            rest = f" AND ({condition})" if " OR " in condition else f" AND {condition}" if condition else ""
            condition = (
                f"s.{column} > t.{column} OR (t.{column} IS NULL AND s.{column} IS NOT NULL) "
                f"OR (s.{column} <=> t.{column}{rest})"
            )
        return condition


def merge_mode(*, is_full: bool, is_reread: bool, has_other_rows: bool, mirrors_removals: bool) -> MergeMode:
    """Choose the mode of a merge.

    Args:
        is_full: the merge reads all of bronze, not only the batches since the mark.
        is_reread: rows of files were replaced in bronze, or left it.
        has_other_rows: silver has rows, and none of them is of this bronze table as it is since its last reset.
        mirrors_removals: `on_removed` is `full` in lake.yaml: a row that leaves bronze leaves silver.
    """
    if is_full and mirrors_removals:
        return MergeMode.FULL
    if is_reread:
        return MergeMode.REREAD
    if has_other_rows:
        return MergeMode.AFTER_RESET
    return MergeMode.UPSERT
