"""Servers as context managers: started at the beginning of a `with` block, and stopped at its end."""

from __future__ import annotations

from abc import ABC, abstractmethod
from types import TracebackType
from typing import Self


class RunningServer(ABC):
    """Something with a start and a stop. Its `with` block starts it, and stops it even after an error."""

    @abstractmethod
    def start(self) -> object:
        """Start it."""

    @abstractmethod
    def stop(self) -> None:
        """Stop it."""

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
