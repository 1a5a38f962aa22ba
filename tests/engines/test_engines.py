"""Laws of the tile engine: the sums of full matrices, whatever the tiles, the threads and the arrays."""

import json
import os
import subprocess
import sys
import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import array_api_strict
import numpy as np
import pytest
import torch
from scipy.spatial.distance import cdist
from threadpoolctl import threadpool_info, threadpool_limits

import nammd
from nammd.engines import Summed
from nammd.engines.sums import raised
from nammd.kernels import as_kernel
from tests.kernels.cases import CASES
from tests.waiting import GUARD

LIBRARIES = {
    "numpy": np.asarray,
    "torch": torch.asarray,
    "array_api_strict": array_api_strict.asarray,
}
FIELDS = [
    "xx_rows",
    "yy_rows",
    "xy_rows",
    "xy_cols",
    "xx_squares",
    "yy_squares",
    "xy_squares",
    "xy_diagonal",
]
SMALL_SIZES = [(2, 2), (6, 2), (7, 7), (8, 7), (14, 15), (22, 13)]
SMALL_TILES = [(1, 1), (7, 7), (7, 3), (1, 64), (64, 64), (None, None)]
GAUSSIAN, MIXTURE = nammd.Gaussian(1.7), nammd.Gaussian(0.9) + 2 * nammd.Laplace(3.0)


def samples(m, n, d=3, dtype="float64"):
    rng = np.random.default_rng([m, n, d])
    return rng.normal(size=(m, d)).astype(dtype), rng.normal(0.5, 1.4, size=(n, d)).astype(dtype)


def gaussian_matrix(x, y):
    return np.exp(-cdist(x, y, "sqeuclidean") / (2 * 1.7**2))


def mixture_matrix(x, y):
    gaussian = np.exp(-cdist(x, y, "sqeuclidean") / (2 * 0.9**2))
    return gaussian + 2 * np.exp(-cdist(x, y, "cityblock") / 3.0)


KERNELS = {"gaussian": (GAUSSIAN, gaussian_matrix), "mixture": (MIXTURE, mixture_matrix)}


def sums_of_matrices(x, y, matrix):
    """Return the fields of the sums from three stored Gram matrices, in float64."""
    x, y = x.astype(np.float64), y.astype(np.float64)
    xx, yy, xy = matrix(x, x), matrix(y, y), matrix(x, y)
    np.fill_diagonal(xx, 0.0)
    np.fill_diagonal(yy, 0.0)
    return {
        "xx_rows": xx.sum(1),
        "yy_rows": yy.sum(1),
        "xy_rows": xy.sum(1),
        "xy_cols": xy.sum(0),
        "xx_squares": (xx**2).sum(),
        "yy_squares": (yy**2).sum(),
        "xy_squares": (xy**2).sum(),
        "xy_diagonal": np.trace(xy) if len(x) == len(y) else None,
    }


def assert_sums(sums, expected, rtol=1e-12):
    for field in FIELDS:
        if expected[field] is None:
            assert getattr(sums, field) is None
        else:
            np.testing.assert_allclose(getattr(sums, field), expected[field], rtol, err_msg=field)


def fields_of(sums):
    return {field: getattr(sums, field) for field in FIELDS}


# Hundreds of tiles of one row take the strict library long, and are to it what tens of them are.
EVERY_TILING = [
    (library, kernel, tile, *size)
    for size in SMALL_SIZES
    for tile in SMALL_TILES
    for kernel in KERNELS
    for library in LIBRARIES
    if library != "array_api_strict" or tile[0] != 1 or max(size) < 9
]


@pytest.mark.parametrize(("library", "kernel", "tile", "m", "n"), EVERY_TILING, ids=str)
def test_sums_are_those_of_the_full_matrices(library, kernel, tile, m, n):
    x, y = samples(m, n)
    kernel, matrix = KERNELS[kernel]
    convert, engine = LIBRARIES[library], nammd.Tiles(*tile)
    sums = nammd.kernel_sums(convert(x), convert(y), kernel, engine)
    assert (sums.m, sums.n, sums.bound) == (m, n, kernel.bound)
    assert_sums(sums, sums_of_matrices(x, y, matrix))


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize(("m", "n"), [(63, 63), (64, 64), (65, 65), (64, 65), (129, 64), (2, 200)])
def test_sums_hold_around_the_borders_of_tiles(library, m, n):
    x, y = samples(m, n)
    convert, engine = LIBRARIES[library], nammd.Tiles(64, 64)
    sums = nammd.kernel_sums(convert(x), convert(y), MIXTURE, engine)
    assert_sums(sums, sums_of_matrices(x, y, mixture_matrix))


