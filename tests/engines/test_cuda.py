"""Laws of the GPU engine: its programs, on a GPU or step by step on the CPU, against the tile engine."""

import subprocess
import sys

import numpy as np
import pytest
import torch

import nammd
from nammd.engines.cuda.launch import Ladder, Shape, first_that_fits
from nammd.engines.cuda.operands import prepare
from nammd.engines.protocol import FormTask
from nammd.kernels.family import powers_of
from nammd.kernels.networks import mlp
from nammd.kernels.operations import at_scale

pytest.importorskip("triton", reason="Triton is not installed")

ON_GPU = torch.cuda.is_available()
# More than one tile each, of 64 rows and 128 columns; step by step on the CPU, a few tiles take a second.
SEVERAL_TILES, MANY_TILES = ((300, 280), (600, 900)) if ON_GPU else ((70, 130), (140, 270))
AROUND_TILES = (
    [(4, 4), (255, 256), (256, 257), (700, 5), (64, 513)]
    if ON_GPU
    else [(4, 4), (63, 256), (64, 257), (128, 129), (390, 5)]
)
FIELDS = ["xx_rows", "yy_rows", "xy_rows", "xy_cols", "xx_squares", "yy_squares", "xy_squares"]
KERNELS = {
    "gaussian": nammd.Gaussian(2.0),
    "scaled": 300.0 * nammd.Gaussian(2.0),
    "mahalanobis": nammd.Mahalanobis([[2.0, 0.3, 0, 0], [0.3, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0.1]], 1.5),
    "two gaussians": 2 * nammd.Gaussian(2.0) + nammd.Gaussian(0.8),
    "laplace": nammd.Laplace(5.0),
    "scaled laplace": 3 * nammd.Laplace(5.0),
    "deep": nammd.Deep(mlp(4, hidden=8, rng=0), 1.5, 0.5),
}


def samples(m, n, d=4, shift=0.3):
    rng = np.random.default_rng([m, n, d])
    return rng.normal(size=(m, d)).astype("float32"), rng.normal(shift, 1.2, (n, d)).astype("float32")


def there(*arrays):
    return [torch.asarray(a, device="cuda" if ON_GPU else "cpu") for a in arrays]


def both(x, y, kernel, precision="high"):
    ours = nammd.kernel_sums(*there(x, y), kernel, nammd.Cuda(precision))
    exact = nammd.kernel_sums(x.astype("float64"), y.astype("float64"), kernel)
    return ours, exact


@pytest.mark.parametrize("name", KERNELS)
def test_sums_of_every_kernel_have_the_accuracy_of_float32(name):
    ours, exact = both(*samples(*SEVERAL_TILES), KERNELS[name])
    for field in FIELDS:
        np.testing.assert_allclose(getattr(ours, field), getattr(exact, field), rtol=2e-6, err_msg=field)
    assert ours.xy_diagonal is None


@pytest.mark.parametrize(("m", "n"), AROUND_TILES)
def test_any_number_of_rows(m, n):
    ours, exact = both(*samples(m, n), KERNELS["gaussian"])
    for field in FIELDS:
        np.testing.assert_allclose(getattr(ours, field), getattr(exact, field), rtol=2e-6, err_msg=field)


@pytest.mark.parametrize("d", [1, 16, 17, 64, 100, 129, 200])
def test_any_number_of_columns(d):
    ours, exact = both(*samples(70, 130, d), nammd.Gaussian(2.0 * d**0.5))
    for field in FIELDS:
        np.testing.assert_allclose(getattr(ours, field), getattr(exact, field), rtol=2e-6, err_msg=field)


@pytest.mark.parametrize("name", ["gaussian", "laplace", "deep"])
def test_pairs_of_the_same_row_number(name):
    ours, exact = both(*samples(SEVERAL_TILES[1], SEVERAL_TILES[1]), KERNELS[name])
    assert ours.xy_diagonal == pytest.approx(exact.xy_diagonal, rel=1e-6)


@pytest.mark.parametrize("name", ["gaussian", "features"])
def test_means_of_copies_at_several_scales(name):
    kernel = nammd.RandomFeatures(nammd.Gaussian(2.0), 32, rng=0) if name == "features" else KERNELS[name]
    x, noise = samples(SEVERAL_TILES[1], SEVERAL_TILES[1])
    kernels = [kernel, at_scale(kernel, 0.5)]
    ours = nammd.Cuda().pair_means(kernels, *there(x), there(x + noise))
    exact = nammd.Tiles().pair_means(kernels, x.astype("float64"), [(x + noise).astype("float64")])
    for [one], [two] in zip(ours, exact, strict=True):
        np.testing.assert_allclose([one.x, one.y, one.cross], [two.x, two.y, two.cross], atol=2e-7)


