"""Importing and using the package leaves the rest of the process alone."""

import ast
import inspect
import json
import random
import subprocess
import sys

import numpy as np
import pytest
import torch

import nammd
from tests.waiting import GUARD

HEAVY = [
    "torch",
    "dask",
    "matplotlib",
    "typer",
    "pandas",
    "scipy",
    "polars",
    "pyarrow",
    "sklearn",
    "ot",
    "safetensors",
]


def python(code):
    """Run code in a fresh interpreter; the last line that it prints names its modules."""
    code += "\nimport json, sys; print(json.dumps(sorted(sys.modules)))"
    command = [sys.executable, "-W", "error", "-c", code]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=GUARD)
    assert ran.returncode == 0, ran.stderr
    return ran


def modules_after(code, whole=False):
    """Return the modules of a fresh interpreter after `code`: their first names, or whole ones."""
    names = json.loads(python(code).stdout.splitlines()[-1])
    return set(names) if whole else {name.partition(".")[0] for name in names}


def test_importing_nammd_imports_nothing_heavy_creates_no_threads_and_prints_nothing():
    ran = python("import threading; from nammd import *; print('threads', threading.active_count())")
    assert (ran.stdout.splitlines()[:-1], ran.stderr) == (["threads 1"], "")
    modules = {name.partition(".")[0] for name in json.loads(ran.stdout.splitlines()[-1])}
    assert "nammd" in modules
    assert modules.isdisjoint(HEAVY)


def test_importing_nammd_imports_nothing_of_it():
    modules = modules_after("import nammd", whole=True)
    assert [name for name in modules if name.startswith("nammd")] == ["nammd"]
    assert "numpy" not in modules


def test_names_other_than_the_monitor_do_without_it():
    others = [name for name, home in nammd._HOMES.items() if home != "nammd.monitor"]
    modules = modules_after(f"from nammd import {', '.join(others)}", whole=True)
    assert "nammd.tolerances.verdict" in modules
    assert not [name for name in modules if name.startswith("nammd.monitor")]


def test_using_nammd_on_small_arrays_imports_nothing_heavy():
    modules = modules_after(
        "import numpy as np, nammd\n"
        "x, y = np.random.default_rng(0).normal(size=(2, 30, 2))\n"
        "print(nammd.closeness_test(x, y, 0.1, alternative='less'), nammd.two_sample_test(x, y, rng=0))\n"
        "print(nammd.compare_pairs((x, y), (x, y + 1)))\n"
    )
    assert not modules & set(HEAVY)


def test_a_command_on_text_files_does_without_pandas(tmp_path):
    rows = "".join(f"{k % 7}.5,{'NA' if k % 9 else k},{'ab'[k % 2]}\n" for k in range(40))
    (tmp_path / "data.csv").write_text("x,gaps,letter\n" + rows + ",,\n")
    file = str(tmp_path / "data.csv")
    modules = modules_after(f"from nammd.cli import main; main(['distance', {file!r}, {file!r}])")
    assert "pyarrow" in modules
    assert "pandas" not in modules


def test_the_package_says_the_same_to_python_and_to_type_checkers():
    checked = {
        name.name: node.module
        for node in ast.walk(ast.parse(inspect.getsource(nammd)))
        if isinstance(node, ast.ImportFrom) and node.module.startswith("nammd.")
        for name in node.names
    }
    assert checked == nammd._HOMES
    assert sorted(checked) == nammd.__all__
    assert set(nammd.__all__) <= set(dir(nammd))


def test_a_name_that_the_package_does_not_have():
    with pytest.raises(AttributeError, match="module 'nammd' has no attribute 'distanec'"):
        nammd.distanec  # noqa: B018


def test_every_public_name_exists_and_is_documented():
    assert sorted(nammd.__all__) == nammd.__all__
    for name in nammd.__all__:
        assert inspect.getdoc(getattr(nammd, name))


@pytest.mark.parametrize("function", [n for n in nammd.__all__ if inspect.isfunction(getattr(nammd, n))])
def test_every_public_function_has_an_example(function):
    assert ">>> " in getattr(nammd, function).__doc__


def use_everything():
    """Call every public function, with and without an explicit generator."""
    x, y, z = np.random.default_rng(0).normal(size=(3, 60, 2))
    tensor = torch.asarray(x), torch.asarray(y)
    kernel = nammd.Gaussian.median(x, y, max_rows=50)
    nammd.Laplace.median(x, y, max_rows=50, rng=None)
    nammd.Mahalanobis.median(x, y, max_rows=50, rng=1)
    nammd.kernel_sums(x, y, kernel, nammd.Tiles(threads=2))
    nammd.distance(x, y).confidence_interval()
    nammd.closeness_test(x, y, 0.1, alternative="less")
    nammd.compare_pairs((x, y), (x, z))
    for rng in (None, 0, np.random.default_rng(1)):
        nammd.two_sample_test(x, y, permutations=20, rng=rng)
    nammd.two_sample_test(*tensor, permutations=20, rng=0)


def random_states():
    kind, keys, *rest = np.random.get_state()  # noqa: NPY002
    return kind, keys.tobytes(), rest, random.getstate(), torch.get_rng_state().numpy().tobytes()


def test_no_function_touches_global_random_state():
    before = random_states()
    use_everything()
    assert random_states() == before


def test_the_watch_on_global_random_state_sees_a_draw():
    before = random_states()
    np.random.uniform()  # noqa: NPY002
    assert random_states() != before


def test_global_random_state_does_not_matter():
    x, y = np.random.default_rng(0).normal(size=(2, 60, 2))
    results = []
    for seed in (0, 1):
        np.random.seed(seed)  # noqa: NPY002
        results.append(nammd.two_sample_test(x, y, permutations=50, rng=7).null)
    np.testing.assert_array_equal(*results)


def test_numpy_error_handling_is_left_alone():
    before = np.geterr()
    with np.errstate(all="raise"):
        inside = np.geterr()
        use_everything()
        assert np.geterr() == inside
    assert np.geterr() == before
