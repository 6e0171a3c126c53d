"""A small mistake, and the tests that must find it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Mutant:
    """One mistake.

    Attributes:
        name: the mistake in words.
        invariant: its number in docs/internals/architecture.md, section 3.
        function: where the mistake is, wherever that is: the qualified name of a function, a class or a constant of a
            module of Python (`Inbox.put`), or a class of Java.
        before: the present text, which is in it once.
        after: the text with the mistake.
        tests: node ids; of Java, `Class#method` of JUnit. At least one of them must fail.
    """

    name: str
    invariant: int
    function: str
    before: str
    after: str
    tests: tuple[str, ...]

    @property
    def is_java(self) -> bool:
        """Whether JUnit's tests must find it."""
        return not self.tests[0].startswith("tests/")
