"""Finds names and docstrings of Python that docs/internals/style.md rules out.

What a name may be depends on what it names: a function says its effect or its result, so a participle, an adjective or
a preposition alone is not the name of one. A property is a value, and may have such a name.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.support.style import WORDS, Finding, Prose


def _lists(text: str) -> dict[str, frozenset[str]]:
    """Return the lists of words by name: a name ends with a colon, and indented lines below have its words."""
    found: dict[str, list[str]] = {}
    for line in text.splitlines():
        if line.endswith(":") and line[:1].isalpha():
            words = found.setdefault(line[:-1], [])
        elif line.startswith(" "):
            words += line.split()
    return {name: frozenset(words) for name, words in found.items()}


_WORDS = _lists(Path(__file__).with_name("words.txt").read_text(encoding="utf-8"))
_PARTICIPLE = re.compile(r"\w+(?:ed|ing)")
#: Beginnings that are nouns of the glossary.
_NOUNS = ("after_load", "after_notes")
#: Names that a library asks for.
_PROTOCOLS = {"readable"}
#: Decorators whose function has the name of something in Dagster or on the command line.
_NAMED_OUTSIDE = re.compile(
    r"\b(?:asset|multi_asset|asset_check|multi_asset_check|op|job|sensor|schedule|command|callback)\b"
)
#: Locals that say nothing of what they are.
_EMPTY = {"one", "ones", "well", "ill", "such", "those", "these"}
#: What follows a verb in names such as `left_over`.
_ADVERBS = {"away", "back", "down", "off", "out", "over", "up"}
#: Beginnings of functions that make a value of another one, or a changed copy.
_MAKERS = {"from", "to", "with", "without"}
_PROPERTY = re.compile(r"property\b|\.(?:setter|deleter)\b")
#: An entry of `Args:` or `Attributes:` in one line, without code.
_ENTRY = re.compile(r" +(\w+): ([^`]+)")
#: Words that say nothing of an argument, and those that say what its type says.
_ARTICLES = frozenset(["the", "a", "an", "of", "its", "their", "in", "with", "this"])
_SAID_BY_TYPE = {
    "Changes": "rows merge to",
    "Clock": "table ledger",
    "Console": "takes output progress report and",
    "Delta": "reads writes tables table and handle on",
    "KeyRows": "queries table",
    "Lake": "reads tables",
    "LakeConfig": "yaml",
    "LakeNames": "lake",
    "LakeStore": "lake own objects",
    "MergeRules": "what row bronze is silver",
    "ObjectStore": "handle on S3",
    "Outbox": "lake",
    "PendingMerge": "what is pending",
    "SilverSpec": "options",
    "SparkSession": "of",
    "TableKey": "table",
    "TableSpec": "table configuration",
    "datetime": "time",
}


def name_findings(source: str, *, product: bool) -> list[Finding]:
    """Return the names to change in a module: words of the list, empty names of variables, names of functions.

    Args:
        source: the module.
        product: whether names of functions are held to the rule of participles and prepositions.

    Raises:
        SyntaxError: `source` is not Python.
    """
    found = []
    for node in ast.walk(ast.parse(source)):
        for line, name in _defined(node):
            text = _as_text(name)
            found += [
                Finding(line, f"{name}: {word.avoid}: {word.write}")
                for word in WORDS
                if list(word.places(Prose(line, text)))
            ]
            if name in _EMPTY:
                found.append(Finding(line, f"{name}: write the noun of the value"))
        if product and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and (why := _function_problem(node)):
            found.append(Finding(node.lineno, f"{node.name}: {why}"))
    return sorted(found)


def module_problem(name: str) -> str | None:
    """Return why a module of the product cannot have a name: a module has the noun of what is in it. None if it can.

    Args:
        name: of the module, without `.py`.
    """
    if name.startswith("__"):
        return None
    found = [f"{word.avoid}: {word.write}" for word in WORDS if list(word.places(Prose(1, name.replace("_", " "))))]
    first, *others = name.split("_")
    if not others and (_is_participle(first) or first in _WORDS["vague"]):
        found.append("a participle or an adjective alone: name what is in it")
    if others and not name.startswith(_NOUNS) and {first, others[-1]} & (_WORDS["prepositions"] | _ADVERBS):
        found.append("begins or ends with a preposition: name what is in it")
    return "; ".join(found) or None


def mood_findings(source: str) -> list[Finding]:
    """Return the functions whose docstring does not begin with a verb in the imperative.

    Properties are values, and tests are sentences: neither is read.

    Raises:
        SyntaxError: `source` is not Python.
    """
    found = []
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or node.name.startswith("test_"):
            continue
        words = (ast.get_docstring(node) or "").split(maxsplit=1)
        if not words or _has_decorator(node, _PROPERTY):
            continue
        verb = words[0].rstrip(".,:;")
        if not (verb[:1].isupper() and verb.lower() in _WORDS["verbs"]):
            found.append(Finding(node.lineno, f"{node.name}: its docstring begins with {verb!r}, not with a verb"))
    return sorted(found)


def restated_arguments(source: str) -> list[Finding]:
    """Return the entries of `Args:` and `Attributes:` that only repeat the name or the type of what they describe.

    Raises:
        SyntaxError: `source` is not Python.
    """
    found, lines = [], source.splitlines()
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) or not ast.get_docstring(node):
            continue
        types = _types_in(node)
        for number in range(node.body[0].lineno, (node.body[0].end_lineno or 0) - 1):
            entry, following = _ENTRY.fullmatch(lines[number]), lines[number + 1]
            if not entry or entry[1] not in types or _indent(following) > _indent(lines[number]):
                continue
            known = _words_of(entry[1]) | _words_of(types[entry[1]]) | _ARTICLES
            known |= _words_of(_SAID_BY_TYPE.get(types[entry[1]], ""))
            if _words_of(entry[2]) <= known:
                found.append(Finding(number + 1, f"{entry[1]}: its name and type say this: leave the line out"))
    return sorted(found)


def _types_in(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> dict[str, str]:
    """Return the types of the arguments of a function, or of the attributes and of what makes an object of a class."""
    if isinstance(node, ast.ClassDef):
        methods = [each for each in node.body if isinstance(each, ast.FunctionDef) and each.name == "__init__"]
        fields = [each for each in node.body if isinstance(each, ast.AnnAssign)]
        types = {ast.unparse(each.target): ast.unparse(each.annotation) for each in fields}
        return {name: text for method in methods for name, text in _types_in(method).items()} | types
    arguments = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
    return {argument.arg: ast.unparse(argument.annotation) for argument in arguments if argument.annotation}


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _words_of(text: str) -> frozenset[str]:
    """Return the words of a text, and those in its names, without a plural or a genitive."""
    parts = re.findall(r"[A-Z]?[a-z]+|[A-Z]+[0-9]?(?![a-z])", text.replace("'s", ""))
    return frozenset(part.lower().removesuffix("s") if len(part) > 2 else part.lower() for part in parts)


def _function_problem(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str | None:
    """Return why a name cannot be that of a function. None if it can."""
    if (
        _has_decorator(node, _PROPERTY)
        or _has_decorator(node, _NAMED_OUTSIDE)
        or node.name in _PROTOCOLS
        or node.name.endswith("__")
    ):
        return None
    first, *others = node.name.strip("_").split("_")
    if others:
        if first not in _MAKERS and all(_is_participle(word) or word in _WORDS["vague"] for word in (first, *others)):
            return "has neither a noun nor a verb: name the result or the effect"
        if first in _WORDS["prepositions"] and not node.name.strip("_").startswith(_NOUNS):
            return f"begins with {first!r}: name the result or the effect"
        return None
    if _is_participle(first):
        return "a participle alone is not a name of a function"
    return "name the result or the effect of the function" if first in _WORDS["vague"] else None


def _is_participle(word: str) -> bool:
    """Return whether a word is a participle and not a noun too."""
    ends_so = _PARTICIPLE.fullmatch(word) and word not in _WORDS["not participles"]
    return word in _WORDS["participles"] or bool(ends_so)


def _has_decorator(node: ast.FunctionDef | ast.AsyncFunctionDef, pattern: re.Pattern[str]) -> bool:
    return any(pattern.search(ast.unparse(decorator)) for decorator in node.decorator_list)


def _defined(node: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield the names that a node defines: a function, a class, a parameter, a variable or an attribute."""
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            if not name.startswith("test_"):
                yield node.lineno, name
        case ast.arg(arg=name):
            yield node.lineno, name
        case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
            yield node.lineno, name
        case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
            yield node.lineno, name


def _as_text(name: str) -> str:
    """Return a name as words: `TakenAway` and `_TAKEN_AWAY` become `taken away`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name).replace("_", " ").strip().lower()