@pytest.mark.parametrize(("m", "n"), [(511, 513), (512, 512), (513, 1025), (1024, 1024), (1030, 3)])
def test_sums_hold_around_the_borders_of_the_default_tiles(m, n):
    x, y = samples(m, n)
    assert_sums(nammd.kernel_sums(x, y, GAUSSIAN), sums_of_matrices(x, y, gaussian_matrix))


def test_sums_hold_around_the_borders_of_the_default_tiles_on_torch():
    x, y = samples(2049, 2049)
    sums = nammd.kernel_sums(torch.asarray(x), torch.asarray(y), GAUSSIAN)
    assert_sums(sums, sums_of_matrices(x, y, gaussian_matrix))


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name.replace(" ", "-"))
@pytest.mark.parametrize("library", LIBRARIES)
def test_every_kernel_gives_the_same_sums_in_every_library(case, library):
    x, y = samples(11, 9)
    convert, engine = LIBRARIES[library], nammd.Tiles(4, 5)
    sums = nammd.kernel_sums(convert(x), convert(y), case.make(), engine)
    assert_sums(sums, sums_of_matrices(x, y, case.matrix))


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("d", [1, 16, 130])
def test_float32_sums_are_close_to_float64_and_not_made_of_it(library, d):
    x, y = samples(300, 311, d, "float32")
    x, y = x / np.float32(d**0.5), y / np.float32(d**0.5)
    convert = LIBRARIES[library]
    sums = nammd.kernel_sums(convert(x), convert(y), GAUSSIAN)
    expected = sums_of_matrices(x, y, gaussian_matrix)
    assert_sums(sums, expected, rtol=1e-5)
    assert abs(sums.xx_rows / expected["xx_rows"] - 1).max() > 1e-10


@pytest.mark.parametrize("given", ["float32", "float64"])
@pytest.mark.parametrize("asked", ["float32", "float64"])
def test_an_engine_computes_in_the_precision_asked_for(given, asked):
    x, y = samples(200, 150, dtype=given)
    expected = sums_of_matrices(x, y, gaussian_matrix)
    sums = nammd.kernel_sums(x, y, GAUSSIAN, nammd.Tiles(dtype=asked))
    assert_sums(sums, expected, rtol=1e-12 if asked == "float64" else 1e-5)
    exact = abs(sums.xx_rows / expected["xx_rows"] - 1).max() < 1e-12
    assert exact == (asked == "float64")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kernel", KERNELS)
def test_the_number_of_threads_does_not_change_a_bit(dtype, kernel):
    x, y = samples(300, 257, dtype=dtype)
    kernel, _ = KERNELS[kernel]
    one, *more = (nammd.kernel_sums(x, y, kernel, nammd.Tiles(32, 50, t)) for t in (1, 2, 3, 7))
    for sums in more:
        for field, value in fields_of(one).items():
            np.testing.assert_array_equal(getattr(sums, field), value, err_msg=field)


@pytest.mark.parametrize("tile", [(1, 301), (7, 7), (64, 64), (299, 300), (4096, 1)], ids=str)
def test_the_size_of_the_tiles_changes_rounding_only(tile):
    x, y = samples(300, 300)
    default = fields_of(nammd.kernel_sums(x, y, MIXTURE))
    assert_sums(nammd.kernel_sums(x, y, MIXTURE, nammd.Tiles(*tile)), default)


def test_results_agree_whatever_the_tiles_and_the_threads():
    x, y = samples(210, 190)
    engines = [nammd.Tiles(), nammd.Tiles(16, 31, 2), nammd.Tiles(500, 3, 3)]
    results = [
        nammd.closeness_test(x, y, 0.1, kernel=GAUSSIAN, engine=e, alternative="greater") for e in engines
    ]
    for result in results[1:]:
        assert result.statistic == pytest.approx(results[0].statistic, rel=1e-12)
        assert result.standard_error == pytest.approx(results[0].standard_error, rel=1e-10)
        assert result.pvalue == pytest.approx(results[0].pvalue, rel=1e-9)


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("tile", [(1, 1), (7, 5), (64, 64), (None, None)], ids=str)
@pytest.mark.parametrize("size", [4, 14, 29])
def test_quadratic_forms_are_those_of_the_matrix_without_its_diagonal(library, tile, size):
    z, _ = samples(size, 2)
    rng = np.random.default_rng(1)
    vectors = np.column_stack([rng.choice([-1.0, 1.0], (size, 6)), rng.normal(size=(size, 4))])
    gram = mixture_matrix(z, z)
    np.fill_diagonal(gram, 0.0)
    forms = nammd.Tiles(*tile).quadratic_forms(MIXTURE, LIBRARIES[library](z), vectors)
    expected = np.einsum("ik,ij,jk->k", vectors, gram, vectors)
    np.testing.assert_allclose(forms, expected, rtol=1e-12, atol=1e-12 * gram.sum())


