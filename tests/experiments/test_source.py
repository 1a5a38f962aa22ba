"""Digests of code: what changes them, what does not, and which functions a computation calls."""

import sys
import threading
from importlib import import_module

import pytest
from experiments.calls import Recorder, merged, recording
from experiments.source import changed, digests, read_again

from experiments import source

MODULE = '''"""What it is for."""
from functools import cache, singledispatch

from PACKAGE.constants import FACTOR, other

UNUSED = 1
SCALE = 2
CHAIN = SCALE + 1


def made(x):
    return x + 0


MADE = made(0)


class Base:
    def area(self):
        return 1


class Square(Base):
    side: float = 3.0

    def double(self):
        return self.area() * 2


def called(x: int) -> int:
    """Say something."""
    if x < 0:
        raise ValueError("negative")
    return x * SCALE * FACTOR + (lambda y: y)(CHAIN) + MADE


def in_a_thread():
    return 1


def not_called(x):
    return x + UNUSED


@cache
def kept():
    return called(1)


LAWS = {"line": lambda x: x + 1}


@singledispatch
def general(x):
    return x
'''
CONSTANTS = "FACTOR = 10\nUNUSED = 3\n\n\ndef other():\n    return FACTOR\n"


@pytest.fixture
def package(tmp_path, monkeypatch, request):
    """A package whose files can be rewritten."""
    name = f"made_{abs(hash(request.node.name))}"
    folder = tmp_path / name
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "constants.py").write_text(CONSTANTS)
    (folder / "module.py").write_text(MODULE.replace("PACKAGE", name))
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(source, "PACKAGES", (name,))
    monkeypatch.setattr("experiments.calls.PACKAGES", (name,))
    read_again()
    yield folder
    read_again()
    for module in [m for m in sys.modules if m.startswith(name)]:
        del sys.modules[module]


def module_of(package):
    return import_module(f"{package.name}.module")


def calls(package, function):
    recorder = Recorder()
    with recording(recorder):
        function(module_of(package))
    return recorder.calls()


def edit(package, old, new, file="module.py"):
    text = (package / file).read_text()
    assert old in text
    (package / file).write_text(text.replace(old, new, 1))
    read_again()


def test_the_functions_that_are_called_are_noted_and_no_others(package):
    module_of(package)
    found = calls(package, lambda m: (m.called(2), m.Square().double(), m.LAWS["line"](1)))
    assert found == {f"{package.name}.module": ["Base.area", "LAWS", "Square.double", "called"]}


def test_functions_in_threads_are_noted(package):
    module_of(package)

    def start(module):
        thread = threading.Thread(target=module.in_a_thread)
        thread.start()
        thread.join()

    assert calls(package, start) == {f"{package.name}.module": ["in_a_thread"]}


def test_a_recorder_leaves_no_trace(package):
    calls(package, lambda m: m.called(1))
    assert sys.getprofile() is None
    assert threading.getprofile() is None


@pytest.mark.parametrize(
    ("old", "new", "file"),
    [
        ("x * SCALE", "x + SCALE", "module.py"),
        ("SCALE = 2", "SCALE = 3", "module.py"),
        ("SCALE + 1", "SCALE + 2", "module.py"),
        ("return x + 0", "return x + 1", "module.py"),
        ("FACTOR = 10", "FACTOR = 11", "constants.py"),
        ("side: float = 3.0", "side: float = 4.0", "module.py"),
        ("    def double", "    def area(self):\n        return 5\n\n    def double", "module.py"),
        ("return 1\n\n\nclass", "return 2\n\n\nclass", "module.py"),
        ("x < 0", "x < 1", "module.py"),
        ("def called(x", "def renamed(x", "module.py"),
        (
            "@singledispatch",
            "@general.register\ndef of_int(x: int):\n    return 3\n\n\n@singledispatch",
            "module.py",
        ),
        ('LAWS = {"line": lambda x: x + 1}', 'LAWS = {"line": lambda x: x + 2}', "module.py"),
    ],
)
def test_what_can_change_a_number_changes_the_digest(package, old, new, file):
    module_of(package)
    code = digests(calls(package, lambda m: (m.called(2), m.Square().double(), m.LAWS["line"](1))))
    assert changed(code) == []
    edit(package, old, new, file)
    assert f"{package.name}.{file.removesuffix('.py')}" in changed(code)


@pytest.mark.parametrize(
    ("old", "new", "file"),
    [
        ('"""Say something."""', '"""Say something else."""', "module.py"),
        ("x: int) -> int", "x: float) -> float", "module.py"),
        ('"negative"', 'f"{x} is negative"', "module.py"),
        ("return x + UNUSED", "return x - UNUSED", "module.py"),
        ("UNUSED = 1", "UNUSED = 2", "module.py"),
        ("UNUSED = 3", "UNUSED = 4", "constants.py"),
        ("return FACTOR", "return -FACTOR", "constants.py"),
        ("\n\n\ndef called", "\n\n\n# A comment.\n\n\ndef called", "module.py"),
        ("side: float", "side: int", "module.py"),
    ],
)
def test_what_cannot_change_a_number_does_not(package, old, new, file):
    module_of(package)
    code = digests(calls(package, lambda m: (m.called(2), m.Square().double())))
    edit(package, old, new, file)
    assert changed(code) == []


def test_calls_of_several_computations_are_merged():
    assert merged([{"a": ["f"], "b": ["g"]}, {"a": ["e", "f"]}]) == {"a": ["e", "f"], "b": ["g"]}
