"""Objects that maintenance deleted, or that a dry run found."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class FreedObjects:
    """Number and bytes of objects."""

    files: int = 0
    size: int = 0

    def __add__(self, other: FreedObjects) -> FreedObjects:
        return FreedObjects(self.files + other.files, self.size + other.size)

    def __str__(self) -> str:
        return f"{self.files} files ({self.size} bytes)"


NOTHING = FreedObjects()
