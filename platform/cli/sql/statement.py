"""What a statement of SQL is, as far as the log of operations needs it. Spark alone understands it."""

from __future__ import annotations

import re

#: How a statement begins that reads.
_READS = frozenset({"SELECT", "SHOW", "DESCRIBE", "DESC", "EXPLAIN", "VALUES", "TABLE"})
#: A statement that writes may begin with these, too: `WITH … INSERT`, `FROM … INSERT`.
_MAY_READ = frozenset({"WITH", "FROM"})
_WRITES = re.compile(r"\b(INSERT|DELETE|UPDATE|MERGE|CREATE|REPLACE|DROP|ALTER)\b", re.IGNORECASE)
_BEFORE = re.compile(r"(?:\s|\(|--[^\n]*(?:\n|$)|/\*.*?\*/)*", re.DOTALL)
_WORD = re.compile(r"\w+")
_VALUE = re.compile(r"'(?:[^'\\]|\\.)*'?|\"(?:[^\"\\]|\\.)*\"?|\b\d[\w.]*", re.DOTALL)


def changes_something(statement: str) -> bool:
    """Return whether a statement may change something. When in doubt, it may."""
    start = _BEFORE.match(statement)
    assert start is not None  # it matches nothing, too
    word = _WORD.match(statement, start.end())
    first = word[0].upper() if word else ""
    return first not in _READS and not (first in _MAY_READ and not _WRITES.search(statement))


def without_values(statement: str) -> str:
    """Return a statement with `?` for texts and numbers: they may be a person's, and the log is never deleted."""
    return _VALUE.sub("?", statement)
