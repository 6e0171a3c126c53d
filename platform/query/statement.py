"""What a statement of SQL is, as far as the log of operations needs it. Spark alone understands it."""

from __future__ import annotations

import re

#: How a statement begins that reads.
_READS = frozenset({"SELECT", "SHOW", "DESCRIBE", "DESC", "EXPLAIN", "VALUES", "TABLE"})
#: A statement that writes may begin with these, too: `WITH … INSERT`, `FROM … INSERT`.
_MAY_READ = frozenset({"WITH", "FROM"})
#: Functions that call any method of Java, and what may name one of them.
_CALLS = re.compile(r"\b(JAVA_METHOD|REFLECT|TRY_REFLECT|IDENTIFIER)\b", re.IGNORECASE)
_WRITES = re.compile(r"\b(INSERT|DELETE|UPDATE|MERGE|CREATE|REPLACE|DROP|ALTER)\b", re.IGNORECASE)
_END = re.compile(r"[\s;?]*\Z")
_WORD = re.compile(r"\w+")
#: What is left out: comments, which may be nested, texts in each spelling of Spark, and numbers. Names in backticks
#: stay, and no text begins in them. A comment of a line continues after a backslash and "\n", and "\r" ends it, too.
_PART = re.compile(
    r"(?P<name>`[^`]*`?)|(?P<comment>/\*)|(?P<line>--(?:\\\n|[^\r\n])*)|\$(?P<tag>\w*)\$.*?(?:\$(?P=tag)\$|$(?!\n))"
    r"|\b[rR](?:'[^']*'?|\"[^\"]*\"?)|'(?:[^'\\]|\\.)*'?|\"(?:[^\"\\]|\\.)*\"?|\b\d[\w.]*|\b(?i:TRUE|FALSE)\b",
    re.DOTALL,
)
#: How a statement begins in which a bare word is a name. After other words, as `SET`, `ADD JAR`, `REFRESH` and `GRANT`,
#: Spark takes the text to its end as it is, without quotation marks.
_NAME_STATEMENTS = frozenset({
    "ALTER", "ANALYZE", "BEGIN", "CACHE", "CALL", "CLEAR", "COMMENT", "CONVERT", "CREATE", "DECLARE", "DELETE", "DROP",
    "EXECUTE", "INSERT", "LOAD", "MERGE", "MSCK", "OPTIMIZE", "REORG", "REPAIR", "REPLACE", "RESTORE", "TRUNCATE",
    "UNCACHE", "UPDATE", "USE", "VACUUM", *_READS, *_MAY_READ,
})  # fmt: skip
#: What is kept of the other statements: the first word and the key of a setting.
_BARE = re.compile(
    r"([\s?(]*(?:SET\b(?:[\s?]+VAR(?:IABLE)?\b)?(?:[\s?]*(?:`[^`]*`|[\w.:?-]+))?(?:\s*=|\s+(?=\S))?|\w*))(.*)",
    re.IGNORECASE | re.DOTALL,
)
#: A list of options, and one of them. Spark takes some values that are bare words.
_OPTIONS = re.compile(
    r"(\b(?:OPTIONS|\w*PROPERTIES)\s*\()(?:(?P<all>(?:`[^`]*`|[^()`]|\([^()]*\))*)\)|.*)", re.IGNORECASE | re.DOTALL
)
_OPTION = re.compile(r"(?<![^\s=,()])((?:`[^`]*`|[^\s=,()`])++(?:\s*=\s*|\s+|(?=\()))(?:`[^`]*`|[^,()`]|\([^()]*\))+")
_COMMENT_MARK = re.compile(r"/\*|\*/")


def changes_something(statement: str) -> bool:
    """Return whether a statement may change something. When in doubt, as about several statements, it may."""
    word = _WORD.match(statement, _first_word_start(statement))
    first = word[0].upper() if word else ""
    is_read = first in _READS or (first in _MAY_READ and not _WRITES.search(statement))
    shown = _format_statement(statement)
    _, ends, rest = shown.partition(";")
    return not is_read or bool(_CALLS.search(shown)) or bool(ends and not _END.match(rest))


def without_values(statement: str) -> str:
    """Return a statement with `?` for texts, numbers, comments, and values that are bare words.

    They may be a person's values or a password, and the log is never deleted.
    """
    shown = _format_statement(statement)
    bare = _BARE.match(shown)
    assert bare is not None  # it matches nothing, too
    word = _WORD.search(bare[1])
    if word and word[0].upper() not in _NAME_STATEMENTS:
        return f"{bare[1]}?" if bare[2].strip() else shown
    return _OPTIONS.sub(lambda found: found[1] + _OPTION.sub(r"\g<1>?", found["all"] or "?") + ")", shown)


def _first_word_start(statement: str) -> int:
    """Return where the first word begins, after comments. A hint is not a comment."""
    at = 0
    while True:
        at = len(statement) - len(statement[at:].lstrip("( \t\r\n"))
        part = _PART.match(statement, at)
        if not part or not (part["line"] or part["comment"]) or statement.startswith("/*+", at):
            return at
        at = _part_end(statement, part)


def _format_statement(statement: str) -> str:
    """Return a statement with `?` for each part."""
    kept, at = [], 0
    while part := _PART.search(statement, at):
        kept += [statement[at : part.start()], part[0] if part["name"] else "?"]
        at = _part_end(statement, part)
    return "".join([*kept, statement[at:]])


def _part_end(statement: str, part: re.Match[str]) -> int:
    return _comment_end(statement, part.end()) if part["comment"] else part.end()


def _comment_end(statement: str, at: int) -> int:
    """Return where a comment ends whose text begins at a place, with the comments in it."""
    depth = 1
    for mark in _COMMENT_MARK.finditer(statement, at):
        depth += 1 if mark[0] == "/*" else -1
        if not depth:
            return mark.end()
    return len(statement)