def test_matrices_larger_than_the_buffers_are_done_in_turns(monkeypatch):
    from nammd.engines.cuda import engine as cuda
    from nammd.engines.cuda import launch as cuda_launch

    x, y = samples(*MANY_TILES)
    whole, exact = both(x, y, KERNELS["gaussian"])
    monkeypatch.setattr(cuda, "_BUFFER_BYTES", 2 * 4 * 768)  # the row sums of two tiles
    monkeypatch.setattr(cuda_launch, "_PANEL_ROWS", 128)
    monkeypatch.setattr(cuda_launch, "_PROGRAMS", 1)
    parts, _ = both(x, y, KERNELS["gaussian"])
    for field in FIELDS:
        np.testing.assert_allclose(getattr(parts, field), getattr(exact, field), rtol=2e-6, err_msg=field)
        np.testing.assert_allclose(getattr(parts, field), getattr(whole, field), rtol=1e-6, err_msg=field)


def test_results_are_the_same_bits_every_time():
    x, y = there(*samples(*SEVERAL_TILES))
    one, two = (nammd.kernel_sums(x, y, KERNELS["gaussian"], nammd.Cuda()) for _ in range(2))
    for field in FIELDS:
        assert np.array_equal(getattr(one, field), getattr(two, field)), field


def test_fast_is_a_kernel_of_rounded_data():
    """Its sums are those of rows rounded to 11 bits, to float32 accuracy, not merely near the exact ones."""
    x, y = samples(*SEVERAL_TILES)
    centre = (x.mean(0, dtype="float64") + y.mean(0, dtype="float64")) / 2
    unit = np.sqrt(np.log2(np.e)) / 2.0
    rounded = [((z - centre) * unit).astype(np.float16).astype("float64") / unit for z in (x, y)]
    ours, exact = both(x, y, nammd.Gaussian(2.0), "fast")
    moved = nammd.kernel_sums(*rounded, nammd.Gaussian(2.0))
    for field in FIELDS:
        np.testing.assert_allclose(getattr(ours, field), getattr(moved, field), rtol=2e-6, err_msg=field)
    assert np.abs(ours.xx_rows / exact.xx_rows - 1).max() > 1e-5


@pytest.mark.parametrize("name", ["gaussian", "scaled", "two gaussians", "laplace", "deep"])
def test_quadratic_forms_with_signs(name):
    rows = SEVERAL_TILES[1]
    [x], signs = [samples(rows, 4)[0]], np.random.default_rng(0).choice([-1.0, 1.0], (rows, 140))
    ours = nammd.Cuda().quadratic_forms(KERNELS[name], *there(x), signs.astype("float32"))
    exact = nammd.Tiles().quadratic_forms(KERNELS[name], x.astype("float64"), signs)
    np.testing.assert_allclose(ours, exact, atol=1e-5 * exact.std(), rtol=0)


def test_vectors_that_half_precision_cannot_hold_are_not_rounded():
    x, vectors = samples(40, 4)[0], np.random.default_rng(0).normal(size=(40, 3))
    ours = nammd.Cuda().quadratic_forms(KERNELS["gaussian"], *there(x), vectors.astype("float32"))
    exact = nammd.Tiles().quadratic_forms(KERNELS["gaussian"], x.astype("float64"), vectors)
    np.testing.assert_allclose(ours, exact, rtol=1e-4)


def test_an_offset_of_the_data_costs_no_digits():
    x, y = samples(*SEVERAL_TILES)
    near = nammd.kernel_sums(*there(x, y), KERNELS["gaussian"], nammd.Cuda())
    far = nammd.kernel_sums(*there(x + 1024, y + 1024), KERNELS["gaussian"], nammd.Cuda())
    exact = nammd.kernel_sums(
        (x + np.float32(1024)).astype("float64"),
        (y + np.float32(1024)).astype("float64"),
        KERNELS["gaussian"],
    )
    np.testing.assert_allclose(far.xy_rows, exact.xy_rows, rtol=2e-6)
    np.testing.assert_allclose(far.xy_rows, near.xy_rows, rtol=1e-3)


