"""One public noun a module, in the rooms for which CONTRIBUTING.md has a recipe."""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]

#: Modules with more public classes, and why.
MORE_CLASSES = {
    "declared_columns.py": "the base of formats whose files declare their columns, and those that are nothing else",
    "json_files.py": "JSON, and its variants for outputs and for objects that are kept whole",
    "parquet_files.py": "Parquet, and its variant for outputs",
    "format.py": "the base of all formats, and the values that it takes and returns",
    "destination.py": "the base of destinations, those that only send, and their refusal",
    "delivery.py": "a delivery, and the error of a part of it",
}


def public(path: Path, kind: type[ast.ClassDef] | type[ast.FunctionDef]) -> list[str]:
    """Return the names of the public classes or functions that a module defines."""
    body = ast.parse(path.read_text(encoding="utf-8")).body
    return [node.name for node in body if isinstance(node, kind) and not node.name.startswith("_")]


def crowded(folder: Path, kind: type[ast.ClassDef] | type[ast.FunctionDef], start: str = "") -> dict[str, list[str]]:
    """Return the modules of a folder that define more than one public thing whose name has that start."""
    found = {path.name: [name for name in public(path, kind) if name.startswith(start)] for path in folder.glob("*.py")}
    return {module: names for module, names in found.items() if len(names) > 1}


def test_a_module_of_commands_has_one_command() -> None:
    folder = ROOT / "platform/cli/commands"
    commands = [name for path in folder.glob("*.py") for name in public(path, ast.FunctionDef) if name[:4] == "run_"]
    assert len(commands) > 10
    assert crowded(folder, ast.FunctionDef, "run_") == {}


def test_a_format_and_a_destination_have_a_module_of_their_own() -> None:
    folders = ("platform/bronze/prepare/formats", "platform/lake/forwarding")
    assert {module for folder in folders for module in crowded(ROOT / folder, ast.ClassDef)} == set(MORE_CLASSES)


def test_a_second_noun_is_seen(tmp_path: Path) -> None:
    (tmp_path / "two.py").write_text("def run_a(): ...\ndef run_b(): ...\nclass A: ...\nclass _B: ...\n")
    assert crowded(tmp_path, ast.FunctionDef, "run_") == {"two.py": ["run_a", "run_b"]}
    assert crowded(tmp_path, ast.ClassDef) == {}
