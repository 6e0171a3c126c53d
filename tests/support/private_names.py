"""Private names of Dagster in a module."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

#: A part of the path has a leading underscore, or the whole package is only for Dagster's other packages.
_PRIVATE = re.compile(r"dagster\w*(\.\w+)*\._(?!_)[\w.]*|dagster_shared\b[\w.]*")


def private_names(tree: ast.Module) -> list[str]:
    """Return the private names of Dagster: modules, as imports and as texts, and attributes with a leading underscore.

    Nothing says whose object an attribute is of. So in a module that imports Dagster it is Dagster's, unless it is of
    `self` or `cls`.
    """
    nodes = list(ast.walk(tree))
    imported = {name for node in nodes for name in _imported(node)}
    found = {name for name in imported if _PRIVATE.fullmatch(name)}
    found |= {node.value for node in nodes if isinstance(node, ast.Constant) and _is_private_text(node.value)}
    if any(re.match(r"dagster\w*(\.|$)", name) for name in imported):
        attributes = (node for node in nodes if isinstance(node, ast.Attribute))
        found |= {ast.unparse(node) for node in attributes if _is_private_attribute(node)}
    return sorted(found)


def _imported(node: ast.AST) -> Iterator[str]:
    """Yield the modules that an import may name."""
    if isinstance(node, ast.Import):
        yield from (each.name for each in node.names)
    elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
        yield node.module
        yield from (f"{node.module}.{each.name}" for each in node.names if each.name.startswith("_"))


def _is_private_text(value: object) -> bool:
    return isinstance(value, str) and _PRIVATE.fullmatch(value) is not None


def _is_private_attribute(node: ast.Attribute) -> bool:
    own = isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")
    return node.attr.startswith("_") and not node.attr.startswith("__") and not own
