"""Source code in pieces, without what cannot change a number; and digests of the pieces that a result used.

A piece is a function, a method, a class without its methods, or an assignment at the top of a module. Of a
piece counts its syntax tree, without docstrings, annotations, positions, and the words of errors.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TypeAlias

PACKAGES = ("nammd", "experiments")

NOT_COUNTED = frozenset(
    {"nammd", *(f"experiments.{name}" for name in ("calls", "experiment", "results", "tasks", "registry"))}
)
"""The table of public names, and what runs cells and keeps what they found: no number comes from them. Two
things in them could change one all the same, how the generator of a cell is seeded and how values are
rounded; tests pin both."""

Code: TypeAlias = Mapping[str, tuple[str, ...]]
"""By module: a digest, and then the pieces that were called."""

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass
class Source:
    """A module.

    Attributes
    ----------
    pieces : mapping of str to list of ast.stmt
        The statements of every piece, by its name; several where a name is defined again.
    functions : set of str
        Which of them are functions or methods.
    imports : mapping of str to tuple of str
        What a name stands for: a module, and a name in it, or "" for the module itself.
    always : list of ast.stmt
        Statements that do something when the module is imported.
    """

    pieces: dict[str, list[ast.stmt]] = field(default_factory=dict)
    functions: set[str] = field(default_factory=set)
    imports: dict[str, tuple[str, str]] = field(default_factory=dict)
    always: list[ast.stmt] = field(default_factory=list)
    _spans: list[tuple[int, int, str]] = field(default_factory=list)

    def piece_of(self, name: str, line: int) -> str | None:
        """Return the piece of a function, by its qualified name, or where it has none by its line."""
        outer = name.partition(".<locals>")[0]
        if outer in self.pieces:
            return outer
        found = [(end - start, name) for start, end, name in self._spans if start <= line <= end]
        return min(found)[1] if found else None

    def add(self, name: str, node: ast.stmt, start: int | None = None) -> None:
        """Add a statement to a piece."""
        self.pieces.setdefault(name, []).append(node)
        self._spans.append((start or node.lineno, node.end_lineno or node.lineno, name))


def digests(calls: Mapping[str, Sequence[str]]) -> Code:
    """Return the code of some calls: by module the digest of all that they depend on, and the calls."""
    used = _closure(calls)
    return {
        module: (_digest(module, used[module]), *sorted(calls.get(module, ()))) for module in sorted(used)
    }


def changed(code: Code) -> list[str]:
    """Return the modules whose present code is not the one of a result."""
    now = digests({module: pieces for module, (_, *pieces) in code.items()})
    return sorted(module for module in {*code, *now} if code.get(module) != now.get(module))


def read_again() -> None:
    """Forget the files that were read: they may have changed since."""
    for remembered in (source_of, path_of_module, _references, _text):
        remembered.cache_clear()


@cache
def source_of(module: str) -> Source:
    """Return a module of ours in pieces; an empty one where there is no such module."""
    path = path_of_module(module)
    made = Source()
    if path is None:
        return made
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        _take(made, node, package)
    return made


@cache
def path_of_module(module: str) -> Path | None:
    """Return the file of a module of ours; None where there is none."""
    base, *rest = module.split(".")
    folder = root_of(base).joinpath(*rest)
    # A folder of another kind may have the name of a module.
    found = (path for path in (folder.with_suffix(".py"), folder / "__init__.py") if path.is_file())
    return next(found, None)


@cache
def root_of(package: str) -> Path:
    """Return the folder of a package."""
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        raise LookupError(f"{package} cannot be found; run this from the root of the repository")
    return Path(spec.origin).parent


def _take(made: Source, node: ast.stmt, package: str) -> None:
    if isinstance(node, _FUNCTIONS):
        made.add(node.name, node, _start(node))
        made.functions.add(node.name)
        if any(
            isinstance(d, ast.Call | ast.Attribute) and "register" in ast.dump(d) for d in _decorators(node)
        ):
            # A new implementation of a dispatched function changes what others call.
            made.always.append(ast.Expr(ast.Tuple([ast.Constant(node.name), *_decorators(node)], ast.Load())))
    elif isinstance(node, ast.ClassDef):
        made.add(node.name, node, _start(node))
        for inner in node.body:
            if isinstance(inner, _FUNCTIONS):
                made.add(f"{node.name}.{inner.name}", inner, _start(inner))
                made.functions.add(f"{node.name}.{inner.name}")
    elif isinstance(node, ast.Import | ast.ImportFrom):
        made.imports.update(_imported(node, package))
    elif isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        for name in (n.id for target in targets for n in ast.walk(target) if isinstance(n, ast.Name)):
            made.add(name, node)
    elif not _does_nothing(node):
        made.always.append(node)


def _imported(node: ast.Import | ast.ImportFrom, package: str) -> Iterator[tuple[str, tuple[str, str]]]:
    for alias in node.names:
        if isinstance(node, ast.Import):
            if alias.asname:
                yield alias.asname, (alias.name, "")
            else:
                base = alias.name.split(".")[0]
                yield base, (base, "")
        else:
            parts = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            module = ".".join([*parts, *([node.module] if node.module else [])])
            yield alias.asname or alias.name, (module, alias.name)


def _does_nothing(node: ast.stmt) -> bool:
    if isinstance(node, ast.If):
        return "TYPE_CHECKING" in ast.dump(node.test)
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _decorators(node: ast.stmt) -> list[ast.expr]:
    return getattr(node, "decorator_list", [])


def _start(node: ast.stmt) -> int:
    return min([node.lineno, *(d.lineno for d in _decorators(node))])


def _closure(calls: Mapping[str, Sequence[str]]) -> dict[str, set[str]]:
    """Return the pieces that were called, their classes, and all constants and classes that they name."""
    used: dict[str, set[str]] = {}
    todo: list[tuple[str, str]] = [(module, name) for module, names in calls.items() for name in names]
    while todo:
        module, name = todo.pop()
        if module in NOT_COUNTED or name in used.get(module, ()):
            continue
        used.setdefault(module, set()).add(name)
        if "." in name and name in source_of(module).functions:
            todo.append((module, name.rpartition(".")[0]))
        todo += _references(module, name)
    return used


@cache
def _references(module: str, name: str) -> tuple[tuple[str, str], ...]:
    """Return the constants and classes that a piece names, and the functions that make a constant."""
    source, found = source_of(module), set()
    names: dict[str, tuple[str, str]] = dict(source.imports)
    nodes = [kept for node in _parts(source, name) for kept in _kept_nodes(node)]
    for node in nodes:
        if isinstance(node, ast.Import | ast.ImportFrom):
            names.update(_imported(node, module.rpartition(".")[0]))
    # What runs when the module is imported was not seen to be called.
    made_by = (
        set() if name in source.functions else {node.func for node in nodes if isinstance(node, ast.Call)}
    )
    for node in nodes:
        where = _named(node, module, names)
        if where is None or where[0].split(".")[0] not in PACKAGES:
            continue
        home = source_of(where[0])
        if where[1] in home.pieces and (where[1] not in home.functions or node in made_by):
            found.add(where)
    return tuple(sorted(found))


def _named(node: ast.AST, module: str, names: Mapping[str, tuple[str, str]]) -> tuple[str, str] | None:
    """Return the module and the name of what a name or an attribute of a module stands for."""
    if isinstance(node, ast.Name):
        if node.id in source_of(module).pieces:
            return module, node.id
        if node.id in names and names[node.id][1]:
            return _home(*names[node.id])
    elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        base, inside = names.get(node.value.id, ("", ""))
        if base:
            return _home(f"{base}.{inside}" if inside else base, node.attr)
    return None


def _home(module: str, name: str, steps: int = 5) -> tuple[str, str]:
    """Return where a name is defined that a module may only hand on."""
    if module.split(".")[0] not in PACKAGES or module in NOT_COUNTED or not steps:
        return module, name
    source = source_of(module)
    if name in source.pieces or name not in source.imports:
        return module, name
    return _home(*source.imports[name], steps - 1)


def _parts(source: Source, name: str) -> list[ast.AST]:
    """Return the syntax trees that a piece stands for."""
    made: list[ast.AST] = []
    for node in source.pieces.get(name, []):
        if isinstance(node, ast.ClassDef):
            methods = [inner.name for inner in node.body if isinstance(inner, _FUNCTIONS)]
            rest = [inner for inner in node.body if not isinstance(inner, _FUNCTIONS)]
            # With a base class, a new method may take the place of an inherited one.
            names = [ast.Constant(each) for each in sorted(methods)] if node.bases else []
            made += [*node.bases, *node.decorator_list, *node.keywords, *rest, *names]
        elif name == "EXPERIMENT" and isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            # Settings are compared by themselves; the rest is how it is shown.
            made += [word for word in node.value.keywords if word.arg in ("cells", "run_cell")]
        else:
            made.append(node)
    return made


def _digest(module: str, names: set[str]) -> str:
    text = ", ".join(f"({name!r}, {_text(module, name)})" for name in sorted(names))
    return hashlib.sha256(f"([{text}], {_text(module)})".encode()).hexdigest()[:10]


@cache
def _text(module: str, name: str | None = None) -> str:
    """Return all that counts of a piece as text; without a name, of what runs with every import."""
    source = source_of(module)
    return repr([_plain(node) for node in (source.always if name is None else _parts(source, name))])


def _kept_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a tree that count."""
    yield node
    for _, value in _fields(node):
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, ast.AST):
                yield from _kept_nodes(each)


def _plain(value: object) -> object:
    """Return a tree as tuples that are the same in every version of Python."""
    if isinstance(value, ast.AST):
        return (type(value).__name__, *((name, _plain(each)) for name, each in _fields(value)))
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return repr(value)


_LEFT_OUT = {"ctx", "annotation", "returns", "type_comment", "type_params", "simple", "kind", "type_ignores"}


def _fields(node: ast.AST) -> Iterator[tuple[str, object]]:
    """Yield what counts of a node."""
    for name, value in ast.iter_fields(node):
        if name in _LEFT_OUT or value is None or value == []:
            continue
        if isinstance(node, ast.Raise) and name == "exc" and isinstance(value, ast.Call):
            value = value.func  # an error gives no number, whatever it says
        elif name == "body" and isinstance(value, list):
            value = [each for each in value if not _does_nothing(each)]
        yield name, value
