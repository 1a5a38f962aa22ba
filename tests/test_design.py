"""The rooms of docs/design.md, and which way they depend, are those of the code."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from nammd.data.dataset import Dataset
from nammd.engines import Engine
from nammd.questions.two_sample import METHODS

ROOT = Path(__file__).resolve().parent.parent
SOURCE, PAGE = ROOT / "src" / "nammd", ROOT / "docs" / "design.md"


def rows_after(heading):
    """Return the cells of the first table after a heading."""
    text = PAGE.read_text(encoding="utf-8").split(f"## {heading}\n", 1)[1]
    lines = text[text.index("\n|") :].strip().split("\n\n", 1)[0].splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


ROOMS = [row[0].strip("`") for row in rows_after("The rooms")]
UPWARD = {
    (module, target.strip("`"))
    for sources, target, _ in rows_after("Calls that go up")
    for module in re.findall(r"`([\w.]+)`", sources)
}


@cache
def modules():
    """Return every module of the package, by its name, with all that is in it.

    And whether importing the module leaves that out.
    """
    found = []
    for path in sorted(SOURCE.rglob("*.py")):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        nodes, waiting = [], [(ast.parse(path.read_text("utf-8")), False)]
        while waiting:
            node, left_out = waiting.pop()
            nodes.append((node, left_out))
            left_out = left_out or is_left_out(node)
            waiting.extend((inner, left_out) for inner in ast.iter_child_nodes(node))
        found.append((".".join(part for part in parts if part != "__init__"), nodes))
    return found


def imported(node):
    """Return the modules of nammd that a statement imports, without the leading name."""
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
        names = [node.module]
        if node.module == "nammd":
            names = [f"nammd.{alias.name}" for alias in node.names]
    else:
        names = []
    return [name.removeprefix("nammd.") for name in names if name.startswith("nammd.")]


def is_left_out(node):
    """Tell whether a block is run later than its module: a function, or what only the type checker reads."""
    if isinstance(node, ast.If):
        return getattr(node.test, "id", "") == "TYPE_CHECKING"
    return isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))


@cache
def imports():
    """Return every import of the rooms: by whom, of what, and whether importing the module leaves it out."""
    found = []
    for module, nodes in modules():
        found += [(module, target, left_out) for node, left_out in nodes for target in imported(node)]
    return [one for one in found if room(one[0]) in ROOMS]


def room(module):
    return module.split(".")[0]


def test_every_folder_is_a_room_of_the_page_and_says_what_belongs_there():
    folders = {path.parent.name for path in SOURCE.glob("*/__init__.py")}
    assert folders == set(ROOMS)
    for name in ROOMS:
        tree = ast.parse((SOURCE / name / "__init__.py").read_text("utf-8"))
        assert ast.get_docstring(tree), name


def test_what_the_page_names_is_there():
    text = re.sub(r"\s+", " ", PAGE.read_text(encoding="utf-8"))
    paths = set(re.findall(r"`((?:\w+/)+\w+\.py)`", text))
    assert len(paths) > 20
    folders = ROOT, SOURCE, SOURCE.parent
    assert [path for path in paths if not any((folder / path).is_file() for folder in folders)] == []
    defined = re.findall(r"(?:`|\*\*)(\w+)(?:`|\*\*)(?: in | \()`(\w+/\w+\.py)`", text)
    assert len(defined) > 5
    for name, path in defined:
        assert re.search(rf"^(class|def) {name}\b", (SOURCE / path).read_text("utf-8"), re.MULTILINE), name
    for room, what in rows_after("The rooms"):
        for name in re.findall(r"`([a-z_0-9]+)/?`", what):
            place = SOURCE / room.strip("`") / name
            assert place.is_dir() or place.with_suffix(".py").is_file(), place


def test_a_room_imports_only_from_rooms_above_it():
    assert len(imports()) > 300
    up = [
        (module, target, lazy)
        for module, target, lazy in imports()
        if room(target) in ROOMS and ROOMS.index(room(target)) > ROOMS.index(room(module))
    ]
    assert [i for i in up if not i[2]] == []
    by_name = {("questions.two_sample", "methods")}
    assert {(module, room(target)) for module, target, _ in up} == UPWARD - by_name


def test_the_methods_that_are_loaded_by_name_are_a_call_that_goes_up():
    assert ("questions.two_sample", "methods") in UPWARD
    assert {module.split(".")[1] for module, _ in METHODS.values()} == {"methods"}


def test_no_room_imports_a_public_name_beside_the_rooms():
    outside = {(m, t) for m, t, _ in imports() if room(t) not in ROOMS and t != "__version__"}
    one_function_says_when_a_check_has_passed = {
        ("integrations.gates", "testing"),
        ("integrations.mlflow", "testing"),
    }
    assert outside == one_function_says_when_a_check_has_passed


def names_in(module_prefix, words):
    """Return the modules below a room whose code mentions one of some names."""
    found = set()
    for module, nodes in modules():
        if not module.startswith(module_prefix):
            continue
        for node, _ in nodes:
            if (isinstance(node, ast.Name) and node.id in words) or (
                isinstance(node, ast.ImportFrom) and any(alias.name in words for alias in node.names)
            ):
                found.add(module)
    return found


@pytest.mark.parametrize("where", ["questions", "tolerances", "results", "report", "statistics"])
def test_sketches_are_unknown_further_in(where):
    assert names_in(where, {"Sketch", "SketchSample", "SketchEvidence"}) == set()


def test_dask_is_recognised_by_the_door_the_readers_and_the_cluster_engine_only():
    allowed = ("data", "reading", "engines.cluster")
    found = names_in("", {"is_dask", "is_dask_table", "Pieces"})
    assert [m for m in found if not m.startswith(allowed)] == []


def calls(function):
    """Yield every call of a built-in function: by whom, the call, and the names in its second argument."""
    for module, nodes in modules():
        for node, _ in nodes:
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == function:
                yield module, node, {n.id for n in ast.walk(node.args[1]) if isinstance(n, ast.Name)}


KERNELS = {
    "Gaussian",
    "Laplace",
    "Mahalanobis",
    "Deep",
    "RandomFeatures",
    "Scaled",
    "Sum",
    "SquaredExponential",
}


def test_kernel_classes_are_told_apart_by_dispatch_only():
    """Nobody asks what a kernel is, but the kernels themselves and the sketches of random features."""
    found = {module for module, _, names in calls("isinstance") if names & KERNELS}
    assert {m for m in found if room(m) not in ("kernels", "sketches", "cli")} == set()


def kinds_of(base):
    """Return the names of all classes of a base, through any number of steps."""
    return {base.__name__}.union(*(kinds_of(kind) for kind in base.__subclasses__()))


def test_what_a_dataset_can_do_is_asked_of_it_and_not_what_kind_it_is():
    kinds = kinds_of(Dataset)
    assert {"TableDataset", "ArrayDataset", "SpreadTable", "SpreadArray", "SummaryDataset"} < kinds
    asked = {
        module for function in ("isinstance", "issubclass") for module, _, n in calls(function) if n & kinds
    }
    assert {module for module in asked if room(module) != "data"} == set()


def test_what_an_engine_can_do_is_declared():
    """An attribute that an engine may lack has its default in `Engine`; other objects are adapted to it."""
    abilities = {name for name in vars(Engine) if not name.startswith("_")}
    assert "reads_files" in abilities
    found = [
        (module, ast.unparse(node))
        for function in ("getattr", "hasattr")
        for module, node, _ in calls(function)
        if "engine" in ast.unparse(node.args[0])
        or (isinstance(node.args[1], ast.Constant) and node.args[1].value in abilities)
    ]
    # Which fields of a dataclass are set, and whether an object of somebody else's can be adapted.
    allowed = {"engines.protocol", "engines.choice"}
    assert [each for each in found if each[0] not in allowed] == []
