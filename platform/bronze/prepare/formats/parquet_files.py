"""Parquet files of loaded tables, and of outputs, which keep their rows as they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from tidegate.platform.bronze.prepare.file_access import FileAccess
from tidegate.platform.bronze.prepare.formats.declared_columns import DeclaredColumns
from tidegate.platform.bronze.prepare.formats.format import SourceFile
from tidegate.platform.bronze.prepare.parquet_candidates import check_both, copy_files, parquet_footers
from tidegate.platform.bronze.prepared_batch import PreparedBatch
from tidegate.platform.core.errors import BadParquet, Misfit
from tidegate.platform.core.keys.file_format import FORMATS
from tidegate.platform.lake.parquet.copies import copy_parquet


class Parquet(DeclaredColumns):
    """Parquet. The footer is checked before the rows are read, so no row is bad."""

    file_format = FORMATS["parquet"]
    readers = ("parquet",)

    def add_declared_columns(
        self, access: FileAccess, files: Sequence[SourceFile], prepared: PreparedBatch
    ) -> list[SourceFile]:
        """Return the files with their footers. Spark reads a copy instead of a file that it would misread."""
        by_key = {file.candidate.key: file for file in files}
        candidates = [file.candidate for file in files]
        footers = parquet_footers(access.source, candidates, prepared)
        places = {candidate.key: access.scratch.place(".parquet") for candidate, _ in footers}
        ready = copy_files(access.source, footers, lambda candidate: places[candidate.key].address, prepared)
        return [
            replace(
                by_key[candidate.key],
                footer=footer,
                fields=tuple(footer.fields),
                path=places[candidate.key].path if copy else by_key[candidate.key].path,
            )
            for candidate, footer, copy in ready
        ]

    def rewritten_copy(self, access: FileAccess, file: SourceFile) -> SourceFile | None:
        """Return the file as a copy that PyArrow wrote. Spark reads the copy."""
        candidate, place = file.candidate, access.scratch.place(".parquet")
        source = access.source.version(candidate.key, candidate.found.etag)
        try:
            copy = copy_parquet(access.source.objects, source, place.address, {})
        except BadParquet as bad:
            raise Misfit(f"neither Spark nor PyArrow can read its values; write it again ({bad})") from bad
        return replace(file, path=place.path, footer=copy.footer, fields=tuple(copy.footer.fields))

    def check_path(self, file: SourceFile, values: Mapping[str, str | None]) -> None:
        """Check by the statistics in the footer that a column in the file has the value of the path."""
        if file.footer:
            check_both(file.footer, values)


class ParquetObjects(Parquet):
    """Parquet whose footers are read by the server that puts files together. No file is copied first."""

    def add_declared_columns(
        self, access: FileAccess, files: Sequence[SourceFile], prepared: PreparedBatch
    ) -> list[SourceFile]:
        """Return the files unchanged: their columns are not columns of a table."""
        return list(files)

    def rewritten_copy(self, access: FileAccess, file: SourceFile) -> SourceFile | None:
        """Return None: a copy would have other types."""
        return None
