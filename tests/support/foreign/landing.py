"""The files of a case, loaded by the real pipeline once for all tests that inspect them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support.foreign.case import ID_STEP, Case, File, Made, Row, Workshop
from tidegate.platform.bronze.options import RunOptions
from tidegate.platform.bronze.run import run_table
from tidegate.platform.core.bronze.ledger import LedgerRow
from tidegate.platform.testing import TestLake


@dataclass
class Landed:
    """The result of a case.

    Attributes:
        made: its files, by key.
        fate: the last ledger row of each file, by key below the table's prefix.
        failed: the errors of its runs.
        rows: the table's final rows; None if there is no table.
        types: Spark's types of its columns.
        paths: files of the rows of a registered table, by id.
        hidden: keys of the files whose first row their probe did not find.
    """

    made: dict[str, Made]
    fate: dict[str, LedgerRow] = field(default_factory=dict)
    failed: list[str] = field(default_factory=list)
    rows: list[Row] | None = None
    types: dict[str, str] = field(default_factory=dict)
    paths: dict[Any, str] = field(default_factory=dict)
    hidden: list[str] = field(default_factory=list)
    location: str = ""

    def of(self, file: File) -> list[Row]:
        """Return the table's rows that a file brought."""
        ids = {row.get("id") for row in self.made[file.key].rows}
        return [row for row in self.rows or [] if row.get("id") in ids]


class Landing:
    """Loads cases into one lake, each when a test first asks for it.

    Args:
        lake: the lake, with a table for each case.
        folder: folder of files; Spark's server can read it.
        unknown: cases without a table in the lake, with the reason.
    """

    def __init__(self, lake: TestLake, folder: Path, unknown: dict[str, str]) -> None:
        self.lake = lake
        self._folder, self._unknown = folder, unknown
        self._landed: dict[str, Landed] = {}

    def of(self, case: Case) -> Landed:
        """Return the result of a case."""
        if case.name not in self._landed:
            self._landed[case.name] = self._land(case)
        return self._landed[case.name]

    def _land(self, case: Case) -> Landed:
        if case.name in self._unknown:
            return Landed({}, failed=[self._unknown[case.name]])
        landed = Landed({file.key: self._make(case, place, file) for place, file in enumerate(case.files, 1)})
        for key, made in landed.made.items():
            self.lake.put(f"{case.name}/{key}", made.body)
        self._run(case, landed)
        key, body = case.good(case.good_id)
        self.lake.put(f"{case.name}/{key}", body)
        self._run(case, landed)
        self._read(case, landed)
        return landed

    def _make(self, case: Case, place: int, file: File) -> Made:
        folder = self._folder / case.name / str(place)
        folder.mkdir(parents=True, exist_ok=True)
        return file.make(Workshop(folder, self.lake.lake.delta.session, ID_STEP * place))

    def _run(self, case: Case, landed: Landed) -> None:
        try:
            for done in run_table(
                self.lake.lake.table(self.lake.key(case.name)), RunOptions(run_id="foreign", listing=True)
            ):
                for row in done.batch.rows:
                    landed.fate[row.key.removeprefix(f"{case.name}/")] = row
        except Exception as error:
            landed.failed.append(_short(error))

    def _read(self, case: Case, landed: Landed) -> None:
        birth = self.lake.lake.table(self.lake.key(case.name)).birth
        if birth is None or not self.lake.lake.delta.table_state(birth.location).exists:
            return
        landed.location = birth.location
        source = f"delta.`{birth.location}`"
        session = self.lake.lake.delta.session
        try:
            frame = session.sql(f"SELECT *, _metadata.file_path AS _read_from FROM {source}")
            landed.types = {column.name: column.dataType.simpleString() for column in frame.schema}
            found: Sequence[Row] = frame.toArrow().to_pylist()
        except Exception as error:
            landed.failed.append(_short(error))
            return
        landed.paths = {row.get("id"): row.pop("_read_from") for row in found}
        landed.rows = list(found)
        for file in case.files:
            if file.probe and landed.of(file):
                ids = ", ".join(str(row["id"]) for row in landed.made[file.key].rows)
                found_ids = session.sql(f"SELECT id FROM {source} WHERE {file.probe} AND id IN ({ids})").collect()
                if [row["id"] for row in found_ids] != [landed.made[file.key].rows[0]["id"]]:
                    landed.hidden.append(file.key)


def _short(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error).partition('JVM stacktrace')[0].strip()[:600]}"
