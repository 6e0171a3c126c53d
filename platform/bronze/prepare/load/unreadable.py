"""What a reader other than Spark finds in a file's bytes."""

from __future__ import annotations

from collections.abc import Sequence

from tidegate.platform.bronze.prepare.formats.csv_bytes import MAX_CELLS, MAX_ROW_CHARACTERS
from tidegate.platform.bronze.prepare.formats.format import SourceFile
from tidegate.platform.bronze.prepare.load.readable_files import open_stored_bytes, packed
from tidegate.platform.core.bronze.plan import Candidate
from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.lake.aws.bucket import Bucket
from tidegate.platform.lake.aws.s3 import StoreError
from tidegate.platform.lake.room import TooLarge, run_bounded
from tidegate.platform.lake.threads import parallel


def misread(
    source: Bucket, spec: TableSpec, suspects: Sequence[SourceFile]
) -> list[tuple[Candidate, str | StoreError]]:
    """Return the files that Spark misread, each with the reason.

    A file whose bytes could not be read now is returned with the error of S3.
    """

    def problem(file: SourceFile) -> tuple[Candidate, str | StoreError | None]:
        candidate = file.candidate

        def read(limit: int) -> str | None:
            with open_stored_bytes(source, candidate) as body:
                return file.format.problem(body, packed=packed(candidate), spec=spec, limit=limit)

        try:
            return candidate, run_bounded(read, MAX_ROW_CHARACTERS)
        except TooLarge:
            reason = (
                f"a row has more than {MAX_ROW_CHARACTERS:,} characters, or {MAX_CELLS:,} cells: a quote in it is not "
                "closed, or it is no CSV"
            )
            return candidate, f"{reason}; write the file again"
        except StoreError as error:
            return candidate, error

    return [(candidate, found) for candidate, found in parallel(problem, suspects) if found is not None]
