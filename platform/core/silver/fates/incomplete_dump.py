"""A full dump that is not known whole, because some of its rows are in quarantine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tidegate.platform.core.silver.fates.sentences import format_order
from tidegate.platform.core.wording import first_few, number_of

#: Files that a dump names.
MAX_NAMES = 3


@dataclass(frozen=True)
class IncompleteDump:
    """A full dump of which rows are in quarantine. It implies no deletes, because nobody knows the keys of these rows.

    Attributes:
        order: its order, as JSON of a struct.
        n: the last batch that quarantined some of its rows.
        files: number of files with such rows.
        rows: number of these rows. Those of a file that was quarantined as a whole are not known, and not counted.
        names: addresses of some of the files.
    """

    order: str
    n: int
    files: int = 0
    rows: int = 0
    names: tuple[str, ...] = ()

    def with_files(self, n: int, files: int, rows: int, names: Sequence[str]) -> IncompleteDump:
        """Returns the dump with more files in quarantine. The arguments are as the attributes."""
        known = (*self.names, *names)[:MAX_NAMES]
        return IncompleteDump(self.order, max(n, self.n), self.files + files, self.rows + rows, known)

    def sentence(self, table: str, *, is_discreet: bool) -> str:
        """Returns what a person should know and do.

        Args:
            table: name of the table.
            is_discreet: the order may have a value of a row, and is left out.
        """
        dump = "a dump" if is_discreet else f"the dump {format_order(self.order)}"
        what = number_of(self.files, "file")
        what = f"{number_of(self.rows, 'row')} of {what}" if self.rows else what
        if self.names:
            what += f" ({', '.join(first_few(self.names, MAX_NAMES, self.files))})"
        return (
            f"{dump} deletes nothing in silver.{table}, as {what} went into quarantine, the last in batch {self.n}. "
            f"Write the files again, or correct lake.yaml and run `tidegate redrive {table} --yes`, or wait for the "
            "next dump"
        )
