"""Reads and checks `lake.yaml`, and reports every problem with its line.

The lake may also be inside of a component file of Dagster's `dg`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from tidegate.platform.core.config.cross_checks import TablePart, lake_problems, route_problems
from tidegate.platform.core.config.event_types import EventTypeRule
from tidegate.platform.core.config.fields import Bucket, Folder, Name, Prefix, convert_value
from tidegate.platform.core.config.lake import LakeConfig, LakeSpec
from tidegate.platform.core.config.output import OutputSpec
from tidegate.platform.core.config.queues import QueueSpec, RowQueueSpec
from tidegate.platform.core.config.routes import RouteSpec
from tidegate.platform.core.config.webhook import WebhookSpec
from tidegate.platform.core.config.yaml_document import (
    Location,
    Problem,
    YamlDocument,
    empty_sections,
    read_yaml,
    read_yaml_documents,
    validation_problems,
)
from tidegate.platform.core.errors import ConfigurationError

#: A `lake.yaml` has no such field, and a component file always has it.
_ATTRIBUTES, _TYPE = "attributes", "type"
#: The attribute of the component that has the lake.
INLINE = "inline"


class LakeConfigError(ConfigurationError, ValueError):
    """A `lake.yaml` that cannot be used. Its text has one line a problem: `file:line: field: message`.

    Attributes:
        problems: the lines.
    """

    def __init__(self, problems: list[str]) -> None:
        self.problems = problems
        super().__init__("\n".join(problems))


def load_lake(path: str | PathLike[str], env: Mapping[str, str] | None = None) -> LakeConfig:
    """Read and checks a `lake.yaml`.

    Args:
        path: the file. It may also be the `defs.yaml` of a component with the lake inside of it.
        env: values for `${NAME}` and `${NAME:-default}`; the process's environment if None.

    Raises:
        LakeConfigError: all problems of the file at once.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise LakeConfigError(
            [f"{path}: there is no such file; --lake or TIDEGATE_LAKE must name your lake.yaml"]
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise LakeConfigError([f"{path}: cannot be read: {error}"]) from None
    return parse_lake(text, str(path), env)


def parse_lake(text: str, name: str, env: Mapping[str, str] | None = None) -> LakeConfig:
    """Return the lake of a text.

    Args:
        text: as `read_lake_yaml` takes it.
        name: of the file, for problems.
        env: values of the variables; the process's environment if None.

    Raises:
        LakeConfigError: all problems of the text at once.
    """
    document = read_lake_yaml(text, env)
    problems = list(document.problems)
    config: LakeConfig | None = None
    if document.data is not None:
        problems += empty_sections(LakeConfig, document.data)
        try:
            config = LakeConfig.model_validate(document.data)
        except ValidationError as error:
            places = {problem.where for problem in problems}
            cross = list(_problems_of_valid_parts(document.data))
            # The model's own error about conflicting parts names no field; `cross` does.
            own = (problem for problem in validation_problems(LakeConfig, error) if problem.where or not cross)
            problems += [problem for problem in (*own, *cross) if problem.where not in places]
    elif not problems:
        problems.append(Problem((), "the file is empty; docs/reference/lake-yaml.md shows a lake.yaml"))
    if problems or config is None:
        placed = sorted(
            (problem.line or document.line_of(problem.where), document.text_of(problem)) for problem in problems
        )
        raise LakeConfigError([f"{name}:{line}: {message}" for line, message in dict.fromkeys(placed)])
    return config


def read_lake_yaml(text: str, env: Mapping[str, str] | None = None) -> YamlDocument:
    """Read the YAML of a lake.

    Args:
        text: a `lake.yaml`, or a `defs.yaml` of `dg`, which may have other components in documents of their own.
        env: values of the variables; the process's environment if None.

    Returns:
        The document. Its data are those of the lake, and its lines those of the text.
    """
    documents = read_yaml_documents(text, env)
    components = [
        document for document in documents if isinstance(document.data, Mapping) and _ATTRIBUTES in document.data
    ]
    if not components:
        return read_yaml(text, env)
    others = [
        document for document in documents if not isinstance(document.data, Mapping) or _TYPE not in document.data
    ]
    lakes = [component for component in components if component.part((_ATTRIBUTES, INLINE)).data is not None]
    lake = (lakes or components)[0].part((_ATTRIBUTES, INLINE))
    if len(lakes) > 1:
        problem = f"a second component has a lake in `{INLINE}`: put it into a file of its own"
        lake.problems.append(Problem((), problem, line=lakes[1].lines[()]))
    if lake.data is None and not lake.problems:
        lake.problems.append(
            Problem((), f"the component has no lake in `{INLINE}`; if it has `lake`, name that file instead")
        )
    lake.problems += [
        Problem((), f"a document without `{_TYPE}` is not a component", line=yaml_document.lines[()])
        for yaml_document in others
    ]
    lake.problems += [
        Problem(where, "of the templates of `dg`, a lake may have {{ env.NAME }} only; ${NAME} is the same variable")
        for where, value in _texts(lake.data, ())
        if "{{" in value
    ]
    return lake


def _texts(data: Any, where: Location) -> Iterator[tuple[Location, str]]:
    if isinstance(data, str):
        yield where, data
    elif isinstance(data, Mapping):
        for key, value in data.items():
            yield from _texts(value, (*where, key))
    elif isinstance(data, list):
        for index, value in enumerate(data):
            yield from _texts(value, (*where, index))


def _problems_of_valid_parts(data: Any) -> Iterator[Problem]:
    if not isinstance(data, Mapping):
        return
    tables = data.get("tables")
    parts = {
        index: _part(table)
        for index, table in enumerate(tables if isinstance(tables, list) else ())
        if isinstance(table, Mapping)
    }
    lake = convert_value(LakeSpec, data.get("lake"))
    buckets = convert_value(tuple[Bucket, ...], data.get("buckets"))
    queues = convert_value(tuple[QueueSpec, ...], data.get("queues")) or ()
    given = data.get("webhooks")
    webhooks = {
        index: spec
        for index, value in enumerate(given if isinstance(given, list) else ())
        if (spec := convert_value(WebhookSpec, value))
    }
    yield from lake_problems(
        lake.root if lake else None, buckets, queues, parts, webhooks, typed=bool(data.get("event_types"))
    )
    rows = (part.row_queue for part in parts.values() if part.row_queue)
    yield from route_problems(
        convert_value(tuple[EventTypeRule, ...], data.get("event_types")) or (),
        convert_value(tuple[RouteSpec, ...], data.get("routes")) or (),
        buckets,
        {name for queue in (*queues, *rows) for name in queue.names},
        lake.root if lake else None,
        parts,
    )


def _part(table: Mapping[str, Any]) -> TablePart:
    queue, after_load, output = (
        table.get("row_queue"),
        table.get("after_load"),
        convert_value(OutputSpec, table.get("output")),
    )
    return TablePart(
        convert_value(Name, table.get("name")),
        convert_value(Prefix, table.get("prefix")),
        queue is not None,
        convert_value(RowQueueSpec, queue),
        convert_value(Folder, after_load.get("move")) if isinstance(after_load, Mapping) else None,
        convert_value(Folder, table.get("inventory")),
        output.template.root if output else None,
        output.template.typed if output else False,
        table.get("mode") == "inventory",
    )
