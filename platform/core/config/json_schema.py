"""The published JSON Schema of `lake.yaml`, for editors, and that of a component with a lake inside of it.

`python -m tidegate.platform.core.config.json_schema > docs/lake.schema.json` writes the file again.
"""

from __future__ import annotations

import json
from typing import Any

from tidegate.platform.core.config.lake import LakeConfig

#: Keywords whose value is a schema or a list of schemas, and those whose value has schemas by name.
_WITH_SCHEMAS = frozenset({"additionalProperties", "allOf", "anyOf", "items", "oneOf", "prefixItems"})
_BY_NAME = frozenset({"$defs", "patternProperties", "properties"})


def schema_text() -> str:
    """Return the text of `docs/lake.schema.json`."""
    return json.dumps(LakeConfig.json_schema(), indent=2, ensure_ascii=False) + "\n"


def component_schema(attributes: dict[str, Any]) -> dict[str, Any]:
    """Return the JSON Schema of a component: one of its attributes `lake` and `inline`, which is a lake.

    Args:
        attributes: the schema of attributes of any values.
    """
    lake = _or_variable(LakeConfig.model_json_schema())
    types = {"lake": {"type": "string"}, "inline": {name: value for name, value in lake.items() if name != "$defs"}}
    given = attributes["properties"]
    kept = {
        name: types[name]
        | {key: given[name][key] for key in ("title", "description", "examples") if key in given[name]}
        for name in types
    }
    alternative = {"oneOf": [{"required": [name]} for name in types]}
    return {
        **attributes,
        "properties": given | kept,
        **alternative,
        "$defs": attributes.get("$defs", {}) | lake["$defs"],
    }


def _or_variable(schema: Any) -> Any:
    """Return a schema that takes `${NAME}` in place of each value that is neither a list nor a mapping."""
    if isinstance(schema, list):
        return [_or_variable(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    if schema.get("type") in ("integer", "number", "boolean", "string") or "enum" in schema or "const" in schema:
        return {"anyOf": [schema, {"type": "string", "pattern": r"\$\{"}]}
    return {
        name: _or_variable(value) if name in _WITH_SCHEMAS else _variables_by_name(value) if name in _BY_NAME else value
        for name, value in schema.items()
    }


def _variables_by_name(schemas: dict[str, Any]) -> dict[str, Any]:
    return {name: _or_variable(schema) for name, schema in schemas.items()}


if __name__ == "__main__":
    print(schema_text(), end="")
