"""YAML with line numbers, so that every problem of a configuration can name its line and field, and values as YAML."""

from __future__ import annotations

import difflib
import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, get_args

import yaml
from pydantic import BaseModel, ValidationError

Location = tuple[str | int, ...]
"""Path of a value in the document, e.g. `("tables", 0, "silver", "keys")`."""


_VARIABLE = re.compile(
    r"(?P<literal>\$\$\{)|\$\{(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?::-(?P<default>[^}]*))?\}|(?P<broken>\$\{[^}]*\}?)"
)
#: Names of variables that hold secrets, of Tidegate's own clients and by custom.
_SECRET = re.compile(
    r"(AWS|SPARK)_(?!(DEFAULT_)?REGION$|ACCOUNT_ID$).*|.*(SECRET|TOKEN|PASSW|CREDENTIAL|(ACCESS|PRIVATE|API)_?KEY).*",
    re.IGNORECASE,
)
#: Values that aliases may stand for in addition to the first place of each: nine lines of them can stand for millions.
_MAX_REPEATED = 10_000
#: Levels of lists and mappings in each other. A lake has a tenth of them.
_MAX_LEVELS = 100
#: Templates of Dagster's `dg` for variables of the environment.
_TEMPLATE = re.compile(
    r"""\{\{\s*env(?:\.(?P<attribute>\w+)|\(\s*(['"])(?P<name>\w+)\2(?:\s*,\s*(['"])(?P<default>[^'"}]*)\4)?\s*\))\s*\}\}"""
)
_COLLECTION_TAGS = frozenset({"tag:yaml.org,2002:map", "tag:yaml.org,2002:seq"})

#: What YAML does not allow in a text, and what would be read as a line end.
_UNPRINTABLE = re.compile("[\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")


def format_location(where: Location) -> str:
    """Return a location as people write it: `tables[0].silver.keys`."""
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in where)
    return text.removeprefix(".")


@dataclass(frozen=True)
class Problem:
    """A problem at one place of the document.

    Attributes:
        where: the place.
        message: the problem and the remedy.
        line: line (from 1) if the document has no value at `where`.
        related: another place that the problem concerns. The message names its line too.
    """

    where: Location
    message: str
    line: int | None = None
    related: Location | None = None

    def __str__(self) -> str:
        return f"{format_location(self.where)}: {self.message}" if self.where else self.message


@dataclass
class YamlDocument:
    """A parsed document.

    Attributes:
        data: mappings, lists and scalars, with environment variables expanded.
        lines: line (from 1) of every value; a mapping's value has the line of its key.
        problems: errors in the text itself.
    """

    data: Any = None
    lines: dict[Location, int] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def text_of(self, problem: Problem) -> str:
        """Return the text of a problem, with the line of its related place if there is one."""
        return f"{problem}; see line {self.line_of(problem.related)}" if problem.related else str(problem)

    def line_of(self, where: Location) -> int:
        """Return the line of a value, or of the nearest enclosing value that exists."""
        while where and where not in self.lines:
            where = where[:-1]
        return self.lines.get(where, 1)

    def part(self, inside: Location) -> YamlDocument:
        """Return the part of the document at a place, with the lines of the document.

        A problem elsewhere stays, without a place in the part.
        """
        data, depth = self.data, len(inside)
        for step in inside:
            data = data.get(step) if isinstance(data, Mapping) else None

        def move_problem(problem: Problem) -> Problem:
            line = problem.line or self.line_of(problem.where)
            if problem.where[:depth] == inside:
                return replace(problem, where=problem.where[depth:], line=line)
            return Problem((), str(problem), line)

        return YamlDocument(
            data,
            {where[depth:]: line for where, line in self.lines.items() if where[:depth] == inside},
            [move_problem(problem) for problem in self.problems],
        )


def read_yaml(text: str, env: Mapping[str, str] | None = None) -> YamlDocument:
    """Read one YAML document and expands `${NAME}` and `${NAME:-default}` in its values. `$${` stands for `${`.

    Args:
        text: the document.
        env: values of the variables; the process's environment if None.

    Returns:
        The document. It never raises: syntax errors, keys given twice and unset variables are in `problems`.
    """
    document, *more = read_yaml_documents(text, env)
    if more:
        document.problems.append(Problem((), "a second document begins here; remove it", line=more[0].lines[()]))
    return document


def read_yaml_documents(text: str, env: Mapping[str, str] | None = None) -> list[YamlDocument]:
    """Read all YAML documents of a text, each as `read_yaml` does. Their lines are those of the text.

    Returns at least one document. If the text is not valid YAML, that is the only problem of the only document.
    """
    documents: list[YamlDocument] = []
    try:
        loader = _Loader(text)
        while loader.check_node() and (node := loader.get_node()) is not None:
            document = YamlDocument()
            document.lines[()] = node.start_mark.line + 1
            document.data = _Walk(loader, document, os.environ if env is None else env).value(node, (), ())
            documents.append(document)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        reason = ", ".join(part for part in (error.context, error.problem) if part)
        return [_invalid_document(f"{reason}{_remedy(error)}", mark.line + 1 if mark else 1)]
    except yaml.YAMLError as error:
        return [_invalid_document(str(error).splitlines()[0], 1)]
    return documents or [YamlDocument()]


