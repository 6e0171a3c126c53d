"""The lines of an object of the lake, in little memory whatever its size, and what is left of them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from tidegate.platform.core.keys.s3_address import S3Address, S3Object
from tidegate.platform.lake.aws.s3 import ObjectStore
from tidegate.platform.lake.room import SMALL, TooLarge, name_full_disk, run_bounded

#: Bytes of one request. An object is read piece by piece: S3 would end an answer that is read for hours.
_PIECE = 1 << 20


@dataclass(frozen=True)
class KeptLines:
    """An object of JSON lines.

    Attributes:
        objects: handle on S3.
        version: the object.
        size: its bytes.
        rest_of: returns what stays of a line, without its end. None if nothing stays.
    """

    objects: ObjectStore
    version: S3Object
    size: int
    rest_of: Callable[[bytes], bytes | None]

    def count(self) -> tuple[int, bool]:
        """Return how many lines do not stay as they are, and whether any line stays.

        Memory holds a piece and a line. Its writers bound a line, and long ones are held one after another.

        Raises:
            ObjectChanged: the object has changed, or is gone.
            StoreError: S3 did not answer.
        """

        def count(max_line: int) -> tuple[int, bool]:
            found, stays = 0, False
            for line in self._lines(max_line):
                rest = self.rest_of(line)
                found += rest != line
                stays = stays or bool(rest)
            return found, stays

        return run_bounded(count, sys.maxsize, small=SMALL)

    def keep_rest(self) -> None:
        """Replace the object by what stays of its lines. The object is complete at all times, and so is a repetition.

        Raises:
            RuntimeError: the disk is full.
            ObjectChanged: the object has changed, or is gone.
            StoreError: S3 did not answer.
        """
        wanted = (
            f"{S3Address(*self.version.address)} has to be written there without forgotten persons: free some of it, "
            "or set TMPDIR to a folder on another one, and run it again"
        )
        with name_full_disk(wanted), TemporaryDirectory(prefix="tidegate-rest-") as folder:
            file = Path(folder) / "rest"
            with file.open("wb") as target:
                for line in self._lines(sys.maxsize):
                    if (rest := self.rest_of(line)) is not None:
                        target.write(rest + b"\n")
            self.objects.upload(*self.version.address, file)

    def _lines(self, max_line: int) -> Iterator[bytes]:
        """Yield the lines without their ends.

        Raises:
            TooLarge: a line has more than `max_line` bytes.
        """
        begun: list[bytes] = []  # The pieces of a line that has not ended.
        held = 0
        for start in range(0, self.size, _PIECE):
            piece = self.objects.piece(self.version, start, min(_PIECE, self.size - start))
            *ended, last = piece.split(b"\n")
            for line in ended:
                yield b"".join([*begun, line])
                begun, held = [], 0
            begun.append(last)
            held += len(last)
            if held > max_line:
                raise TooLarge
        if held:
            yield b"".join(begun)
