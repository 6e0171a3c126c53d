"""One run for several tables, so that tables with few files share the fixed costs of a run."""

import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import dagster as dg

from tidegate.assets.bronze.report import TableReport
from tidegate.assets.keys import LakeNames
from tidegate.assets.presentation.run_log import RunLog
from tidegate.assets.private_dagster import materialization_planned
from tidegate.platform.core.wording import first_line, first_texts
from tidegate.platform.lake.lake import Lake

_MAX_LISTED_FAILURES = 20


@dataclass
class SharedRun:
    """Brings tables up to date, one after another. The failure of one table does not affect the others.

    Args:
        work: brings one table up to date.
        held: whether a table has another run. That run reads the inbox as well, so this run leaves the table out.
        lost: called after a failure. Returns a reason if no other table can be brought up to date either.
        has_time: called before each table. Returns whether there is time for it.
        wait: called if every table that is left has another run. Waits a moment, and returns whether to try these
            tables again.

    Attributes:
        failed: errors, by table.
        left: reasons why tables were left out, by table.
    """

    work: Callable[[str], TableReport]
    held: Callable[[str], bool]
    lost: Callable[[], str | None]
    has_time: Callable[[], bool]
    wait: Callable[[], bool] = lambda: False
    failed: dict[str, Exception] = field(default_factory=dict)
    left: dict[str, str] = field(default_factory=dict)

    def tables(self, tables: Sequence[str]) -> Iterator[tuple[str, TableReport | Exception]]:
        """Yield each table that was brought up to date, with its report or the error that it failed with."""
        stopped: str | None = None
        turns: Sequence[str] = list(dict.fromkeys(tables))
        while turns:
            held = []
            for table in turns:
                if stopped is None and not self.has_time():
                    stopped = "this run has lasted long enough"
                if stopped is not None:
                    self.left[table] = stopped
                elif self.held(table):
                    self.left[table] = "it has another run"
                    held.append(table)
                else:
                    yield table, self._report_or_error(table)
                    if table in self.failed:
                        stopped = self.lost()
            turns = held if stopped is None and held and self.wait() else []
            for table in turns:
                del self.left[table]

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
        return failure_text(self.reasons, tables, "each gets a run of its own next")

    @property
    def reasons(self) -> dict[str, str]:
        """The first line of the error of each table that failed."""
        return {table: first_line(error) for table, error in self.failed.items()}


def failure_text(reasons: Mapping[str, str], tables: int, remedy: str) -> str:
    """Return the error text of a run of several tables.

    Args:
        reasons: why tables failed, by table.
        tables: number of tables in the run.
        remedy: what comes next, or what to do.
    """
    lines = first_texts([f"{table}: {why}" for table, why in reasons.items()], _MAX_LISTED_FAILURES)
    return "\n".join([f"{len(reasons)} of {tables} tables failed; {remedy}:", *lines])


def bring_up_to_date(
    context: dg.OpExecutionContext,
    names: LakeNames,
    page: Callable[[str], dg.AssetKey | None],
    shared: SharedRun,
    tables: Sequence[str],
) -> Iterator[dg.AssetMaterialization | dg.AssetCheckEvaluation]:
    """Bring tables up to date, one after another.

    Yields the events that a run of each partition would have.

    Args:
        context: the run's context.
        names: the lake of the tables.
        page: returns the table's own page, if it has one.
        tables: table keys, in the order of their turns.
    """
    log = RunLog(context.log)
    for table, report in shared.tables(tables):
        if isinstance(report, Exception):
            log.trace(f"{table} failed: {''.join(traceback.format_exception(report))}")
            show_failed(context, names, table)
            continue
        yield from report.run_events(names.bronze, table, page(table))
    for table, why in shared.left.items():
        log.info(f"{table} is left for another run: {why}")


def find_lost_server(lake: Lake) -> str | None:
    """Return the reason why no table can be brought up to date any more. None if the Spark server answers."""
    try:
        lake.delta.check_session_alive()
    except Exception as error:
        return f"the connection to the Spark server was lost: {first_line(error)}"
    return None


def show_failed(context: dg.OpExecutionContext, names: LakeNames, table: str) -> None:
    """Let Dagster show the partition of a table as failed.

    Dagster does so if a run plans a materialization of it, and fails without one afterwards.
    """
    planned = materialization_planned(context.job_name, context.op_handle.name, names.bronze, table)
    context.instance.report_dagster_event(planned, context.run_id)
