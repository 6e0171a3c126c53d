"""The candidates of a load as files that Spark can read. A candidate that Spark cannot read, or misread, ends here."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

from tidegate.platform.bronze.prepare.file_access import FileAccess
from tidegate.platform.bronze.prepare.formats.csv_bytes import MAX_CELLS, MAX_ROW_CHARACTERS
from tidegate.platform.bronze.prepare.formats.format import SourceFile
from tidegate.platform.bronze.prepare.load.readable_files import is_gzip, open_stored_bytes, source_file
from tidegate.platform.bronze.prepared_batch import PreparedBatch
from tidegate.platform.bronze.small_objects import Held
from tidegate.platform.core.bronze.plan import Candidate
from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.core.errors import Misfit
from tidegate.platform.lake.aws.bucket import Bucket
from tidegate.platform.lake.aws.s3 import StoreError
from tidegate.platform.lake.capacity import TooLarge, run_bounded
from tidegate.platform.lake.threads import parallel


def loadable(
    spec: TableSpec, access: FileAccess, candidates: Iterable[Candidate], prepared: PreparedBatch
) -> list[SourceFile]:
    """Return the candidates as files that Spark can read, with the columns that they declare.

    Args:
        access: reaches the files.
        candidates: to load.
        prepared: records what happens to the candidates that are not returned.

    Raises:
        StoreError: S3 did not answer, or does not accept the copies.
    """

    held = Held()

    def source(candidate: Candidate) -> SourceFile | Misfit | StoreError:
        try:
            return source_file(spec, access, candidate, held)
        except (Misfit, StoreError) as error:
            return error

    candidates = list(candidates)
    # A file whose content came with the look needs no request to S3, so it needs no thread either.
    remote = [candidate for candidate in candidates if candidate.found.body is None]
    sources = dict(zip((candidate.key for candidate in remote), parallel(source, remote), strict=True))
    files = []
    for candidate in candidates:
        result = sources[candidate.key] if candidate.key in sources else source(candidate)
        if isinstance(result, SourceFile):
            files.append(result)
        else:
            prepared.record_failure(candidate, result)
    return _add_declared_columns(access, files, prepared)


def group_files(files: Sequence[SourceFile]) -> list[list[SourceFile]]:
    """Return the files in groups that are read together."""
    groups: dict[Hashable, list[SourceFile]] = {}
    for file in files:
        group = file.format.name, file.format.group(file), file.by_line, file.body is None
        groups.setdefault(group, []).append(file)
    return list(groups.values())


def _add_declared_columns(access: FileAccess, files: Sequence[SourceFile], prepared: PreparedBatch) -> list[SourceFile]:
    """Return the files with the columns that they declare."""
    formats = {file.format.name: file.format for file in files}
    known = {
        file.candidate.key: file
        for format in formats.values()
        for file in format.add_declared_columns(
            access, [file for file in files if file.format.name == format.name], prepared
        )
    }
    return [known[file.candidate.key] for file in files if file.candidate.key in known]


def find_misread(
    source: Bucket, spec: TableSpec, suspects: Sequence[SourceFile]
) -> list[tuple[Candidate, str | StoreError]]:
    """Return the files that Spark misread, each with the reason.

    A file whose bytes could not be read now is returned with the error of S3.
    """

    def problem(file: SourceFile) -> tuple[Candidate, str | StoreError | None]:
        candidate = file.candidate

        def read(limit: int) -> str | None:
            with open_stored_bytes(source, candidate) as body:
                return file.format.problem(body, packed=is_gzip(candidate), spec=spec, limit=limit)

        try:
            return candidate, run_bounded(read, MAX_ROW_CHARACTERS)
        except TooLarge:
            reason = (
                f"a row has more than {MAX_ROW_CHARACTERS:,} characters, or {MAX_CELLS:,} cells: a quote in it is not "
                "closed, or it is not CSV"
            )
            return candidate, f"{reason}; write the file again"
        except StoreError as error:
            return candidate, error

    return [(candidate, found) for candidate, found in parallel(problem, suspects) if found is not None]
