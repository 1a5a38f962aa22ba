"""Experiments and benchmarks stand by themselves: they import nothing from the tests."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
MODULES = sorted(path for folder in ("experiments", "benchmarks") for path in (ROOT / folder).rglob("*.py"))


def imported(tree):
    """Yield the names of all modules that a module imports, at the top or inside a function."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module


def test_there_are_modules_to_look_at():
    assert {path.relative_to(ROOT).parts[0] for path in MODULES} == {"experiments", "benchmarks"}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_nothing_is_imported_from_the_tests(path):
    names = imported(ast.parse(path.read_text(encoding="utf-8")))
    assert [name for name in names if name.split(".")[0] == "tests"] == []