def _invalid_document(reason: str, line: int) -> YamlDocument:
    return YamlDocument(problems=[Problem((), f"not valid YAML: {reason}", line=line)])


def _remedy(error: yaml.MarkedYAMLError) -> str:
    """Return what to do about a mistake that YAML's own words do not explain."""
    problem, context = error.problem or "", error.context or ""
    if "'\\t'" in problem:
        return "; indent with blanks, not with tabs"
    if "cannot start any token" in problem:
        return "; put the text in quotes"
    if "flow" in context:
        return "; within [ ] and { } put a text with one of , : { } [ ] in quotes, and also ${NAME}"
    if "mapping values are not allowed" in problem:
        return '; correct the indentation of this line, or put a text with ": " in quotes'
    if "block" in context:
        return "; correct the indentation of this line: fields of one section begin in the same column"
    return ""


class _Loader(yaml.SafeLoader):
    """Composes nodes, each level of which takes a part of Python's stack."""

    _level = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        """Return the next node. A document has `_MAX_LEVELS` at most."""
        self._level += 1
        if self._level > _MAX_LEVELS and not self.check_event(yaml.ScalarEvent, yaml.AliasEvent):
            mark = None if parent is None else parent.start_mark
            raise yaml.MarkedYAMLError(problem=f"nested deeper than {_MAX_LEVELS} levels", problem_mark=mark)
        try:
            return super().compose_node(parent, index)
        finally:
            self._level -= 1


