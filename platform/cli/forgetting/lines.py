"""The lines and the JSON that `tidegate forget` prints. They have no identity."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from tidegate.platform.cli.answers.plans import ForgetAnswer, ForgetRequestAnswer, FoundOfPersons
from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.core.wording import first_few
from tidegate.platform.forgetting.find import Found, total
from tidegate.platform.forgetting.forget import Progress


def found_lines(found: Sequence[Found], subjects: int) -> list[str]:
    """Return what the lake has of subjects, one line for each place."""
    lines = [f"{subjects} subjects: {total(found)} rows, lines and messages"]
    for one in found:
        lines += [
            f"  bronze.{one.table}   {one.bronze} rows in {one.bronze_files} data files ({one.bronze_bytes} bytes), "
            f"of {one.sources} source objects, which stay as they are",
            f"  silver.{one.table}   {one.silver} rows, tombstones included",
            *(f"  {place}/   {count} lines or messages of {one.table}" for place, count in sorted(one.kept.items())),
        ]
    return lines


def unsearched_lines(folders: Sequence[str]) -> list[str]:
    """Return what to do about folders of tables that cannot be searched."""
    if not folders:
        return []
    shown = ", ".join(first_few(folders, 10))
    return [
        f"  not searched: {shown}. lake.yaml has no such table, or its bronze table has no batch yet, so nobody can "
        "say whose its rows are: delete the folder of a table that nobody needs, or configure the table with `personal`"
    ]


def export_lines(tables: Sequence[TableSpec]) -> list[str]:
    """Return a line for each table whose exports may have rows of subjects. They belong to those who read them."""
    return [
        f"  {spec.output_root}   exports of silver.{spec.name} are not searched, and stay. No later export has a "
        "row of these subjects"
        for spec in tables
        if spec.exports
    ]


def state_lines(states: Sequence[Progress]) -> list[str]:
    """Return the state of each request that is not done, one line each, and how many are done."""
    now = datetime.now(UTC)
    lines = []
    for one in states:
        if one.done:
            continue
        after = f", its files may be deleted from {one.due:%Y-%m-%d %H:%M} UTC on" if one.due else ""
        late = "LATE: " if one.late(now) else ""
        lines.append(
            f"{late}request {one.request.id} of {one.request.by}, {len(one.request.digests)} subjects: {one.state}"
            f"{after}; must be done until {one.request.until:%Y-%m-%d}"
        )
    return [*lines, f"{sum(one.done is not None for one in states)} of {len(states)} requests are done"]


def found_answer(found: Sequence[Found], tables: Sequence[TableSpec]) -> ForgetAnswer:
    """Return what the lake has of subjects, for programs.

    Args:
        found: what each table has.
        tables: the tables with this kind of subject.
    """
    places = (
        FoundOfPersons(
            table=one.table,
            bronze_rows=one.bronze,
            bronze_files=one.bronze_files,
            bronze_bytes=one.bronze_bytes,
            sources=one.sources,
            silver_rows=one.silver,
            kept=one.kept,
        )
        for one in found
    )
    exports = tuple(spec.output_root for spec in tables if spec.exports and spec.output_root)
    return ForgetAnswer(found=tuple(places), exports=exports, requests=None)


def states_answer(states: Sequence[Progress]) -> ForgetAnswer:
    """Return the state of each request, for programs."""
    now = datetime.now(UTC)
    requests = (
        ForgetRequestAnswer(
            id=one.request.id,
            by=one.request.by,
            subjects=len(one.request.digests),
            state=one.state,
            files_may_go=one.due,
            until=one.request.until,
            late=one.late(now),
        )
        for one in states
    )
    return ForgetAnswer(found=None, exports=(), requests=tuple(requests))
