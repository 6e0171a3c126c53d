"""What is done with many files, of which some are at fault: these are found, and end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from pyspark.errors import PySparkException

from tidegate.platform.bronze.prepare.file_access import FileAccess
from tidegate.platform.bronze.prepare.formats.format import SourceFile
from tidegate.platform.bronze.prepare.load.server_losses import require_server, sets_to_read
from tidegate.platform.bronze.prepare.load.spark_errors import Fault, explain_error, fault_of
from tidegate.platform.bronze.prepared_batch import PreparedBatch
from tidegate.platform.core.errors import Misfit

_Brought = TypeVar("_Brought")


class FaultyFiles:
    """Finds the files on which Spark fails.

    Args:
        access: reaches the files.
        is_discreet: whether no reason may quote a row.
        prepared: takes the files at fault, and has the schema, which no failed attempt changes.
        changed: returns the keys of files whose object is no longer the object that was read.
    """

    def __init__(
        self,
        access: FileAccess,
        is_discreet: bool,
        prepared: PreparedBatch,
        changed: Callable[[Sequence[SourceFile]], set[str]],
    ) -> None:
        self._access, self._prepared, self._changed = access, prepared, changed
        self._is_discreet = is_discreet
        self._copied: set[str] = set()  # keys of files of which Spark read another program's copy

    def attempt(
        self, files: Sequence[SourceFile], action: Callable[[Sequence[SourceFile]], list[SourceFile]]
    ) -> list[SourceFile]:
        """Attempt something with a set of files. If a file is at fault, the set is halved until that file is alone.

        Args:
            files: the set.
            action: returns the files with which it must be attempted again.

        Returns:
            The files, without those at fault.

        Raises:
            SparkUnreachable: the Spark server was lost. A note says which files it was reading.
            PySparkException: Spark failed, and no file is known to be at fault.
        """
        if not files:
            return []
        before = self._prepared.schema
        try:
            again = action(files)
        except PySparkException as error:
            self._prepared.schema = before
            self._require_file_at_fault(files, error)
            if len(files) > 1:
                half = len(files) // 2
                return [*self.attempt(files[:half], action), *self.attempt(files[half:], action)]
            copy = self._end(files[0], error)
            return self.attempt([copy], action) if copy else []
        return [*exclude_files(files, again), *self.attempt(again, action)]

    def bring_columns(
        self, files: Sequence[SourceFile], bring: Callable[[Sequence[SourceFile]], _Brought]
    ) -> tuple[list[SourceFile], _Brought | None]:
        """Let files bring columns, all at once, so that the types follow from the values of all.

        Files with which the server was lost are tried in their sets before: another loss names few of them.

        Args:
            bring: gives the schema their columns.

        Returns:
            The files, without those at fault, and what `bring` returned; None if no file is left.

        Raises:
            SparkUnreachable: the Spark server was lost. A note says which files it was reading.
            PySparkException: Spark failed, and no file is known to be at fault.
        """
        before = self._prepared.schema

        def try_files(some: Sequence[SourceFile]) -> list[SourceFile]:
            bring(some)
            self._prepared.schema = before
            return []

        sets = sets_to_read(self._prepared.plan, files)
        able = [file for some in sets for file in self.attempt(some, try_files)] if len(sets) > 1 else list(files)
        failed = False
        while able:
            try:
                return able, bring(able)
            except PySparkException as error:
                self._prepared.schema = before
                self._require_file_at_fault(able, error)
                rest = self.attempt(able, try_files)
                if failed and rest == able:
                    raise
                able, failed = rest, True
        return [], None

    def _require_file_at_fault(self, files: Sequence[SourceFile], error: PySparkException) -> None:
        """Raise the error unless a file may be at fault. If the server was lost, record that it was reading these."""
        require_server(self._access.server, files)
        if fault_of(error) is Fault.ENVIRONMENT:
            raise error

    def _end(self, file: SourceFile, error: PySparkException) -> SourceFile | None:
        """End a file on which Spark failed, if the file is at fault. Otherwise the run fails and the file waits.

        A reader of the server knows errors of S3 from those of a file, so what it says of a file is the last word. Of
        Parquet, Spark's own reader does not. If another program can read the file, its copy by that program is
        returned, to be read instead. If Spark fails on the copy too, no file is at fault.
        """
        if self._changed([file]):
            self._prepared.defer(file.candidate)
            return None
        key = file.candidate.key
        try:
            if fault_of(error) is Fault.FILE:
                raise Misfit(explain_error(error, discreet=self._is_discreet))
            copy = None if key in self._copied else file.format.rewritten_copy(self._access, file)
        except Misfit as misfit:
            self._prepared.quarantine(file.candidate, str(misfit))
            return None
        if copy is None:
            raise error
        self._copied.add(key)
        return copy


def exclude_files(files: Sequence[SourceFile], others: Sequence[SourceFile]) -> list[SourceFile]:
    """Return the files without others, which are known by their keys."""
    keys = {file.candidate.key for file in others}
    return [file for file in files if file.candidate.key not in keys]