class _Walk:
    """Turns nodes into plain values, noting lines and problems on the way."""

    def __init__(self, loader: yaml.SafeLoader, document: YamlDocument, env: Mapping[str, str]) -> None:
        self._loader, self._document, self._env = loader, document, env
        self._seen: set[int] = set()
        self._repeated = 0

    def value(self, node: yaml.Node, where: Location, around: tuple[yaml.Node, ...]) -> Any:
        if any(node is outer for outer in around):
            self._problem(where, "an alias that contains itself")
            return None
        if self._is_too_much(node, where):
            return None
        if isinstance(node, yaml.CollectionNode) and node.tag not in _COLLECTION_TAGS:
            self._problem(where, f"the tag {node.tag!r} has no meaning here; remove it")
            return None
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, where, (*around, node))
        if isinstance(node, yaml.SequenceNode):
            items = []
            for index, item in enumerate(node.value):
                self._document.lines[(*where, index)] = item.start_mark.line + 1
                items.append(self.value(item, (*where, index), (*around, node)))
            return items
        return self._scalar(node, where)

    def _is_too_much(self, node: yaml.Node, where: Location) -> bool:
        self._repeated += id(node) in self._seen
        self._seen.add(id(node))
        if self._repeated == _MAX_REPEATED + 1:
            self._repeated += 1
            self._problem(where, f"aliases stand for more than {_MAX_REPEATED:,} values; write fewer")
        return self._repeated > _MAX_REPEATED

    def _mapping(self, node: yaml.MappingNode, where: Location, around: tuple[yaml.Node, ...]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            if not isinstance(key_node, yaml.ScalarNode):
                self._document.problems.append(Problem(where, "a key must be plain text", line=line))
                continue
            # The text as written: YAML 1.1 would make True of a column named `on`.
            key = key_node.value
            inner = (*where, key)
            if key in found:
                first = self._document.lines[inner]
                self._document.problems.append(
                    Problem(inner, f"given twice, first in line {first}; remove one", line=line)
                )
                continue
            self._document.lines[inner] = line
            found[key] = self.value(value_node, inner, around)
        return found

    def _scalar(self, node: yaml.Node, where: Location) -> Any:
        try:
            value = self._loader.construct_object(node)
        except (yaml.YAMLError, ValueError) as error:
            self._problem(where, f"{node.value!r} is not valid: {getattr(error, 'problem', None) or error}")
            return None
        return self._expand_variables(value, where) if isinstance(value, str) else value

    def _expand_variables(self, text: str, where: Location) -> str | None:
        def replace(found: re.Match[str]) -> str:
            if found["literal"]:
                return "${"
            if found["broken"]:
                self._problem(
                    where, f"{found['broken']!r} is neither ${{NAME}} nor ${{NAME:-default}}; a literal ${{ is $${{"
                )
                return found[0]
            name = found["name"]
            if _SECRET.fullmatch(name):
                # Who wrote the file may be somebody else than who runs it, and a value may be an address.
                self._problem(
                    where,
                    f"the environment variable {name} may be a secret, which no value here can be; use another name",
                )
                return found[0]
            value = self._env.get(name) or found["default"]
            if value is None:
                self._problem(
                    where,
                    f"the environment variable {name} is not set; set it, or write ${{{name}:-default}}",
                )
                return found[0]
            return value

        # `dlq: ${DLQ:-}` means no queue, unless the environment names one.
        return _VARIABLE.sub(replace, _TEMPLATE.sub(_variable, text)) or (None if text else text)

    def _problem(self, where: Location, message: str) -> None:
        self._document.problems.append(Problem(where, message))


def _variable(template: re.Match[str]) -> str:
    name, default = template["attribute"] or template["name"], template["default"]
    return f"${{{name}}}" if default is None else f"${{{name}:-{default}}}"


def validation_problems(model: type[BaseModel], error: ValidationError) -> Iterator[Problem]:
    """Yield Pydantic's errors as readable problems. An unknown field suggests the nearest known field."""
    details = error.errors(include_url=False)
    for detail in details:
        where = tuple(step for step in detail["loc"] if not str(step).startswith("["))
        if detail["type"] == "too_short" and any(_is_below(other["loc"], where) for other in details):
            continue  # pydantic counts the valid entries only
        message = detail["msg"][:1].lower() + detail["msg"][1:]
        match detail["type"]:
            case "value_error":
                message = str(detail["ctx"]["error"])
            case "extra_forbidden":
                message = f"unknown field; {_suggest_field(model, where)}"
            case "too_short":
                message = "needs at least one entry"
            case "missing":
                message = "is missing and has no default"
            case "string_type" if detail["input"] is None and str(where[-1]).endswith(")"):
                message = "is the rest of a type that YAML cuts at its comma; put the type in quotes"
            case "string_type" | "model_type" | "tuple_type" | "dict_type" if detail["input"] is None:
                message = "is empty; give it a value or remove it"
            case "string_type" if isinstance(detail["input"], bool | int | float):
                message = f"must be text, and YAML reads this as {detail['input']!r}; put it in quotes"
            case "model_type" | "model_attributes_type":
                message = f"must be a mapping of fields: {', '.join(_field_names(_model_at(model, where)))}"
            case "tuple_type":
                message = "must be a list"
            case "dict_type":
                message = "must be a mapping"
        yield Problem(where, message)


def empty_sections(model: type[BaseModel], data: Any, where: Location = ()) -> Iterator[Problem]:
    """Yield sections without a value.

    Of an optional section the model takes none as absent, which its author did not mean.

    Args:
        model: of the data.
        data: a mapping, as the document has it.
        where: its place in the document.
    """
    for name, info in model.model_fields.items():
        inner, key = _model_in(info.annotation), info.alias or name
        if inner is None or not isinstance(data, Mapping) or key not in data:
            continue
        value = data[key]
        if value is None and info.default is None:
            yield Problem((*where, key), "is empty; give it fields, or {} for their defaults, or remove it")
        for index, item in enumerate(value if isinstance(value, list) else ()):
            yield from empty_sections(inner, item, (*where, key, index))
        yield from empty_sections(inner, value, (*where, key))


def _suggest_field(model: type[BaseModel], where: Location) -> str:
    """Return which field an unknown field may be: a field of a section whose lines are not indented, or one spelled
    alike.
    """
    section, name = _model_at(model, where[:-1]), str(where[-1])
    names = _field_names(section)
    if near := difflib.get_close_matches(name, names, n=1, cutoff=0.8):
        return f"did you mean {near[0]!r}?"
    for title, info in section.model_fields.items():
        inner = _model_in(info.annotation)
        if inner and name in _field_names(inner):
            return f"{name!r} is a field of `{title}`: indent it below `{title}:`"
    if section is not model and name in _field_names(model):
        return f"{name!r} is a field of the whole file: write it without indentation"
    near = difflib.get_close_matches(name, names, n=1)
    return f"did you mean {near[0]!r}?" if near else f"known here: {', '.join(names)}"


def _is_below(inner: Location, outer: Location) -> bool:
    return len(inner) > len(outer) and inner[: len(outer)] == outer


def _field_names(model: type[BaseModel]) -> list[str]:
    """Return the fields as `lake.yaml` spells them: those of the section, then those that it shares with others."""
    shared = {name for base in model.__bases__ for name in getattr(base, "model_fields", ())}
    own_first = sorted(model.model_fields.items(), key=lambda named: named[0] in shared)
    return [field.alias or name for name, field in own_first]


def _model_at(model: type[BaseModel], where: Location) -> type[BaseModel]:
    for step in where:
        if isinstance(step, str) and step in model.model_fields:
            model = _model_in(model.model_fields[step].annotation) or model
    return model


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for part in get_args(annotation) if (found := _model_in(part))), None)


def flow(value: Any) -> str:
    """Return a text, a number, a list or a mapping as YAML in one line. Nothing in it is expanded when it is read."""
    if isinstance(value, Mapping):
        # Variables are expanded in values, not in keys.
        return "{" + ", ".join(f"{_quote_text(key)}: {flow(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(flow, value)) + "]"
    return _quote_text(value.replace("${", "$${")) if isinstance(value, str) else json.dumps(value)


def _quote_text(text: str) -> str:
    return _UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(text, ensure_ascii=False))
