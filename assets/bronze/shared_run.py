"""One run for several tables, so that tables with few files share the fixed costs of a run."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from tidegate.assets.bronze.report import TableReport
from tidegate.platform.core.wording import first_few, first_line

_MAX_LISTED_FAILURES = 20


@dataclass
class SharedRun:
    """Brings tables up to date, one after another. The failure of one table does not affect the others.

    Args:
        work: brings one table up to date.
        held: whether a table has a run of its own. That run reads the inbox as well, so this run leaves the table out.
        lost: called after a failure. Returns a reason if no other table can be brought up to date either.
        has_time: called before each table. Returns whether there is time for it.

    Attributes:
        failed: errors, by table.
        left: reasons why tables were left out, by table.
    """

    work: Callable[[str], TableReport]
    held: Callable[[str], bool]
    lost: Callable[[], str | None]
    has_time: Callable[[], bool]
    failed: dict[str, Exception] = field(default_factory=dict)
    left: dict[str, str] = field(default_factory=dict)

    def tables(self, tables: Sequence[str]) -> Iterator[tuple[str, TableReport | Exception]]:
        """Yield each table that was brought up to date, with its report or the error that it failed with."""
        stopped: str | None = None
        for table in dict.fromkeys(tables):
            if stopped is None and not self.has_time():
                stopped = "this run has lasted long enough"
            if stopped is not None:
                self.left[table] = stopped
            elif self.held(table):
                self.left[table] = "it has a run of its own"
            else:
                yield table, self._report_or_error(table)
                if table in self.failed:
                    stopped = self.lost()

    def _report_or_error(self, table: str) -> TableReport | Exception:
        try:
            return self.work(table)
        except Exception as error:
            self.failed[table] = error
            return error

    def verdict(self, tables: int) -> str | None:
        """Return the error text of the run. None if no table failed.

        Args:
            tables: number of tables in the run.
        """
        if not self.failed:
            return None
        lines = [f"{table}: {first_line(error)}" for table, error in self.failed.items()]
        shown = first_few(lines, _MAX_LISTED_FAILURES)
        return "\n".join([f"{len(self.failed)} of {tables} tables failed; each gets a run of its own next:", *shown])