@pytest.mark.parametrize("library", LIBRARIES)
def test_quadratic_forms_in_float32_are_close(library):
    z, _ = samples(600, 2, 8, "float32")
    vectors = np.random.default_rng(2).choice([-1.0, 1.0], (600, 5)).astype(np.float32)
    gram = gaussian_matrix(z.astype(np.float64), z.astype(np.float64))
    np.fill_diagonal(gram, 0.0)
    forms = nammd.Tiles().quadratic_forms(GAUSSIAN, LIBRARIES[library](z), vectors)
    expected = np.einsum("ik,ij,jk->k", vectors, gram, vectors)
    np.testing.assert_allclose(forms, expected, rtol=1e-5, atol=1e-6 * gram.sum())


def test_quadratic_forms_do_not_depend_on_the_number_of_threads():
    z, _ = samples(300, 2)
    vectors = np.random.default_rng(3).choice([-1.0, 1.0], (300, 20))
    one, three = (nammd.Tiles(40, 10, t).quadratic_forms(GAUSSIAN, z, vectors) for t in (1, 3))
    np.testing.assert_array_equal(one, three)


@pytest.mark.parametrize("permutations", [50, 61])
def test_a_two_sample_test_is_the_same_in_every_library(permutations):
    x, y = samples(25, 31)
    results = [
        nammd.two_sample_test(to(x), to(y), kernel=MIXTURE, permutations=permutations, rng=4)
        for to in LIBRARIES.values()
    ]
    for result in results[1:]:
        np.testing.assert_allclose(result.null, results[0].null, rtol=1e-9, atol=1e-13)
        assert result.pvalue == results[0].pvalue


class Watching(nammd.Kernel):
    """A user's kernel that calls a function of the test for every tile."""

    bound = 1.0

    def __init__(self, watch):
        self.watch = watch

    def __call__(self, x, y, /):
        self.watch()
        return np.exp(-cdist(x, y))


def blas_threads():
    return [info["num_threads"] for info in threadpool_info() if info["user_api"] == "blas"]


@pytest.fixture
def two_blas_threads():
    with threadpool_limits(2, user_api="blas"):
        assert set(blas_threads()) == {2}
        yield


@pytest.mark.usefixtures("two_blas_threads")
@pytest.mark.parametrize("threads", [1, 3])
def test_blas_has_one_thread_during_a_call_and_its_own_number_afterwards(threads):
    seen = []
    kernel = Watching(lambda: seen.append(min(blas_threads())))
    nammd.Tiles(50, 50, threads).sums(kernel, samples(200, 2)[:1])
    assert set(seen) == {1}
    assert set(blas_threads()) == {2}


def fail():
    raise ZeroDivisionError("from a user's kernel")


@pytest.mark.usefixtures("two_blas_threads")
@pytest.mark.parametrize("threads", [1, 3])
def test_blas_has_its_own_number_of_threads_after_an_exception(threads):
    x, y = samples(100, 90)
    with pytest.raises(ZeroDivisionError, match="from a user's kernel"):
        nammd.Tiles(20, 20, threads).sums(Watching(fail), (x,), (x, y))
    assert set(blas_threads()) == {2}


