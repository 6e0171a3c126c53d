"""One run for several tables: cold ones share what a run costs beside its work."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from tidegate.assets.bronze.report import Shown
from tidegate.platform.core.first_line import first_line

_MOST_TOLD = 20


@dataclass
class SharedRun:
    """Works off tables one after another; what becomes of one is no other's trouble.

    Args:
        work: brings one table up to date.
        held: whether a run of its own holds a table; it works off the inbox as well, so this one leaves it alone.
        lost: asked after a failure: why no other table can be worked off either, if so.
        goes_on: asked before each table whether there is time for it.

    Attributes:
        failed: errors by table.
        left: tables that were not worked off, with the reason.
    """

    work: Callable[[str], Shown]
    held: Callable[[str], bool]
    lost: Callable[[], str | None]
    goes_on: Callable[[], bool]
    failed: dict[str, Exception] = field(default_factory=dict)
    left: dict[str, str] = field(default_factory=dict)

    def tables(self, tables: Sequence[str]) -> Iterator[tuple[str, Shown | Exception]]:
        """What came of each table that was worked off, or why it failed."""
        stopped: str | None = None
        for table in dict.fromkeys(tables):
            if stopped is None and not self.goes_on():
                stopped = "this run has lasted long enough"
            if stopped is not None:
                self.left[table] = stopped
            elif self.held(table):
                self.left[table] = "it has a run of its own"
            else:
                yield table, self._one(table)
                if table in self.failed:
                    stopped = self.lost()

    def _one(self, table: str) -> Shown | Exception:
        try:
            return self.work(table)
        except Exception as error:
            self.failed[table] = error
            return error

    def verdict(self, tables: int) -> str | None:
        """What the run fails with; None if no table failed.

        Args:
            tables: how many there were.
        """
        if not self.failed:
            return None
        told = [f"{table}: {first_line(error)}" for table, error in list(self.failed.items())[:_MOST_TOLD]]
        more = [f"and {len(self.failed) - _MOST_TOLD} more"] if len(self.failed) > _MOST_TOLD else []
        return "\n".join(
            [f"{len(self.failed)} of {tables} tables failed; each gets a run of its own next:", *told, *more]
        )
