"""Finds words and forms that docs/internals/style.md rules out: in pages, docstrings, comments, errors, test names."""

from __future__ import annotations

import ast
import functools
import inspect
import io
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple


class Finding(NamedTuple):
    """One thing to change."""

    line: int
    problem: str


class Prose(NamedTuple):
    """One run of text, with the line that it begins on."""

    line: int
    text: str


@dataclass(frozen=True)
class Word:
    """One row of the word list.

    Attributes:
        avoid: as the page shows it.
        pattern: finds it. Spaces match line breaks too; letters match both cases.
        write: what the page names instead.
    """

    avoid: str
    pattern: str
    write: str

    def places(self, prose: Prose) -> Iterator[int]:
        """Yield lines of the matches."""
        for match in _compiled(self.pattern).finditer(prose.text):
            yield prose.line + prose.text.count("\n", 0, match.start())


@functools.cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern.replace(" ", r"\s+"), re.IGNORECASE)


_AUXILIARY = "(?:is|are|was|were|has|have|had|does|do|did|can|may|will|would|could|must|cannot)"
_IS = "(?:is|are)"
_PRONOUN = "(?:it|they|this|that|there|nothing|nobody|each|both)"
_PREPOSITION = "(?:with|of|for|in|when|from)"
_ARTICLE = "(?:the|a|an|each)"
_PLACE = "(?:there|here|in|at|under|on|below|behind)"
_NO_MORE = "(?:longer|more|less|fewer|better|larger|wider|one)"

#: The word list. The page has the same rows; a test compares both.
WORDS = (
    Word("anew", r"\banew\b", "again, from scratch"),
    Word("beside", r"\bbeside\b", "next to, in addition to"),
    Word("told, tell, tells", r"\btold\b|\btells?\b(?! apart\b)", "report, record, list, contain, show"),
    Word("is said, has said", r"\b(?:is|are|was|were|be|been|has|have|had) (?:not )?said\b", "is stated, has recorded"),
    Word("mend", r"\bmend(?:s|ed|ing)?\b", "fix"),
    Word("whoever", r"\bwho(?:m)?ever\b", "the run that, the writer that, the caller that"),
    Word("lies, lie, lay, lying", rf"\b(?:lies|lying)\b|\b(?:lie|lay)\b(?= {_PLACE}\b)", "is, is stored, exists"),
    Word("stands", r"\bstands\b(?! for\b)|\bstand there\b|\bas (?:they|it) stands?\b", "is, exists, is written"),
    Word("is to, are to", rf"\b{_IS} to be\b|\b(?:it|that|which|they) {_IS} to (?!{_ARTICLE}\b)", "should, must"),
    Word("is meant", r"\b(?:is|are|was|were) meant\b", "is intended, means"),
    Word("the same (without a noun)", rf"(?:\A|[.!?] )the (?:same|others?)(?:[,;:.]| {_PREPOSITION}\b)", "the noun"),
    Word("for (as a conjunction)", rf", for {_PRONOUN} {_AUXILIARY}\b", "because"),
    Word("goes on, went on", r"\b(?:goes|go|went|gone) on\b(?! (?:top|its own|a)\b)", "continues, resumes"),
    Word("set apart", r"\b(?:sets?|setting) (?:\w+ )?apart\b", "quarantine"),
    Word("take away", r"\b(?:takes?|took|taken|taking) (?:\w+ )?away\b", "remove"),
    Word("a look (as a noun)", r"\b(?:a|another|each|every) look\b", "a read, an attempt, a listing"),
    Word("once more", r"\bonce more\b", "again"),
    Word("is no", rf"(?<!there\s)\b(?:is|are|was|were) no\b(?!\s*{_NO_MORE}\b)", "is not a, are not"),
)  # fmt: skip

_ANY = _compiled("|".join(word.pattern for word in WORDS))
_SUMMARY = re.compile(r"; (?:the|what|how|who|its|whether)\b")
#: Indented lines after an empty line: examples of code.
_CODE = re.compile(r"(?<=\n\n) {4}.*(?:\n+ {4}.*)*")
_ENTRY = re.compile(r"^ +\w+: (?:The|A|An|How|What|Which|Whether|Where|When|If|Each|All|Its|One) ", re.MULTILINE)


def page_findings(text: str) -> list[Finding]:
    """Return what to change in a page of Markdown. Code, and the targets of links, are not read."""
    return _words(Prose(1, _without_markdown_code(text)))


def python_findings(source: str) -> list[Finding]:
    """Return what to change in a Python module: docstrings, comments, texts of errors and options, names of tests and
    limits.

    Raises:
        SyntaxError: `source` is not Python.
    """
    nodes = list(ast.walk(ast.parse(source)))
    found: list[Finding] = []
    for docstring in _docstrings(nodes):
        found += _docstring_form(docstring)
        found += _words(docstring)
    for prose in [*_comments(source), *_shown_texts(nodes), *_test_names(nodes)]:
        found += _words(prose)
    found += [
        Finding(node.lineno, f"{node.id}: a limit is named MAX_…")
        for node in nodes
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id.lstrip("_").startswith("MOST_")
    ]
    return sorted(found)