OVERLAPPING_CALLS = """
import json, sys, threading
from concurrent.futures import ThreadPoolExecutor
import numpy as np
from threadpoolctl import threadpool_info
import nammd

warmed_up, failing = json.loads(sys.argv[1])
both_inside, first_ended = threading.Barrier(2, timeout=600), threading.Event()
first_began = threading.Event()
seen, x = {}, np.random.default_rng(0).normal(size=(30, 2))

def blas_threads():
    return max(info["num_threads"] for info in threadpool_info() if info["user_api"] == "blas")

class Watching(nammd.Kernel):
    bound = 1.0
    def __init__(self, watch):
        self.watch = watch
    def __call__(self, x, y):
        self.watch()
        return np.exp(-((x[:, None] - y[None]) ** 2).sum(-1))

def short():
    first_began.set()
    both_inside.wait()
    seen["both inside"] = blas_threads()
    if failing:
        raise ZeroDivisionError

def long():
    both_inside.wait()
    first_ended.wait(600)
    seen["one left"] = blas_threads()

seen["before"] = blas_threads()
if warmed_up:
    nammd.kernel_sums(x, x, nammd.Gaussian(1.0))
with ThreadPoolExecutor(2) as pool:
    sums = nammd.Tiles(threads=1).sums
    one = pool.submit(sums, Watching(short), (x,))
    first_began.wait(600)
    two = pool.submit(sums, Watching(long), (x,))
    one.exception(600)
    first_ended.set()
    two.result(600)
    seen["after"] = blas_threads()  # both threads are still alive
json.dump(seen, sys.stdout)
"""


def watch_overlapping_calls(warmed_up, failing):
    """Overlap calls from two threads, in an interpreter whose BLAS begins with two threads."""
    numbers = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS")
    run = subprocess.run(
        [sys.executable, "-c", OVERLAPPING_CALLS, json.dumps([warmed_up, failing])],
        env=os.environ | dict.fromkeys(numbers, "2"),
        capture_output=True,
        text=True,
        timeout=GUARD,
    )
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


@pytest.mark.parametrize("failing", [False, True])
def test_the_last_of_two_overlapping_calls_gives_blas_its_threads_back(failing):
    seen = watch_overlapping_calls(False, failing)
    assert seen == {"before": 2, "both inside": 1, "one left": 1, "after": 2}


def test_blas_has_one_thread_in_calls_from_threads_after_one_from_the_main_thread():
    seen = watch_overlapping_calls(True, False)
    assert seen == {"before": 2, "both inside": 1, "one left": 1, "after": 2}


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_an_exception_inside_a_tile_stops_the_computation(threads):
    calls = []

    def fail_at_the_third_call():
        calls.append(0)
        if len(calls) == 3:
            fail()

    x, _ = samples(1000, 2)
    with pytest.raises(ZeroDivisionError, match="from a user's kernel"):
        nammd.Tiles(10, 1000, threads).sums(Watching(fail_at_the_third_call), (x,))
    failed_after, calls = len(calls), []
    nammd.Tiles(10, 1000, threads).sums(Watching(lambda: calls.append(0)), (x,))
    assert failed_after < len(calls) / 3


def test_an_engine_is_usable_after_an_exception():
    x, y = samples(40, 50)
    engine = nammd.Tiles(8, 8, 2)
    with pytest.raises(ZeroDivisionError):
        engine.sums(Watching(fail), (x,))
    assert_sums(nammd.kernel_sums(x, y, GAUSSIAN, engine), sums_of_matrices(x, y, gaussian_matrix))


@pytest.mark.parametrize("kernel", KERNELS)
def test_memory_stays_far_below_one_gram_matrix(kernel):
    m = 6000
    x, y = np.random.default_rng(0).normal(size=(2, m, 4))
    tracemalloc.start()
    try:
        nammd.kernel_sums(x, y, KERNELS[kernel][0], nammd.Tiles(threads=2))  # each has its buffers
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < m * m * 8 / 10


class Full:
    """A user's engine: stores the matrices, and keeps the protocol."""

    def sums(self, kernel, *parts):
        return [self._within(kernel, *p) if len(p) == 1 else self._cross(kernel, *p) for p in parts]

    def _within(self, kernel, x):
        gram = self._gram(kernel, x)
        return nammd.WithinSums(gram.sum(1), float((gram**2).sum()))

    def _cross(self, kernel, x, y):
        gram = kernel(x, y)
        paired = float(np.trace(gram)) if len(x) == len(y) else None
        return nammd.CrossSums(gram.sum(1), gram.sum(0), float((gram**2).sum()), paired)

    def _gram(self, kernel, x):
        gram = kernel(x, x)
        np.fill_diagonal(gram, 0.0)
        return gram

    def quadratic_forms(self, kernel, z, vectors):
        return np.einsum("ik,ij,jk->k", vectors, self._gram(kernel, z), vectors)


def test_an_engine_of_ones_own_serves_every_function():
    x, y = samples(40, 33)
    options = {"kernel": MIXTURE, "engine": Full()}
    tested = nammd.two_sample_test(x, y, permutations=30, rng=0, **options)
    expected = nammd.two_sample_test(x, y, permutations=30, rng=0, kernel=MIXTURE)
    distance = nammd.distance(x, y, **options)
    assert distance.value == pytest.approx(nammd.distance(x, y, kernel=MIXTURE).value, rel=1e-11)
    assert "Full object" in distance.engine
    np.testing.assert_allclose(tested.null, expected.null, rtol=1e-7, atol=1e-9)
    assert as_kernel(MIXTURE) is MIXTURE


