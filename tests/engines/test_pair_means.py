"""Mean kernel values of a sample and of copies of it: the same however an engine gets them."""

import numpy as np
import pytest

import nammd
from nammd.engines.protocol import Engine
from nammd.kernels.operations import at_scale

SCALES = (1.0, 0.5, 0.125)
GAUSSIAN = nammd.Gaussian(2.0)
KERNELS = {
    "Gaussian": GAUSSIAN,
    "Laplace": nammd.Laplace(3.0),
    "features": nammd.RandomFeatures(GAUSSIAN, 64, rng=0, orthogonal=True),
    "features of Laplace": nammd.RandomFeatures(nammd.Laplace(3.0), 64, rng=1),
}


def at_scales(kernel):
    return [kernel if scale == 1 else at_scale(kernel, scale) for scale in SCALES]


def sample_and_copies(rows=700):
    rng = np.random.default_rng(0)
    x = rng.normal(loc=5.0, size=(rows, 4))
    return x, [x + level * rng.normal(size=x.shape) for level in (0.1, 1.0)]


def by_gram_matrices(kernel, x, y):
    """Return the three means from whole matrices."""
    apart = ~np.eye(len(x), dtype=bool)
    return [kernel(one, two)[apart].mean() for one, two in ((x, x), (y, y), (x, y))]


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_means_are_those_of_whole_matrices(name, dtype, library):
    x, copies = sample_and_copies()
    there = [x, *copies]
    if library == "torch":
        torch = pytest.importorskip("torch")
        there = [torch.asarray(each) for each in there]
    kernels = at_scales(KERNELS[name])
    found = nammd.Tiles(dtype=dtype).pair_means(kernels, there[0], there[1:])
    for kernel, means in zip(kernels, found, strict=True):
        for copy, mean in zip(copies, means, strict=True):
            expected = by_gram_matrices(kernel, x, copy)
            accuracy = 1e-12 if dtype == "float64" else 2e-7
            np.testing.assert_allclose([mean.x, mean.y, mean.cross], expected, atol=accuracy)


def test_an_engine_without_an_own_way_makes_them_of_its_sums():
    class Plain(Engine):
        def sums(self, kernel, *parts):
            return nammd.Tiles().sums(kernel, *parts)

        def quadratic_forms(self, kernel, z, vectors):
            return nammd.Tiles().quadratic_forms(kernel, z, vectors)

    x, copies = sample_and_copies(60)
    kernels = at_scales(KERNELS["features"])
    for one, two in zip(
        Plain().pair_means(kernels, x, copies), nammd.Tiles().pair_means(kernels, x, copies), strict=True
    ):
        for left, right in zip(one, two, strict=True):
            np.testing.assert_allclose(
                [left.x, left.y, left.cross], [right.x, right.y, right.cross], atol=1e-12
            )
