"""How far a handle travels: the functions that receive it, when it is followed from one function through its calls.

A *handle* is a value of a class of `HANDLES`, or of the class of the parameter that a walk begins with. A value of a
class that keeps a handle in an attribute is one as well, so a handle does not leave the walk in a container.

A *stay* is a function that receives a handle: as a parameter, or as `self`. Each function is one stay, however often
it is called. A walk goes depth first, in the order of the source, into every branch, and into functions that are only
named (`map(read, …)`). If the class of a receiver is known, a method is that of the class, of its bases, and of each
class that is derived from it. If not, it is each method of its name that takes a handle.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from tests.support.layout import modules

#: Classes that reach everything a lake or one of its tables has.
HANDLES = ("Lake", "Table")
#: Module of these classes, below the package.
HANDLES_MODULE = "platform.lake.lake"

_Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass
class Walk:
    """What a walk met.

    Attributes:
        stays: the functions that receive a handle, as `module:name`, in the order of the walk.
        climbs: calls of them from a package below the called function's own.
        events: calls that were followed, repeated ones too.
    """

    stays: list[str] = field(default_factory=list)
    climbs: int = 0
    events: int = 0

    @property
    def modules(self) -> set[str]:
        """The modules of the stays."""
        return {stay.partition(":")[0] for stay in self.stays}

    @property
    def returns(self) -> int:
        """How often the way comes to a function in a module in which it has been before."""
        return len(self.stays) - len(self.modules)


@dataclass(eq=False)
class _Class:
    module: _Module
    node: ast.ClassDef
    bases: list[_Class] = field(default_factory=list)
    derived: list[_Class] = field(default_factory=list)

    @cached_property
    def methods(self) -> dict[str, _Method]:
        found = [node for node in self.node.body if isinstance(node, _Function)]
        return {node.name: _Method(self.module, node, self) for node in found}

    @cached_property
    def kept(self) -> dict[str, ast.expr]:
        """The annotations of its attributes and properties, as far as they are written."""
        found = {
            node.target.id: node.annotation
            for node in self.node.body
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
        }
        for method in self.methods.values():
            if method.is_property and method.node.returns:
                found.setdefault(method.node.name, method.node.returns)
            annotations = {arg.arg: arg.annotation for arg in method.arguments if arg.annotation}
            for node in ast.walk(method.node):
                if isinstance(node, ast.AnnAssign) and (name := _own_attribute(node.target)):
                    found.setdefault(name, node.annotation)
                for target, value in _assigned(node):
                    if name := _own_attribute(target):
                        if isinstance(value, ast.Name) and value.id in annotations:
                            found.setdefault(name, annotations[value.id])
                        elif isinstance(value, ast.Call) and isinstance(value.func, ast.Name):
                            found.setdefault(name, value.func)
        return found

    def family(self) -> Iterator[_Class]:
        """Yield the class, then its bases, then the classes that are derived from it."""
        yield self
        yield from self.above()
        yield from self.below()

    def above(self) -> Iterator[_Class]:
        for base in self.bases:
            yield base
            yield from base.above()

    def below(self) -> Iterator[_Class]:
        for other in self.derived:
            yield other
            yield from other.below()


@dataclass(eq=False)
class _Method:
    module: _Module
    node: _Function
    owner: _Class | None = None

    @property
    def name(self) -> str:
        return f"{self.module.name}:{self.owner.node.name + '.' if self.owner else ''}{self.node.name}"

    @property
    def arguments(self) -> list[ast.arg]:
        arguments = self.node.args
        extra = [each for each in (arguments.vararg, arguments.kwarg) if each]
        return [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, *extra]

    @property
    def is_property(self) -> bool:
        return any("property" in ast.unparse(each) for each in self.node.decorator_list)

    @property
    def has_self(self) -> bool:
        return self.owner is not None and not any(
            ast.unparse(each) == "staticmethod" for each in self.node.decorator_list
        )


@dataclass(eq=False)
class _Module:
    name: str
    tree: ast.Module
    names: dict[str, _Class | _Method | ast.expr] = field(default_factory=dict)
    imports: dict[str, tuple[str, str]] = field(default_factory=dict)

    @property
    def package(self) -> str:
        return self.name.rpartition(".")[0]


class Tree:
    """The modules of a package, in which walks are measured.

    Args:
        root: of the folders.
        folders: that have the modules.
        package: the name below which the folders are imported.
    """

    def __init__(self, root: Path, folders: tuple[str, ...], package: str) -> None:
        self.package = package
        self.modules: dict[str, _Module] = {}
        for path in modules(root, folders):
            parts = path.with_suffix("").parts
            name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            self.modules[name] = _Module(name, ast.parse((root / path).read_text()))
        for module in self.modules.values():
            self._read(module)
        self.classes = [
            each for module in self.modules.values() for each in module.names.values() if isinstance(each, _Class)
        ]
        for each in self.classes:
            for base in each.node.bases:
                for found in self.classes_in(each.module, base):
                    each.bases.append(found)
                    found.derived.append(each)
        self.methods: dict[str, list[_Method]] = {}
        for each in self.classes:
            for name, method in each.methods.items():
                self.methods.setdefault(name, []).append(method)

    def walk(self, start: str, parameter: str, limit: int = 1600) -> Walk:
        """Follow a parameter of a function (`module:name`) through the calls, for at most so many of them."""
        module, _, name = start.partition(":")
        first = self.modules[module].names[name]
        if not isinstance(first, _Method):
            raise TypeError(f"{start} is not a function")
        (annotation,) = (arg.annotation for arg in first.arguments if arg.arg == parameter and arg.annotation)
        own = self.modules[HANDLES_MODULE].names if HANDLES_MODULE in self.modules else {}
        given = [each for name in HANDLES if isinstance(each := own.get(name), _Class)]
        handles = self._with_keepers({*given, *self.classes_in(first.module, annotation)})
        walk, seen = Walk(), {first}
        walk.stays.append(first.name)
        way = [(first, self._called(first, handles))]
        while way and walk.events < limit:
            caller, rest = way[-1]
            called = next(rest, None)
            if called is None:
                way.pop()
                continue
            walk.events += 1
            if called not in seen:
                seen.add(called)
                walk.stays.append(called.name)
                walk.climbs += f"{caller.module.package}.".startswith(f"{called.module.package}.") and (
                    caller.module.package != called.module.package
                )
                way.append((called, self._called(called, handles)))
        return walk

    def _read(self, module: _Module) -> None:
        for node in module.tree.body:
            if isinstance(node, ast.ClassDef):
                module.names[node.name] = _Class(module, node)
            elif isinstance(node, _Function):
                module.names[node.name] = _Method(module, node)
            elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                module.names[node.targets[0].id] = node.value
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value:
                module.names[node.target.id] = node.value
        for node in ast.walk(module.tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(f"{self.package}."):
                place = (node.module or "").removeprefix(f"{self.package}.")
                module.imports |= {alias.asname or alias.name: (place, alias.name) for alias in node.names}

    def named(self, module: _Module, name: str) -> _Class | _Method | tuple[_Module, ast.expr] | None:
        """Return what a name of a module means: a class or function of the tree, or a value with its module."""
        if name in module.imports:
            place, name = module.imports[name]
            if place not in self.modules:
                return None
            module = self.modules[place]
            if name in module.imports:
                return self.named(module, name)
        found = module.names.get(name)
        return (module, found) if isinstance(found, ast.expr) else found

    def classes_in(self, module: _Module, annotation: ast.expr) -> list[_Class]:
        """Return the classes of the tree that an annotation names."""
        if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
            annotation = ast.parse(annotation.value, mode="eval").body
        names = [node.id for node in ast.walk(annotation) if isinstance(node, ast.Name)]
        return [found for name in names if isinstance(found := self.named(module, name), _Class)]

    def _with_keepers(self, handles: set[_Class]) -> set[_Class]:
        """Return classes and those that keep a value of them in an attribute, directly or through others."""
        handles = {*handles, *(below for each in handles for below in each.below())}
        while found := {
            below
            for each in self.classes
            if each not in handles and any(handles & {*self.classes_in(each.module, a)} for a in each.kept.values())
            for below in (each, *each.below())
        }:
            handles |= found
        return handles

    def _receives(self, function: _Method, handles: set[_Class], *, own: bool = True) -> bool:
        if function.is_property:  # It is read as an attribute.
            return False
        if own and function.has_self and function.owner in handles:
            return True
        kept = [argument.annotation for argument in function.arguments if argument.annotation]
        return any(handles & {*self.classes_in(function.module, each)} for each in kept)

    def _called(self, function: _Method, handles: set[_Class]) -> Iterator[_Method]:
        """Yield the functions that a function names and that receive a handle, in the order of the source."""
        types = _Types(self, function)
        for node in _in_order(function.node):
            known = types.functions(node)
            yield from (each for each in known or () if self._receives(each, handles))
            if known is None and isinstance(node, ast.Attribute):
                named = self.methods.get(node.attr, ())
                yield from (each for each in named if self._receives(each, handles, own=False))


class _Types:
    """What the names in a function are, by the annotations and by simple assignments.

    Args:
        tree: the modules.
        function: the function.
    """

    def __init__(self, tree: Tree, function: _Method) -> None:
        self.tree, self.function = tree, function
        self.module = function.module
        self.known: dict[ast.expr, list[_Class]] = {}
        nodes = list(ast.walk(function.node))
        self.locals: dict[str, list[_Class]] = {}
        for node in nodes:
            if isinstance(node, ast.arg) and node.annotation:
                self.locals[node.arg] = tree.classes_in(self.module, node.annotation)
        if function.has_self and function.owner and function.arguments:
            self.locals[function.arguments[0].arg] = [function.owner]
        for node in nodes:
            for target, value in _assigned(node):
                if isinstance(target, ast.Name):
                    self._bind(target.id, value)
            if isinstance(node, ast.NamedExpr):
                self._bind(node.target.id, node.value)
            elif isinstance(node, ast.comprehension | ast.For) and isinstance(node.target, ast.Name):
                self._bind(node.target.id, node.iter)
            elif isinstance(node, ast.withitem) and isinstance(node.optional_vars, ast.Name):
                self._bind(node.optional_vars.id, node.context_expr)

    def _bind(self, name: str, value: ast.expr) -> None:
        if found := self._of(value):
            self.locals.setdefault(name, found)

    def of(self, node: ast.expr) -> list[_Class]:
        """Return the classes that a value may have, as far as they are known."""
        if node not in self.known:
            self.known[node] = self._of(node)
        return self.known[node]

    def _of(self, node: ast.expr) -> list[_Class]:
        if isinstance(node, ast.Name):
            if node.id in self.locals:
                return self.locals[node.id]
            found = self.tree.named(self.module, node.id)
            return [found] if isinstance(found, _Class) else []
        if isinstance(node, ast.Attribute):
            owners = [other for each in self.of(node.value) for other in each.family()]
            kept = [(each, each.kept[node.attr]) for each in owners if node.attr in each.kept]
            return [found for each, kind in kept for found in self.tree.classes_in(each.module, kind)]
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Name) and isinstance(
                found := self.tree.named(self.module, node.func.id), _Class
            ):
                return [found]
            results = [
                (each.module, each.node.returns) for each in self.functions(node.func) or () if each.node.returns
            ]
            return [found for module, kind in results for found in self.tree.classes_in(module, kind)]
        if isinstance(node, ast.IfExp):
            return self.of(node.body) or self.of(node.orelse)
        return []

    def functions(self, node: ast.AST) -> list[_Method] | None:
        """Return the functions that a name, or an attribute, may be. None if the class of the owner is not known."""
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id not in self.locals:
            return self._of_name(self.module, node.id)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
            value = node.value
            if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "super":
                bases = self.function.owner.bases if self.function.owner else []
                owners = [other for base in bases for other in base.family()]
            else:
                owners = [other for each in self.of(value) for other in each.family()]
            if owners:
                found = [each.methods[node.attr] for each in owners if node.attr in each.methods]
                return list(dict.fromkeys(found))
            return None
        return []

    def _of_name(self, module: _Module, name: str) -> list[_Method]:
        found = self.tree.named(module, name)
        if isinstance(found, _Method):
            return [found]
        if isinstance(found, _Class):
            return [method for each in (found, *found.above()) if (method := each.methods.get("__init__"))][:1]
        if isinstance(found, tuple):  # A table of functions.
            names = [node.id for node in ast.walk(found[1]) if isinstance(node, ast.Name) and node.id != name]
            return [each for other in names for each in self._of_name(found[0], other)]
        return []


def _in_order(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a function as they are written, without its annotations and decorators."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.arguments):
            yield from (each for value in [*child.defaults, *child.kw_defaults] if value for each in ast.walk(value))
        elif child is not getattr(node, "returns", None) and child not in getattr(node, "decorator_list", ()):
            yield from _in_order(child)
            yield child


def _assigned(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Yield the targets of an assignment with their values."""
    if isinstance(node, ast.Assign):
        target, value = node.targets[0], node.value
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            yield from zip(target.elts, value.elts, strict=False)
        else:
            yield target, value


def _own_attribute(node: ast.expr) -> str | None:
    own = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"
    return node.attr if own and isinstance(node, ast.Attribute) else None