class Declared(Full, nammd.Engine):
    """The same, as a subclass that says who computed."""

    def sums(self, kernel, *parts):
        return Summed(tuple(super().sums(kernel, *parts)), "full matrices")


def test_an_engine_needs_two_computations_and_has_the_others_by_default():
    x, y = samples(40, 33)
    kernels = [nammd.Gaussian(1.0), nammd.Laplace(2.0)]
    signs = np.random.default_rng(0).choice([-1.0, 1.0], (40, 3))
    ours, tiles = Declared(), nammd.Tiles()
    assert nammd.distance(x, y, kernel=GAUSSIAN, engine=ours).engine == "full matrices"
    for one, other in zip(*(engine.many_sums(kernels, (x, y)) for engine in (ours, tiles)), strict=True):
        np.testing.assert_allclose(one[0].rows, other[0].rows, rtol=1e-10)
    one, other = (engine.family_forms(kernels, x, signs) for engine in (ours, tiles))
    for name in ("forms", "rows", "squares"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=1e-9)
    # Differences of paired rows: by default from the pooled sample, in tiles half as large.
    vectors = np.random.default_rng(1).normal(size=(33, 5))
    one, other = (engine.paired_forms(kernels, x[:33], y, vectors) for engine in (ours, tiles))
    np.testing.assert_allclose(one.forms, other.forms, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(one.means, other.means, rtol=0.1)
    assert ours.can_compute(GAUSSIAN)
    with pytest.raises(TypeError, match="abstract"):
        nammd.Engine()


def test_an_engine_computes_a_shared_dataset_once():
    asked = []

    class Counting(Full):
        def sums(self, kernel, *parts):
            asked.extend(map(len, parts))
            return super().sums(kernel, *parts)

    x, y = samples(30, 25)
    result = nammd.compare_pairs((x, y), (x, y + 1), kernel=GAUSSIAN, engine=Counting())
    assert result.shared
    assert sorted(asked) == [1, 1, 1, 2, 2]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_powers_of_tiny_kernel_values_stay_normal_numbers(dtype):
    """Numbers below the normal ones would make processors a hundred times slower; they count for nothing."""
    tile = np.array([[1.0, 0.5], [1e-30, 0.0]], dtype)
    powers = [values.copy() for values in raised(tile, (1, 4, 256))]
    tiny = float(np.finfo(dtype).tiny)
    for power, values in zip((4, 256), powers[1:], strict=True):
        assert values[0, 0] == 1
        assert values[0, 1] == pytest.approx(0.5**power, rel=1e-5, abs=2 * tiny)
        assert values.min() >= tiny * 0.99
        assert values[1].max() < 1e-30


def test_tensors_of_torch_have_their_powers_too():
    torch = pytest.importorskip("torch")
    x, y = samples(40, 30)
    kernels = [nammd.Gaussian(2.0), nammd.Gaussian(1.0), nammd.Gaussian(0.5)]
    there = nammd.Tiles().many_sums(kernels, (torch.asarray(x),), (torch.asarray(x), torch.asarray(y)))
    for mine, theirs in zip(there, nammd.Tiles().many_sums(kernels, (x,), (x, y)), strict=True):
        for one, other in zip(mine, theirs, strict=True):
            np.testing.assert_allclose(one.rows, other.rows, rtol=1e-9)


@pytest.mark.parametrize(("asked", "expected"), [(None, 8), (12, 12)])
def test_sums_over_pairs_take_few_threads_unless_more_are_asked_for(monkeypatch, asked, expected):
    """More of them wait for each other between calls of NumPy."""
    taken = []

    class Recording(ThreadPoolExecutor):
        def __init__(self, threads, **options):
            taken.append(threads)
            super().__init__(threads, **options)

    monkeypatch.setattr("nammd.engines.tiles.pool.ThreadPoolExecutor", Recording)
    monkeypatch.setattr("nammd.engines.tiles.pool.cpu_count", lambda: 16)
    x, y = np.random.default_rng(0).normal(size=(2, 6000, 2)).astype("float32")
    nammd.kernel_sums(x, y, nammd.Gaussian(1.0), nammd.Tiles(threads=asked))
    assert taken == [expected]
