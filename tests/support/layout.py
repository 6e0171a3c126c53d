"""Measures of a tree of Python modules and Java classes: sizes of folders and functions, circles of imports.

Each function takes the root of a tree, so that a test can plant a sample that breaks a rule.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path


def modules(root: Path, folders: tuple[str, ...]) -> list[Path]:
    """Return all Python modules below the folders, as paths relative to the root.

    Folders of build results are left out.
    """
    found = (path.relative_to(root) for folder in folders for path in (root / folder).rglob("*.py"))
    return sorted(path for path in found if not {"target", "__pycache__"} & set(path.parts))


def folder_sizes(root: Path, folders: tuple[str, ...]) -> dict[str, int]:
    """Return how many modules are in each folder, without `__init__.py`."""
    sizes: dict[str, int] = defaultdict(int)
    for path in modules(root, folders):
        sizes[path.parent.as_posix()] += path.name != "__init__.py"
    return dict(sizes)


def package_sizes(root: Path, folders: tuple[str, ...]) -> dict[str, int]:
    """Return how many Java classes are in each folder, without `package-info.java`."""
    sizes: dict[str, int] = defaultdict(int)
    for path in _classes(root, folders):
        sizes[path.parent.as_posix()] += path.name != "package-info.java"
    return dict(sizes)


def single_modules(root: Path, folders: tuple[str, ...]) -> list[str]:
    """Return the folders that have one module and no folder of modules."""
    sizes = folder_sizes(root, folders)
    parents = {parent.as_posix() for folder in sizes for parent in Path(folder).parents}
    return sorted(folder for folder, size in sizes.items() if size == 1 and folder not in parents)


def function_lines(root: Path, folders: tuple[str, ...]) -> dict[str, int]:
    """Return how many lines each function has, from `def` to its end, by `path:name`."""
    found = {}
    for path in modules(root, folders):
        for node in ast.walk(ast.parse((root / path).read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                found[f"{path.as_posix()}:{node.name}"] = (node.end_lineno or node.lineno) - node.lineno + 1
    return found


def import_circles(root: Path, folders: tuple[str, ...], package: str) -> list[list[str]]:
    """Return groups of modules that import each other, directly or through others, wherever the import is written."""
    paths = {_name(path, package): path for path in modules(root, folders)}
    return _circles({name: set(_imports(ast.parse((root / path).read_text()), paths)) for name, path in paths.items()})


def sibling_circles(root: Path, folders: tuple[str, ...], package: str) -> list[list[str]]:
    """Return groups of modules and packages of one package that import each other, directly or through others.

    Modules without a circle can be in packages with one: `a/b.py` imports `c/d.py`, and `c/e.py` imports `a/f.py`.
    """
    paths = {_name(path, package): path for path in modules(root, folders)}
    imports: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for name, path in paths.items():
        for other in _imports(ast.parse((root / path).read_text()), paths):
            own, others = name.split("."), other.split(".")
            depth = next((n for n, pair in enumerate(zip(own, others, strict=False)) if pair[0] != pair[1]), None)
            if depth is not None:
                place = ".".join(own[:depth])
                imports[place][f"{place}.{own[depth]}"].add(f"{place}.{others[depth]}")
    found = []
    for siblings in imports.values():
        every = {*siblings, *(each for known in siblings.values() for each in known)}
        found += _circles({name: siblings.get(name, set()) for name in every})
    return sorted(found)


def package_circles(root: Path, folders: tuple[str, ...], package: str) -> list[list[str]]:
    """Return groups of Java packages that import each other, directly or through others."""
    imports: dict[str, set[str]] = defaultdict(set)
    for path in _classes(root, folders):
        text = (root / path).read_text()
        (own,) = re.findall(r"^package ([\w.]+);", text, re.MULTILINE)
        found = re.findall(rf"^import (?:static )?({re.escape(package)}(?:\.[a-z]\w*)*)\.[A-Z]", text, re.MULTILINE)
        imports[own] |= set(found) - {own}
    return _circles({name: {each for each in found if each in imports} for name, found in imports.items()})


def misplaced_tests(root: Path, tests: str, package: str) -> list[str]:
    """Return the test modules that no module is the subject of, as `path: why`.

    `tests/a/b/test_c.py` is about the module `a/b/c.py`, about the package `a/b/c`, or about the whole of a package
    `a/b` whose last part is `c`; and it imports something of `a/b`. Folders of the package are imported below its name,
    others, like `benchmarks`, as they are.
    """
    found = []
    for path in sorted((root / tests).rglob("test_*.py")):
        folder = path.parent.relative_to(root / tests)
        subject = path.stem.removeprefix("test_")
        own = ".".join(folder.parts)
        imported = {
            node.module
            for node in ast.walk(ast.parse(path.read_text()))
            if isinstance(node, ast.ImportFrom) and node.module
        }
        if not (root / folder).is_dir():
            why = f"there is no folder {folder.as_posix()}"
        elif folder.name != subject and not any((root / folder / name).exists() for name in (f"{subject}.py", subject)):
            why = f"{folder.as_posix()} has no module {subject}"
        elif not any(f"{name.removeprefix(f'{package}.')}.".startswith(f"{own}.") for name in imported):
            why = f"it imports nothing of {package}.{own}"
        else:
            continue
        found.append(f"{path.relative_to(root).as_posix()}: {why}")
    return found


def _classes(root: Path, folders: tuple[str, ...]) -> list[Path]:
    return sorted(path.relative_to(root) for folder in folders for path in (root / folder).rglob("*.java"))


def _circles(imports: Mapping[str, set[str]]) -> list[list[str]]:
    reached = {name: _reached(name, imports) for name in imports}
    circles = {
        tuple(sorted(each for each in reached[name] if name in reached[each]))
        for name in imports
        if name in reached[name]
    }
    return [list(circle) for circle in sorted(circles)]


def _name(path: Path, package: str) -> str:
    parts = path.with_suffix("").parts
    return ".".join((package, *(parts[:-1] if parts[-1] == "__init__" else parts)))


def _imports(tree: ast.Module, known: Mapping[str, Path]) -> Iterator[str]:
    """Yield the known modules that a module imports. `from a import b` imports `a.b` if that is a module, else `a`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            inner = [f"{node.module}.{alias.name}" for alias in node.names]
            names = [name if name in known else node.module for name in inner]
        else:
            continue
        yield from (name for name in names if name in known)


def _reached(start: str, imports: Mapping[str, set[str]]) -> set[str]:
    """Return the modules that are imported from a module, directly or through others."""
    reached: set[str] = set()
    waiting = list(imports[start])
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting += imports[name]
    return reached
