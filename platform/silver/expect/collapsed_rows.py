"""Rows that silver takes for one without a word, and what else gives wrong rows while every merge succeeds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.core.events.row_queue import ROW_COLUMNS
from tidegate.platform.core.files.misread_text import is_misread
from tidegate.platform.core.keys.file_format import FORMATS
from tidegate.platform.core.markdown import Markdown, code, join_texts, sentence
from tidegate.platform.core.schema.column_types import Field, Simple, fold_name
from tidegate.platform.core.silver.rules import MergeRules
from tidegate.platform.core.wording import number_of

COLLAPSE_DESCRIPTION = (
    "No changed row has a NULL in its key, no key has several inserts, `order` is not text by inference (as text, 10 "
    "is before 9), no text was read in a wrong encoding, columns do not join many at once, each column that `silver` "
    "names has been in a file, and no field has the name of a column of silver's own."
)
#: So many new columns in one run are usually rows that were taken for a header, or another file's columns.
_MIN_MANY_COLUMNS = 20
#: Fewer are suspicious, too, if they are at least half as many as silver had.
_SEVERAL = 3
_MAX_NAMED = 10


@dataclass(frozen=True)
class Collapse:
    """What a merge met that makes of several rows one, or of one column another.

    Attributes:
        null_keys: rows with a NULL in their key, at least. Silver keeps one row of such a key.
        reinserted: keys with several different inserts and no delete in one merge, at least. Such a key is none.
        text_order: columns of `order` whose type is text, and was inferred: as text, 10 is before 9.
        misread: rows of text that was read in another encoding than its own, at least.
        misread_columns: columns of silver whose name was read so.
        joined: columns that silver got in one merge, if they are suspiciously many.
        awaited: columns that `silver` names and no file has had yet. They are NULL.
        left_out: fields of `row` that silver does not have, because columns of its own have their names.
    """

    null_keys: int = 0
    reinserted: int = 0
    text_order: tuple[str, ...] = ()
    misread: int = 0
    misread_columns: tuple[str, ...] = ()
    joined: tuple[str, ...] = ()
    awaited: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()

    @classmethod
    def from_steps(cls, steps: Sequence[Collapse]) -> Collapse:
        """Return what consecutive merges met."""
        last = steps[-1]
        return cls(
            null_keys=sum(step.null_keys for step in steps),
            reinserted=sum(step.reinserted for step in steps),
            text_order=last.text_order,
            misread=sum(step.misread for step in steps),
            misread_columns=last.misread_columns,
            joined=tuple(name for step in steps for name in step.joined),
            awaited=last.awaited,
            left_out=last.left_out,
        )

    def metadata(self) -> dict[str, Any]:
        """Return the metadata of a merge: `null_keys`, and what else it met."""
        found = {
            "reinserted_keys": self.reinserted,
            "misread_rows": self.misread,
            "misread_columns": list(self.misread_columns),
            "joined_columns": list(self.joined),
            "awaited_columns": list(self.awaited),
            "left_out_columns": list(self.left_out),
        }
        return {"null_keys": self.null_keys, **{name: value for name, value in found.items() if value}}

    @property
    def sentences(self) -> Markdown:
        """What a merge met, with what to do. Empty if it met nothing."""
        return join_texts(". ", [*self._rows(), *self._columns()])

    def _rows(self) -> Iterator[Markdown]:
        if self.null_keys:
            yield sentence(
                "{} of the merged batches {} a NULL in `keys`, and silver keeps one row of each key, also of NULL. "
                "Choose `keys` that every row has, or leave such rows out by `skip_when`",
                number_of(self.null_keys, "row"),
                "has" if self.null_keys == 1 else "have",
            )
        if self.reinserted:
            yield sentence(
                "{} of the merged batches {} several different inserts and no delete, and silver keeps one row of "
                "each: compare `keys` with the primary key of the table, then `tidegate rebuild`",
                number_of(self.reinserted, "key"),
                "has" if self.reinserted == 1 else "have",
            )
        if self.misread:
            yield sentence(
                "{} of the merged batches look like UTF-8 that was read as another encoding: correct `encoding` in "
                "`csv`, then `tidegate rebuild` bronze",
                number_of(self.misread, "row"),
            )

    def _columns(self) -> Iterator[Markdown]:
        if self.text_order:
            yield sentence(
                "`order` has {}, which is text, and `columns` does not say so: as text, 10 is before 9. Give it a type "
                "in `columns`, or confirm `string` there",
                _join_names(self.text_order),
            )
        if self.misread_columns:
            yield sentence(
                "the names of {} look like UTF-8 that was read as another encoding: correct `encoding` in `csv`, or "
                "leave them out by `except_columns`",
                _join_names(self.misread_columns),
            )
        if self.joined:
            yield sentence(
                "{} joined in one run: {}. Look whether the first line of a file was not a header, or a file is of "
                "another table",
                number_of(len(self.joined), "column"),
                _join_names(self.joined),
            )
        if self.awaited:
            yield sentence(
                "`silver` names {}, which no file has had yet: NULL until one has. Check that the names are right",
                _join_names(self.awaited),
            )
        if self.left_out:
            yield sentence(
                "rows have {}, and silver has columns of its own by such names: they are left out. Give them other "
                "names by `rename` of `silver`, then `tidegate rebuild`, or confirm it by `except_columns`",
                _join_names(self.left_out),
            )


def inferred_text_order(spec: TableSpec, rules: MergeRules) -> tuple[str, ...]:
    """Return the columns of `order` that are text, although neither `lake.yaml` nor the format of the files says so."""
    if spec.registers or (spec.format and not FORMATS[spec.format].text):
        return ()
    chosen = {fold_name(name) for name in (*spec.columns, *spec.partition_columns, *ROW_COLUMNS)}
    pairs = zip(rules.order, rules.order_types, strict=True)
    return tuple(
        part.column[0]
        for part, kind in pairs
        if part.column and kind == Simple("string") and fold_name(part.column[0]) not in chosen
    )


def suspicious_joins(before: Sequence[Field], after: Sequence[Field]) -> tuple[str, ...]:
    """Return the columns that joined, if they are many at once; empty if they are few, or all are new.

    Args:
        before: the columns of silver without Tidegate's own. Empty if there was no table.
        after: the columns that it has now.
    """
    known = {fold_name(field.name) for field in before}
    new = tuple(field.name for field in after if fold_name(field.name) not in known)
    is_many = len(new) >= _MIN_MANY_COLUMNS or (len(new) >= _SEVERAL and 2 * len(new) >= len(before))
    return new if before and is_many else ()


def misread_names(fields: Sequence[Field]) -> tuple[str, ...]:
    """Return the columns whose name was read in another encoding than its own."""
    return tuple(field.name for field in fields if is_misread(field.name))


def _join_names(names: Sequence[str]) -> Markdown:
    shown, more = join_texts(", ", map(code, names[:_MAX_NAMED])), len(names) - _MAX_NAMED
    return sentence("{} and {} more", shown, more) if more > 0 else shown
