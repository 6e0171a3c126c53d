"""A small mistake, and the tests that must find it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Mutant:
    """One mistake.

    Attributes:
        name: the mistake in words.
        invariant: its number in docs/internals/architecture.md, section 3.
        path: the file of the mistake.
        before: the present text.
        after: the text with the mistake.
        tests: node ids; of Java, `Class#method` of JUnit. At least one of them must fail.
    """

    name: str
    invariant: int
    path: str
    before: str
    after: str
    tests: tuple[str, ...]

    @property
    def is_java(self) -> bool:
        """Whether JUnit's tests must find it."""
        return self.path.endswith(".java")
