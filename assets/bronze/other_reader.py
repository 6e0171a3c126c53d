"""What another reader than Spark says of a file's bytes."""

from __future__ import annotations

from collections.abc import Sequence

from tidegate.assets.bronze.formats.csv_bytes import MOST_ROW
from tidegate.assets.bronze.formats.format import SourceFile
from tidegate.assets.bronze.formats.parquet_files import Parquet
from tidegate.assets.bronze.room import TooLarge, in_turn
from tidegate.assets.bronze.source_files import packed, unpacked
from tidegate.platform.core.parquet.bad import BadParquet
from tidegate.platform.core.planning import Candidate
from tidegate.platform.core.schema.misfit import Misfit
from tidegate.resources.lake import Lake, Table
from tidegate.resources.object_store import StoreError, parallel
from tidegate.resources.parquet_copies import require_readable


def broken(lake: Lake, table: Table, file: SourceFile) -> str | None:
    """Why the file's bytes cannot be read; None if they can.

    Raises:
        StoreError: S3 did not answer, or the file is no longer what the look saw.
    """
    candidate = file.candidate
    try:
        if isinstance(file.format, Parquet):
            require_readable(lake.store.objects, (table.key.bucket, candidate.key, candidate.found.etag))
            return None
        with unpacked(lake, table, candidate) as body:
            while body.read(1 << 20):
                pass
    except BadParquet as bad:
        return f"neither Spark nor PyArrow can read its values; write it again ({bad})"
    except Misfit as misfit:
        return str(misfit)
    return None


def misread(lake: Lake, table: Table, suspects: Sequence[SourceFile]) -> list[tuple[Candidate, str | StoreError]]:
    """The files whose bytes are not what Spark took them for, with the reason, or the error of who could not look."""

    def problem(file: SourceFile) -> tuple[Candidate, str | StoreError | None]:
        candidate = file.candidate

        def read(most: int) -> str | None:
            with lake.store.objects.reading(table.key.bucket, candidate.key, candidate.found.etag) as body:
                return file.format.problem(body, packed=packed(candidate), spec=table.spec, most=most)

        try:
            return candidate, in_turn(read, MOST_ROW)
        except TooLarge:
            told = f"a row has more than {MOST_ROW:,} characters: a quote in it is not closed, or it is no CSV"
            return candidate, f"{told}; write the file again"
        except StoreError as error:
            return candidate, error

    return [(candidate, found) for candidate, found in parallel(problem, suspects) if found is not None]
