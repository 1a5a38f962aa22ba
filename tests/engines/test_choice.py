"""The one rule by which an engine is chosen, and how results name it."""

import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

import nammd
from nammd.engines import choice
from nammd.engines.choice import choose_engine
from nammd.selecting.bandwidth import select_bandwidth

X, Y = np.random.default_rng(0).normal(size=(2, 60, 3))
KERNEL = nammd.Gaussian(2.0)


class Other:
    """Stands for an engine that is not installed here."""

    def sums(self, kernel, *parts): ...

    def quadratic_forms(self, kernel, z, vectors): ...


@pytest.fixture(autouse=True)
def other_engines(monkeypatch):
    assert nammd.Cluster  # which is looked up the first time only, and must not be the one below
    fake = ModuleType("cluster")
    fake.Cluster = type("Cluster", (Other,), {})
    monkeypatch.setitem(sys.modules, "nammd.engines.cluster", fake)


def installed(monkeypatch, triton):
    monkeypatch.setattr(choice, "find_spec", lambda name: object() if triton and name == "triton" else None)


def dask_array():
    return type("Array", (), {"__module__": "dask.array.core"})()


def tensor(kind, dtype="float32"):
    torch = pytest.importorskip("torch")
    there = type("There", (torch.Tensor,), {"device": SimpleNamespace(type=kind)})
    return torch.Tensor._make_subclass(there, torch.zeros((3, 2), dtype=getattr(torch, dtype)))


def test_numpy_arrays_are_computed_by_tiles():
    assert choose_engine(None, X, Y) == nammd.Tiles()


def test_dask_collections_are_computed_by_the_cluster():
    assert type(choose_engine(None, dask_array(), dask_array())).__name__ == "Cluster"
    assert type(choose_engine(None, X, dask_array())).__name__ == "Cluster"


def test_tensors_on_a_gpu_are_computed_by_cuda_if_triton_is_installed(monkeypatch):
    installed(monkeypatch, triton=True)
    assert choose_engine(None, tensor("cuda"), tensor("cuda")) == nammd.Cuda()
    assert choose_engine(None, tensor("cpu"), tensor("cpu")) == nammd.Tiles()
    assert choose_engine(None, tensor("cuda"), tensor("cpu")) == nammd.Tiles()


def test_float64_on_a_gpu_stays_float64(monkeypatch):
    installed(monkeypatch, triton=True)
    assert choose_engine(None, tensor("cuda", "float64"), tensor("cuda", "float64")) == nammd.Tiles()


def test_tensors_on_a_gpu_are_computed_by_tiles_without_triton(monkeypatch):
    installed(monkeypatch, triton=False)
    assert choose_engine(None, tensor("cuda"), tensor("cuda")) == nammd.Tiles()


def test_an_engine_that_is_given_is_used_wherever_the_data_is():
    engine = nammd.Tiles(threads=1)
    assert choose_engine(engine, dask_array()) is engine


@pytest.mark.parametrize(
    ("engine", "words"),
    [
        (nammd.Tiles(), "Tiles()"),
        (nammd.Tiles(threads=1), "Tiles(threads=1)"),
        (nammd.Tiles(64, dtype="float32"), "Tiles(tile_rows=64, dtype='float32')"),
        (nammd.Tiles(progress=print), "Tiles()"),
        (nammd.Tiles(progress=False), "Tiles()"),
    ],
)
def test_an_engine_shows_what_was_set(engine, words):
    assert repr(engine) == words


def test_progress_makes_no_difference_between_engines():
    assert nammd.Tiles(progress=print) == nammd.Tiles(progress=True) == nammd.Tiles()
    assert hash(nammd.Tiles(progress=print)) == hash(nammd.Tiles())


RESULTS = {
    "distance": lambda e: nammd.distance(X, Y, kernel=KERNEL, engine=e),
    "closeness": lambda e: nammd.closeness_test(X, Y, 0.1, kernel=KERNEL, engine=e, alternative="greater"),
    "comparison": lambda e: nammd.compare_pairs((X, Y), (X, Y + 1), kernel=KERNEL, engine=e),
    "ranking": lambda e: nammd.rank(X, {"a": Y, "b": Y + 1}, kernel=KERNEL, engine=e),
    "two samples": lambda e: nammd.two_sample_test(X, Y, permutations=19, rng=0, engine=e),
    "fuse": lambda e: nammd.two_sample_test(X, Y, method="nammd-fuse", permutations=19, rng=0, engine=e),
    "verdict": lambda e: nammd.Tolerance.at(0.1, KERNEL, n_columns=3).check(X, Y, engine=e).details,
    "bandwidth": lambda e: select_bandwidth(X, Y, engine=e),
}


@pytest.mark.parametrize("result", RESULTS)
def test_every_result_names_its_engine(result):
    assert RESULTS[result](None).engine == "Tiles()"
    assert RESULTS[result](nammd.Tiles(threads=2)).engine == "Tiles(threads=2)"


def test_a_result_names_the_library_and_the_device():
    torch = pytest.importorskip("torch")
    x, y = torch.asarray(X), torch.asarray(Y)
    assert nammd.distance(x, y, kernel=KERNEL).engine == "Tiles() on torch, cpu"
    assert nammd.two_sample_test(x, y, permutations=19, rng=0).engine == "Tiles() on torch, cpu"


def test_a_cluster_without_dask_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "dask", None)
    with pytest.raises(
        ImportError, match=r"a Cluster engine needs dask; install it with: pip install 'nammd\[dask\]'"
    ):
        nammd.Cluster()
