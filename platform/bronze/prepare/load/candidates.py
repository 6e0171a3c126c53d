"""The candidates of a load as files that Spark can read. A candidate that Spark cannot read ends here."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

from tidegate.platform.bronze.prepare.formats.format import SourceFile
from tidegate.platform.bronze.prepare.load.readable_files import source_file
from tidegate.platform.bronze.prepared import PreparedBatch
from tidegate.platform.bronze.small_objects import Held
from tidegate.platform.core.bronze.plan import Candidate
from tidegate.platform.core.schema.misfit import Misfit
from tidegate.platform.lake.aws.s3 import StoreError
from tidegate.platform.lake.lake import Table
from tidegate.platform.lake.threads import parallel


def loadable(table: Table, candidates: Iterable[Candidate], prepared: PreparedBatch) -> list[SourceFile]:
    """Return the candidates as files that Spark can read, with the columns that they declare.

    Args:
        candidates: to load.
        prepared: records what happens to the candidates that are not returned.

    Raises:
        StoreError: S3 did not answer, or does not accept the copies.
    """

    held = Held()

    def source(candidate: Candidate) -> SourceFile | Misfit | StoreError:
        try:
            return source_file(table, candidate, held)
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
            prepared.failed(candidate, result)
    return _declared(table, files, prepared)


def grouped(files: Sequence[SourceFile]) -> list[list[SourceFile]]:
    """Return the files in groups that are read together."""
    groups: dict[Hashable, list[SourceFile]] = {}
    for file in files:
        group = file.format.name, file.format.group(file), file.by_line, file.body is None
        groups.setdefault(group, []).append(file)
    return list(groups.values())


def _declared(table: Table, files: Sequence[SourceFile], prepared: PreparedBatch) -> list[SourceFile]:
    """Return the files with the columns that they declare."""
    formats = {file.format.name: file.format for file in files}
    known = {
        file.candidate.key: file
        for format in formats.values()
        for file in format.declared(table, [file for file in files if file.format.name == format.name], prepared)
    }
    return [known[file.candidate.key] for file in files if file.candidate.key in known]
