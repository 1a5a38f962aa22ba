"""The level of tests under a kernel with features, where some rows tell of pairs."""

import numpy as np
import pytest

import nammd
from nammd.engines.features import sums as module

ALPHA, DRAWS, ROWS = 0.05, 150, 400
KERNEL = nammd.RandomFeatures(nammd.Gaussian(2.5), 60, orthogonal=True)


def true_distance(shift):
    """Return the distance of two normal laws under the features themselves."""
    w = KERNEL.frequencies(3)
    damped = np.exp(-(w * w).sum(axis=1))
    across = (damped * np.cos(w @ shift)).mean()
    return (2 * damped.mean() - 2 * across) / (4 - 2 * damped.mean())


@pytest.mark.parametrize("size", [0.15, 0.5])
def test_both_tests_hold_their_level_at_the_margin(size, monkeypatch):
    """A quarter of the rows tells of pairs: near zero, where these are most of the variance, and farther."""
    monkeypatch.setattr(module, "SECOND_ORDER_ROWS", ROWS // 4)
    rng, shift = np.random.default_rng(4), np.array([size, 0.0, 0.0])
    margin, rejected, values = true_distance(shift), {"greater": 0, "less": 0}, []
    engine = nammd.Tiles(threads=1)
    for _ in range(DRAWS):
        x, y = rng.normal(size=(ROWS, 3)), rng.normal(size=(ROWS, 3)) + shift
        estimate = nammd.distance(x, y, kernel=KERNEL, engine=engine)
        values.append((estimate.value, estimate.standard_error))
        for alternative in rejected:
            rejected[alternative] += estimate.margin_test(margin, alternative).pvalue(alternative) <= ALPHA
    # Of 150 draws at level 0.05, 15 or more are seen with probability 0.008, and none with 0.0005.
    assert max(rejected.values()) <= 14, rejected
    assert min(rejected.values()) >= 1, rejected
    found, errors = np.array(values).T
    assert np.sqrt(np.mean(errors**2)) == pytest.approx(np.std(found), rel=0.15)