@pytest.mark.parametrize(
    "kernel", [nammd.Gaussian(0.05), nammd.Laplace(5.0) + nammd.Gaussian(1.0)], ids=["spread", "mixed"]
)
def test_what_the_programs_cannot_do_is_left_to_the_tile_engine(kernel):
    x, y = samples(50, 60)
    ours, exact = both(x, y, kernel)
    np.testing.assert_allclose(ours.xx_rows, exact.xx_rows, rtol=1e-5, atol=1e-12)
    signs = np.random.default_rng(0).choice([-1.0, 1.0], (50, 3)).astype("float32")
    forms = nammd.Cuda().quadratic_forms(kernel, *there(x), signs)
    expected = nammd.Tiles().quadratic_forms(kernel, x.astype("float64"), signs)
    np.testing.assert_allclose(forms, expected, rtol=1e-4, atol=1e-6)


def test_the_result_names_who_computed_it():
    x, y = there(*samples(30, 30))
    assert nammd.distance(x, y, kernel=nammd.Gaussian(2.0), engine=nammd.Cuda()).engine.startswith("Cuda(")
    for kernel in (nammd.Gaussian(0.05), nammd.Laplace(5.0) + nammd.Gaussian(1.0)):
        assert nammd.distance(x, y, kernel=kernel, engine=nammd.Cuda()).engine.startswith("Tiles() on torch")


def test_samples_are_prepared_once_however_many_parts_they_are_in(monkeypatch):
    """Rows are rounded, split and padded on the way to the programs, which is a pass over all of them."""
    prepared = []

    def watched(samples, *rest):
        prepared.append([len(sample) for sample in samples])
        return prepare(samples, *rest)

    monkeypatch.setattr("nammd.engines.cuda.engine.prepare", watched)
    x, y = there(*samples(50, 60))
    nammd.Cuda().sums(nammd.Gaussian(2.0), (x,), (y,), (x, y))
    assert prepared == [[50, 60]]


def test_an_engine_says_beforehand_what_it_can_compute():
    [x] = there(samples(30, 30)[0])
    engine = nammd.Cuda()
    for kernel, mine in (
        (nammd.Gaussian(2.0), True),
        (nammd.Laplace(2.0), True),
        (nammd.Gaussian(2.0) + nammd.Gaussian(1.0), True),
        (nammd.Laplace(5.0) + nammd.Gaussian(1.0), False),
    ):
        assert engine.can_compute(kernel) == mine
        assert engine.described(x, kernel=kernel).startswith("Cuda(" if mine else "Tiles()")


def test_a_closeness_test_and_a_permutation_test_agree_with_the_cpu():
    x, y = samples(SEVERAL_TILES[1], SEVERAL_TILES[1], shift=0.1)
    engine, kernel = nammd.Cuda(), nammd.Gaussian(2.0)
    ours = nammd.closeness_test(*there(x, y), 0.02, kernel=kernel, engine=engine, alternative="greater")
    cpu = nammd.closeness_test(x, y, 0.02, kernel=kernel, alternative="greater")
    assert ours.statistic == pytest.approx(cpu.statistic, rel=1e-5)
    assert ours.pvalue == pytest.approx(cpu.pvalue, rel=1e-4)
    assert ours.engine.startswith("Cuda(precision='high') on torch, c")
    one = nammd.two_sample_test(*there(x, y), kernel=kernel, permutations=99, rng=0, engine=engine)
    assert one.pvalue == nammd.two_sample_test(x, y, kernel=kernel, permutations=99, rng=0).pvalue


def test_a_chip_with_little_shared_memory_gets_smaller_tiles():
    from triton.runtime.errors import OutOfResources

    tried = []

    def run(shape):
        tried.append(shape)
        if shape.rows > 32:
            raise OutOfResources(300_000, 100_000, "shared memory")
        return "done"

    shapes = [Shape(rows, 128, 4, 1) for rows in (128, 64, 32, 16)]
    assert first_that_fits(shapes, run) == "done"
    assert [shape.rows for shape in tried] == [128, 64, 32]
    with pytest.raises(OutOfResources):
        first_that_fits(shapes[:2], run)


def test_wrong_precision_and_wrong_arrays_are_refused(monkeypatch):
    with pytest.raises(ValueError, match="precision must be 'high' or 'fast', not 'exact'"):
        nammd.Cuda("exact")
    x, y = samples(20, 20)
    with pytest.raises(TypeError, match=r"needs torch tensors on a CUDA device.*got ndarray"):
        nammd.distance(x, y, engine=nammd.Cuda())
    monkeypatch.setattr("nammd.engines.cuda.engine._interpreting", lambda: False)
    with pytest.raises(TypeError, match="got Tensor on cpu"):
        nammd.distance(torch.asarray(x), torch.asarray(y), engine=nammd.Cuda())


