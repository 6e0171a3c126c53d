"""The resources of Terraform: of the state that it shows, with every value, or of the files of a project.

A state has no variables any more, so it is the better source. Files are evaluated as far as values are texts,
variables, locals, arguments of other resources, `jsonencode` and `merge`. Every other expression stays as it is
written, `${…}`, and the caller that needs the value says where it is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tidegate.platform.core.errors import BadSetting, BadValue
from tidegate.platform.core.foreign_json import deep_value_end, foreign_json
from tidegate.platform.core.wording import first_line

#: The argument by which a resource is found. Its `arn`, `id` and `url` lead to it, so that every link is a name.
_NAMES = {
    "aws_s3_bucket": "bucket",
    "aws_sqs_queue": "name",
    "aws_sns_topic": "name",
    "aws_lambda_function": "function_name",
    "aws_dynamodb_table": "name",
    "aws_cloudwatch_event_rule": "name",
    "aws_glue_catalog_database": "name",
}
_LEADS = frozenset({"arn", "id", "url", "invoke_arn", "qualified_arn"})
_REFERENCE = re.compile(r"\$\{([\w-]+(?:\.[\w-]+|\[\d+\])+)\}")
_CALL = re.compile(r"\$\{(jsonencode|merge)\((.*)\)\}", re.DOTALL)
#: First number of the formats of `terraform show -json` that can be read, and the version of a state.
_SHOWN, _STATE = ("0", "1"), 4
#: Values of a state, and levels of HCL: its parser takes the stack for each of them.
_MAX_VALUES, _MAX_LEVELS = 1 << 24, 40
_SHOW = "`terraform show -json > state.json`"


@dataclass(frozen=True)
class Resource:
    """A resource.

    Attributes:
        address: as Terraform names it, such as `module.lake.aws_sqs_queue.events[0]`.
        type: such as `aws_sqs_queue`.
        values: its arguments by name; a block is a list of mappings. An expression that is not known is `${…}`.
        where: its file, with the line if the file is HCL.
    """

    address: str
    type: str
    values: Mapping[str, Any]
    where: str

    def __post_init__(self) -> None:
        """Raise TypeError if the document that the resource is from has another shape."""
        if not (isinstance(self.address, str) and isinstance(self.type, str) and isinstance(self.values, Mapping)):
            raise TypeError(self.where)

    def text(self, name: str) -> str:
        """Return an argument as a text; empty if there is none."""
        value = self.values.get(name)
        return value if isinstance(value, str) else ""

    def blocks(self, name: str) -> list[Mapping[str, Any]]:
        """Return the blocks of a name."""
        found = self.values.get(name)
        return [each for each in (found if isinstance(found, list) else [found]) if isinstance(each, Mapping)]

    def document(self, name: str) -> Mapping[str, Any]:
        """Return an argument that is a JSON document; empty if it is none."""
        value = self.values.get(name)
        if isinstance(value, str) and not is_unknown(value):
            try:
                value = foreign_json(value)
            except ValueError:
                return {}
        return value if isinstance(value, Mapping) else {}

    def __str__(self) -> str:
        return f"{self.where}: {self.address}"


def is_unknown(value: Any) -> bool:
    """Return whether a value is, or has, an expression that the files do not resolve."""
    return isinstance(value, str) and "${" in value


def name_of(value: Any) -> str:
    """Return the name in an ARN, a URL of a queue, or a name."""
    text = value if isinstance(value, str) else ""
    if is_unknown(text):
        return text
    called = re.search(r":function:([^:/]+)", text)
    return called[1] if called else re.split("[:/]", text)[-1]


def read_terraform(files: Mapping[str, str]) -> list[Resource]:
    """Return the resources of files, by address. What a state has of an address counts, not what HCL says.

    Args:
        files: texts by file name. `.tf` and `.tfvars` are HCL, `.tfvars.json` has variables, and every other file is a
            state.

    Raises:
        BadValue: a file is none of these, or of another version.
        BadSetting: HCL needs a package that is not installed.
    """
    found: dict[str, Resource] = {}
    project = _Project()
    for name, text in files.items():
        if name.endswith((".tf", ".tfvars")):
            project.add(name, text)
        elif name.endswith(".tfvars.json"):
            project.given.update(_json(name, text))
        else:
            try:
                found.update((each.address, each) for each in _state(name, text))
            except (AttributeError, KeyError, TypeError):
                raise BadValue(
                    f"{name} is not shaped as Terraform writes a state: give the output of {_SHOW}"
                ) from None
    for each in project.resources():
        found.setdefault(each.address, each)
    return list(found.values())


def _json(name: str, text: str) -> Mapping[str, Any]:
    try:
        found = foreign_json(text, max_values=_MAX_VALUES)
    except ValueError as error:
        raise BadValue(
            f"{name} is not Terraform: no HCL in a file .tf, and as a state it {first_line(error)}"
        ) from None
    if not isinstance(found, Mapping):
        raise BadValue(f"{name} is JSON, and not a state of Terraform: give the output of {_SHOW}")
    return found


def _state(name: str, text: str) -> Iterator[Resource]:
    document = _json(name, text)
    if "format_version" in document:
        version = str(document["format_version"])
        if version.split(".")[0] not in _SHOWN:
            raise BadValue(f"{name} has the format {version} of `terraform show -json`, and only 1 can be read here")
        prior = document.get("prior_state") or {}
        values = document.get("values") or prior.get("values") or document.get("planned_values") or {}
        yield from _module(name, values.get("root_module") or {})
    elif "lineage" in document or "terraform_version" in document:
        if document.get("version") != _STATE:
            raise BadValue(
                f"{name} is a state of version {document.get('version')}, and only {_STATE} can be read here: give "
                f"the output of {_SHOW}"
            )
        yield from _raw_state(name, document)
    else:
        raise BadValue(f"{name} is JSON, and not a state of Terraform: give the output of {_SHOW}")


def _module(name: str, module: Mapping[str, Any]) -> Iterator[Resource]:
    for each in module.get("resources") or ():
        if each.get("mode") == "managed":
            yield Resource(each["address"], each["type"], each.get("values") or {}, name)
    for child in module.get("child_modules") or ():
        yield from _module(name, child)


def _raw_state(name: str, document: Mapping[str, Any]) -> Iterator[Resource]:
    for each in document.get("resources") or ():
        for instance in each.get("instances") or () if each.get("mode") == "managed" else ():
            key = instance.get("index_key")
            index = "" if key is None else f"[{json.dumps(key)}]"
            module = f"{each['module']}." if each.get("module") else ""
            address = f"{module}{each['type']}.{each['name']}{index}"
            yield Resource(address, each["type"], instance.get("attributes") or {}, name)


def _parse(name: str, text: str) -> Mapping[str, Any]:
    try:
        import hcl2
        from hcl2.utils import SerializationOptions
        from lark.exceptions import LarkError
    except ImportError:
        raise BadSetting(
            f"reading {name} needs python-hcl2: pip install 'tidegate[migrate]', or give the output of {_SHOW}, which "
            "needs no package"
        ) from None
    if deep_value_end(f"[{text}]", 0, _MAX_LEVELS + 1) is not None:
        raise BadValue(f"{name} has more than {_MAX_LEVELS} levels of blocks and brackets: give the output of {_SHOW}")
    options = SerializationOptions(
        with_comments=False, explicit_blocks=False, preserve_heredocs=False, strip_string_quotes=True
    )
    try:
        return hcl2.loads(text if text.endswith("\n") else f"{text}\n", serialization_options=options)
    except LarkError as error:
        line = getattr(error, "line", None)
        raise BadValue(f"{name}{f':{line}' if line else ''}: this is not HCL: {first_line(error)}") from None


def _merge_maps(maps: list[Any]) -> dict[str, Any]:
    """Return what is known of several maps in one. What is not known of them is a key of its own."""
    found: dict[str, Any] = {}
    for each in maps:
        found.update(each if isinstance(each, Mapping) else {str(each): each})
    return found


@dataclass
class _Project:
    """The files of a project, whose expressions name each other."""

    given: dict[str, Any] = field(default_factory=dict)
    defaults: dict[str, Any] = field(default_factory=dict)
    locals: dict[str, Any] = field(default_factory=dict)
    declared: dict[tuple[str, str], Mapping[str, Any]] = field(default_factory=dict)
    places: dict[tuple[str, str], str] = field(default_factory=dict)

    def add(self, name: str, text: str) -> None:
        body = _parse(name, text)
        if name.endswith(".tfvars"):
            self.given.update(body)
            return
        for block in body.get("locals") or ():
            self.locals.update(block)
        for block in body.get("variable") or ():
            self.defaults.update({key: each["default"] for key, each in block.items() if "default" in each})
        modules = [("module", block) for block in body.get("module") or ()]
        resources = [item for block in body.get("resource") or () for item in block.items()]
        for kind, named in (*resources, *modules):
            for label, values in named.items():
                words = ("module", label) if kind == "module" else ("resource", kind, label)
                start = re.search(r"^\s*" + r"\s+".join(f'"?{re.escape(word)}"?' for word in words), text, re.MULTILINE)
                line = text.count("\n", 0, start.end()) + 1 if start else 1
                self.declared[kind, label] = values
                self.places[kind, label] = f"{name}:{line}"

    def resources(self) -> Iterator[Resource]:
        for (kind, label), values in self.declared.items():
            resolved = self._resolve(values, ())
            if resolved.get("count") != 0:
                yield Resource(f"{kind}.{label}", kind, resolved, self.places[kind, label])

    def _resolve(self, value: Any, within: tuple[str, ...]) -> Any:
        if isinstance(value, Mapping):
            return {key: self._resolve(each, within) for key, each in value.items()}
        if isinstance(value, list):
            return [self._resolve(each, within) for each in value]
        if not is_unknown(value):
            return value
        if call := _CALL.fullmatch(value):
            arguments = self._resolve(_parse(call[1], f"value = [{call[2]}]")["value"], within)
            if call[1] == "merge":
                return _merge_maps(arguments)
            return arguments[0] if arguments else value
        if whole := _REFERENCE.fullmatch(value):
            known = self._find(whole[1], within)
            return value if known is None else known
        return _REFERENCE.sub(lambda found: self._text(found, within), value)

    def _text(self, found: re.Match[str], within: tuple[str, ...]) -> str:
        known = self._find(found[1], within)
        return str(known) if isinstance(known, str | int | float) else found[0]

    def _find(self, reference: str, within: tuple[str, ...]) -> Any:
        """Return the value of a reference; None if the files do not say it."""
        kind, label, *more = re.sub(r"\[\d+\]", "", reference).split(".")
        if reference in within:
            return None
        if kind == "var":
            value = self.given.get(label, self.defaults.get(label))
        elif kind == "local":
            value = self.locals.get(label)
        elif (kind, label) in self.declared and more and "for_each" not in self.declared[kind, label]:
            leads = _NAMES.get(kind) if more[0] in _LEADS else None
            value, more = self.declared[kind, label].get(leads or more[0]), more[1:]
        else:
            return None
        for step in more:
            value = value.get(step) if isinstance(value, Mapping) else None
        return None if value is None else self._resolve(value, (*within, reference))