def java_findings(source: str) -> list[Finding]:
    """Return what to change in the comments of a Java file, Javadoc included."""
    found: list[Finding] = []
    for prose in _java_comments(source):
        found += _words(prose)
    return sorted(found)


def comment_findings(text: str) -> list[Finding]:
    """Return what to change in the comments of a file whose comments begin with `#`, such as YAML, TOML or
    a Makefile.
    """
    lines = [re.search(r"(?:^|\s)#+[: ]+(.*)", line) for line in text.split("\n")]
    return _words(Prose(1, "\n".join(match[1] if match else "…" for match in lines)))


def _words(prose: Prose) -> list[Finding]:
    """Return words of the list. What is in backticks is code and not read."""
    read = Prose(prose.line, re.sub(r"`+[^`]+`+", _blank, prose.text))
    if not _ANY.search(read.text):
        return []
    return [Finding(line, f"{word.avoid}: {word.write}") for word in WORDS for line in word.places(read)]


def _docstring_form(docstring: Prose) -> Iterator[Finding]:
    """Shape of the summary, kind of backticks, entries of `Args:`."""
    summary = re.split(r"\n\s*\n", docstring.text, maxsplit=1)[0]
    if _SUMMARY.search(" ".join(summary.split())):
        yield Finding(docstring.line, "the summary has '; the': write a sentence that begins with Returns")
    if "``" in docstring.text:
        yield Finding(docstring.line, "double backticks: write single ones")
    for match in _ENTRY.finditer(docstring.text):
        line = docstring.line + docstring.text.count("\n", 0, match.start())
        yield Finding(line, "an entry of Args, Returns or Raises begins with a capital letter")


def _docstrings(nodes: list[ast.AST]) -> Iterator[Prose]:
    for node in nodes:
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            match node.body:
                case [ast.Expr(value=ast.Constant(value=str(text)) as constant), *_]:
                    yield Prose(constant.lineno, _CODE.sub(_blank, inspect.cleandoc(text)))


def _comments(source: str) -> Iterator[Prose]:
    """Yield comments; lines of one comment are one text."""
    lines: list[tokenize.TokenInfo] = []
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type != tokenize.COMMENT or token.string.startswith(("#!", "# type:", "# noqa", "# fmt:")):
            continue
        if lines and (token.start[0] != lines[-1].start[0] + 1 or token.start[1] != lines[-1].start[1]):
            yield _joined(lines)
            lines = []
        lines.append(token)
    if lines:
        yield _joined(lines)


def _joined(lines: list[tokenize.TokenInfo]) -> Prose:
    return Prose(lines[0].start[0], "\n".join(token.string.lstrip("#: ") for token in lines))


def _shown_texts(nodes: list[ast.AST]) -> Iterator[Prose]:
    """Yield texts of errors that are raised here, and values of `help=` and `description=`."""
    for node in nodes:
        match node:
            case ast.Raise(exc=ast.Call(args=args)):
                values = list(args)
            case ast.keyword(arg="help" | "description", value=value):
                values = [value]
            case _:
                continue
        for value in values:
            parts = value.values if isinstance(value, ast.JoinedStr) else [value]
            texts = [part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str)]
            if texts:
                yield Prose(value.lineno, "…".join(texts).replace("\n", " "))


def _test_names(nodes: list[ast.AST]) -> Iterator[Prose]:
    """Yield the names of tests, which are sentences: they are cited in pages and printed when a test fails."""
    for node in nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
            yield Prose(node.lineno, node.name.removeprefix("test_").replace("_", " "))


_JAVA = re.compile(
    r"""\"{3}[\s\S]*?\"{3}  |  "(?:\\.|[^"\\\n])*"  |  '(?:\\.|[^'\\\n])+'  # texts and characters, without a group
    | (/\*[\s\S]*?\*/)  |  (//[^\n]*(?:\n\s*//[^\n]*)*)""",
    re.VERBOSE,
)


def _java_comments(source: str) -> Iterator[Prose]:
    """Yield comments of both kinds. Marks, tags and code are taken out."""
    for match in _JAVA.finditer(source):
        if comment := match[1] or match[2]:
            text = re.sub(r"^\s*(?:/\*+|\*/|\*|//)", "", comment, flags=re.MULTILINE).replace("*/", "")
            text = re.sub(r"\{@(?:code|link|linkplain)\s[^}]*\}|</?\w+>", _blank, text)
            yield Prose(1 + source.count("\n", 0, match.start()), text.strip(" "))


def _without_markdown_code(text: str) -> str:
    """Return a page without fenced blocks, code in a line and targets of links; lines keep their numbers."""
    text = re.sub(r"^( *)```.*?^\1```", _blank, text, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"(`+)[^`]+\1", _blank, text)
    return re.sub(r"\]\([^)\s]*\)", _blank, text)


def _blank(match: re.Match[str]) -> str:
    """Return as many lines as the match has, without words."""
    return "…" + "\n" * match[0].count("\n")
