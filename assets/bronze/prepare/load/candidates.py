"""The candidates of a load as files that Spark can read; those that are none end here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tidegate.assets.bronze.prepare.formats.format import SourceFile
from tidegate.assets.bronze.prepare.load.readable_files import source_file
from tidegate.assets.bronze.prepare.prepared import PreparedBatch
from tidegate.assets.bronze.small_objects import Held
from tidegate.platform.core.bronze.plan import BATCH_BYTES, Candidate
from tidegate.platform.core.schema.misfit import Misfit
from tidegate.resources.aws.s3 import StoreError
from tidegate.resources.lake import Table
from tidegate.resources.threads import parallel


def bounded(candidates: Iterable[Candidate], prepared: PreparedBatch) -> list[Candidate]:
    """The first candidates, up to ``BATCH_BYTES`` and at least one; the others are put off."""
    taken: list[Candidate] = []
    size = 0
    for candidate in candidates:
        size += candidate.found.size
        if taken and size > BATCH_BYTES:
            prepared.defer(candidate)
        else:
            taken.append(candidate)
    return taken


def loadable(table: Table, candidates: Iterable[Candidate], prepared: PreparedBatch) -> list[SourceFile]:
    """The candidates as files that Spark can read, with the columns that they declare.

    Args:
        table: the table.
        candidates: what is to be loaded.
        prepared: takes what becomes of candidates that are not returned.

    Raises:
        StoreError: S3 did not answer, or does not take the copies.
    """

    held = Held()

    def source(candidate: Candidate) -> SourceFile | Misfit | StoreError:
        try:
            return source_file(table, candidate, held)
        except (Misfit, StoreError) as error:
            return error

    candidates = list(candidates)
    # What came with the look waits for nobody.
    asking = [one for one in candidates if one.found.body is None]
    asked = dict(zip((one.key for one in asking), parallel(source, asking), strict=True))
    files = []
    for candidate in candidates:
        result = asked[candidate.key] if candidate.key in asked else source(candidate)
        if isinstance(result, SourceFile):
            files.append(result)
        else:
            prepared.failed(candidate, result)
    return _declared(table, files, prepared)


def _declared(table: Table, files: Sequence[SourceFile], prepared: PreparedBatch) -> list[SourceFile]:
    """The files with the columns that they declare."""
    formats = {file.format.name: file.format for file in files}
    known = {
        file.candidate.key: file
        for format in formats.values()
        for file in format.declared(table, [file for file in files if file.format.name == format.name], prepared)
    }
    return [known[file.candidate.key] for file in files if file.candidate.key in known]