def test_the_engine_is_there_without_torch_and_triton():
    code = "import sys, nammd; nammd.Cuda(); print([m for m in ('torch', 'triton') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("paired", [False, True])
def test_many_forms_are_those_of_tiles(paired):
    rng, tasks, exact = np.random.default_rng(0), [], []
    for rows in (40, 40, 70):  # two of one shape are computed together
        x, y = rng.normal(size=(2, rows, 3)).astype("float32")
        samples = (x, y) if paired else (x,)
        kernels = [nammd.Gaussian(rng.uniform(0.5, 2)), nammd.Laplace(2.0), nammd.Gaussian(4.0)]
        signs = rng.choice([-1, 1], (rows, 130)).astype("int8")
        tasks.append(FormTask(kernels, tuple(there(*samples)), signs))
        doubled = FormTask(kernels, tuple(z.astype("float64") for z in samples), signs)
        exact += nammd.Tiles().many_forms([doubled])
    for ours, theirs in zip(nammd.Cuda().many_forms(tasks), exact, strict=True):
        spread = theirs.forms.std(axis=1, keepdims=True)
        np.testing.assert_allclose(ours.forms / spread, theirs.forms / spread, atol=1e-4)
        if not paired:
            np.testing.assert_allclose(ours.rows, theirs.rows, rtol=1e-5)
            np.testing.assert_allclose(ours.squares, theirs.squares, rtol=1e-5)


def test_vectors_that_half_precision_lacks_are_left_to_the_other_programs():
    x, _ = samples(40, 40)
    vectors = np.random.default_rng(0).normal(size=(40, 3)).astype("float32")
    kernels = [nammd.Gaussian(2.0), nammd.Laplace(5.0)]
    ours = nammd.Cuda().family_forms(kernels, *there(x), vectors)
    theirs = nammd.Tiles().family_forms(kernels, x.astype("float64"), vectors)
    np.testing.assert_allclose(ours.forms, theirs.forms, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize(
    ("kind", "columns", "precision", "count"),
    [
        (nammd.Gaussian, 4, "high", 2),
        (nammd.Gaussian, 4, "high", 3),
        (nammd.Gaussian, 4, "high", 4),
        (nammd.Gaussian, 4, "high", 5),
        (nammd.Gaussian, 4, "fast", 3),
        (nammd.Gaussian, 130, "high", 3),
        (nammd.Laplace, 4, "high", 3),
    ],
)
def test_several_scales_are_the_sums_of_each(kind, columns, precision, count):
    """A tile is raised to powers where it is; rounding grows with the power."""
    x, y = samples(*(SEVERAL_TILES if columns == 4 else (70, 60)), d=columns)
    bandwidth = kind.median(x).bandwidth
    kernels = [kind(bandwidth * 2.0**-k) for k in range(count)]
    parts = [(x,), (x, y), (y[:60], y[:60] + np.float32(0.1))]
    ours = nammd.Cuda(precision).many_sums(kernels, *[tuple(there(*part)) for part in parts])
    exact = nammd.Tiles().many_sums(kernels, *[tuple(z.astype("float64") for z in part) for part in parts])
    for power, found, expected in zip((1, 4, 16, 64, 256)[:count], ours, exact, strict=True):
        rtol = power * (2e-6 if precision == "high" or kind is nammd.Laplace else 2e-3)
        for mine, theirs in zip(found, expected, strict=True):
            np.testing.assert_allclose(mine.rows, theirs.rows, rtol=rtol, atol=rtol * theirs.rows.mean())
            assert mine.squares == pytest.approx(theirs.squares, rel=3 * rtol)
        assert found[2].diagonal == pytest.approx(expected[2].diagonal, rel=rtol)


def test_steps_that_the_programs_do_not_know_are_done_one_by_one():
    x, y = samples(70, 60)
    kernels = [nammd.Gaussian(4.0), nammd.Gaussian(2.0), nammd.Gaussian(0.5)]  # powers 1, 4, 64
    assert Ladder.of(powers_of(kernels)) is None
    found = nammd.Cuda().many_sums(kernels, tuple(there(x, y)))
    for kernel, sums in zip(kernels, found, strict=True):
        exact = nammd.kernel_sums(x.astype("float64"), y.astype("float64"), kernel)
        np.testing.assert_allclose(sums[0].rows, exact.xy_rows, rtol=1e-4)
