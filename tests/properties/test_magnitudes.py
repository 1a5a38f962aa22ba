"""Numbers of any magnitude: the answer is that of the same data at a moderate scale, or a refusal.

Data are multiplied by powers of two, which changes no digit, from 1e-320 to 1e308; or one value is put far
out, where a bounded kernel sees no difference between a billion and 1e300.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import nammd
from nammd import Gaussian, Laplace, Mahalanobis, RandomFeatures
from nammd.data.magnitudes import LARGEST, deviation, unit_of

pytestmark = pytest.mark.filterwarnings("error", "ignore::pytest.PytestUnraisableExceptionWarning")

SCALES = (-1064, -1030, -996, -700, -480, -340, -110, 110, 340, 450, 700, 990, 1020)
"""Powers of two between 1e-320 and 1e308."""

FAR = (1e30, 1e100, 1e160, -1e200, 1e300, -1.79e308)

ROW_AND_COLUMN = r"row 7\b.*column '?(1|a)\b"

REASONS = (
    "rows differ by",  # of arrays, whose bandwidth is one for all columns
    "less than a number can be scaled by",
    "beyond 1e\\+300",
    "has a standard deviation of",
)


def _arrays(seed: int = 0) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(40, 2)), rng.normal(size=(41, 2)), rng.normal(0.7, 1.0, (42, 2))


def _answer(ask: Callable[..., Any], data: Any) -> Any:
    """Return the numbers of an answer, or its refusal."""
    try:
        found = ask(*data)
    except ValueError as error:
        return error
    return np.array(found, dtype=float)


def _times(array: np.ndarray, power: int) -> np.ndarray:
    with np.errstate(all="ignore"):
        return np.ldexp(array, power)


def _check(reference: Any, accepted: Any, candidate: Any, **options: Any) -> list[float]:
    tolerance = nammd.Tolerance.from_reference(reference, {"accepted": accepted}, anyway=True, **options)
    verdict = tolerance.check(reference, candidate)
    assert str(verdict)
    columns = [float(each.pvalue) for each in verdict.column_checks]
    return [verdict.pvalue_close, verdict.pvalue_far, tolerance.epsilon, *columns]


def _sketched(x: Any, _: Any, y: Any) -> float:
    features = RandomFeatures(Gaussian.median(x, y), 64, rng=0)
    return float(nammd.distance(nammd.Sketch.of(x, features), nammd.Sketch.of(y, features)).value)


def _spread(x: Any, _: Any, y: Any) -> float:
    da = pytest.importorskip("dask.array")
    return float(nammd.distance(*(da.from_array(z, chunks=(16, -1)) for z in (x, y))).value)


def _compared(x: Any, z: Any, y: Any) -> list[float]:
    found = nammd.compare_pairs((x, y), (x, z))
    return [found.statistic, found.pvalue]


def _features(x: Any, _: Any, y: Any) -> float:
    kernel = RandomFeatures(Laplace.median(x, y), 64, rng=0)
    return float(nammd.distance(x, y, kernel=kernel).value)


QUESTIONS: dict[str, Callable[..., Any]] = {
    "gaussian": lambda x, _, y: nammd.distance(x, y).value,
    "laplace": lambda x, _, y: nammd.distance(x, y, kernel=Laplace).value,
    "mahalanobis": lambda x, _, y: nammd.distance(x, y, kernel=Mahalanobis).value,
    "scaled": lambda x, _, y: nammd.distance(x, y, space=nammd.Space.fit(x, y, scale="robust")).value,
    "features": _features,
    "sketches": _sketched,
    "cluster": _spread,
    "closeness": lambda x, _, y: nammd.closeness_test(x, y, 0.05, alternative="greater").pvalue,
    "two samples": lambda x, _, y: nammd.two_sample_test(x, y, rng=0).statistic,
    "pairs": _compared,
    "check": _check,
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_arrays_of_any_scale(question: str) -> None:
    ask, data = QUESTIONS[question], _arrays()
    usual = _answer(ask, data)
    powers = SCALES[::3] if question == "check" else SCALES
    answered = 0
    for power in powers:
        found = _answer(ask, [_times(each, power) for each in data])
        if isinstance(found, ValueError):
            assert re.search("|".join(REASONS), str(found)), (power, str(found))
            assert abs(power) > 440, (power, str(found))
        else:
            answered += 1
            np.testing.assert_allclose(found, usual, rtol=1e-6, atol=1e-12, err_msg=str(power))
    assert answered >= len(powers) // 4


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("side", [0, 1, 2])
def test_one_value_far_out_in_an_array(question: str, side: int) -> None:
    ask = QUESTIONS[question]
    of_features = question in ("features", "sketches")  # which have a value for every place

    @cache
    def with_one(value: float) -> Any:
        data = _arrays()
        data[side][7, 1] = value
        return _answer(ask, data)

    for value in FAR[::2] if question == "check" else FAR:
        found, usual = with_one(value), with_one(float(np.copysign(1e12, value)))
        if isinstance(found, ValueError):
            words = str(found)
            assert re.search(ROW_AND_COLUMN, words) or "standard deviation" in words, words
            assert of_features or abs(value) > 1e150 or side == 1, words
        elif not of_features:
            np.testing.assert_allclose(found, usual, rtol=1e-6, atol=1e-12, err_msg=str(value))


def _tables(units: tuple[int, int] = (0, 0), cell: tuple[int, float] | None = None) -> list[pa.Table]:
    rng, found = np.random.default_rng(1), []
    for number, shift in enumerate((0.0, 0.0, 0.7)):
        a, b = rng.normal(shift, 1.0, 50), rng.lognormal(size=(50, 2)).round(1)
        if cell is not None and cell[0] == number:
            a[7] = cell[1]
        vectors = pa.FixedSizeListArray.from_arrays(pa.array(_times(b, units[1]).ravel()), 2)
        found.append(pa.table({"a": _times(a, units[0]), "b": vectors, "c": rng.choice(["u", "v"], 50)}))
    return found


TABLE_QUESTIONS = {name: QUESTIONS[name] for name in ("gaussian", "laplace", "check")}


@pytest.mark.parametrize("question", TABLE_QUESTIONS)
def test_columns_of_any_scale(question: str) -> None:
    ask = TABLE_QUESTIONS[question]
    usual = _answer(ask, _tables())
    # Below 1e-307 numbers themselves have few digits.
    for power in (-996, 1018) if question == "check" else (-996, -700, -340, 340, 700, 1018):
        for units in ((power, 0), (0, power)):
            found = _answer(ask, _tables(units))
            np.testing.assert_allclose(found, usual, rtol=1e-6, atol=1e-12, err_msg=str(units))


@pytest.mark.parametrize("question", TABLE_QUESTIONS)
@pytest.mark.parametrize("side", [0, 1, 2])
def test_one_cell_far_out(question: str, side: int) -> None:
    ask = TABLE_QUESTIONS[question]

    @cache
    def with_one(value: float) -> Any:
        return _answer(ask, _tables(cell=(side, value)))

    for value in (1e300, -1.79e308) if question == "check" else FAR:
        found, usual = with_one(value), with_one(float(np.copysign(1e12, value)))
        if question == "check" and side == 1:  # half-way to it, a column is at another place
            found, usual = found[:3], usual[:3]
        np.testing.assert_allclose(found, usual, rtol=1e-6, atol=1e-12, err_msg=str(value))


def test_float32_arrays_of_any_scale() -> None:
    x, y = (each.astype(np.float32) for each in (_arrays()[0], _arrays()[2]))
    kernels = (Gaussian, Laplace)
    usual = [nammd.distance(x, y, kernel=kernel).value for kernel in kernels]
    featured = nammd.distance(x, y, kernel=RandomFeatures(Gaussian.median(x, y), 64)).value
    for power in (-110, -80, 80, 120):
        a, b = np.ldexp(x, power), np.ldexp(y, power)
        found = [nammd.distance(a, b, kernel=kernel).value for kernel in kernels]
        assert found == pytest.approx(usual, rel=1e-6)
        features = RandomFeatures(Gaussian.median(a, b), 64)
        assert nammd.distance(a, b, kernel=features).value == pytest.approx(featured, rel=1e-4)


def test_far_is_not_close_with_one_wild_value() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(300, 2)), rng.normal(1.0, 1.0, (300, 2))
    tolerance = nammd.Tolerance.from_noise(x, level=0.1)
    assert tolerance.check(x, y).decision.value == "FAR"
    x[3, 0] = 1e300
    assert nammd.distance(x, y).value > 0.05
    y[9, 1] = 1e305
    with pytest.raises(ValueError, match=r"y has 1e\+305 in row 9, column 1 \(counted from 0\), beyond"):
        nammd.distance(x, y)


def test_small_rows_are_not_the_same() -> None:
    x, _, y = _arrays()
    with pytest.raises(ValueError, match=r"rows differ by .*e-200, .* multiply all data by a number such as"):
        nammd.distance(1e-200 * x, 1e-200 * y)
    ties = np.r_[np.zeros(30), 1e-200 * np.arange(1, 21)]
    with pytest.raises(ValueError, match="rows differ by"):
        Gaussian.median(ties)
    with pytest.raises(ValueError, match="the data is constant"):
        Gaussian.median(np.full(9, 1e-200))


def test_a_number_too_large_on_a_cluster_has_its_row() -> None:
    da = pytest.importorskip("dask.array")
    x, _, y = _arrays()
    y[33, 1] = -2e300
    with pytest.raises(ValueError, match=r"y has -2e\+300 in row 33, column 1"):
        nammd.distance(*(da.from_array(z, chunks=(10, -1)) for z in (x, y)))


@pytest.mark.parametrize("narrow", [True, False])
@pytest.mark.parametrize("kind", [Gaussian, Laplace])
def test_a_kernel_that_is_0_or_1_is_said(kind: Any, narrow: bool) -> None:
    x, z, y = _arrays()
    kernel = kind(1e-9 if narrow else 1e12)
    groups = (np.arange(40) // 2, 100 + np.arange(42) // 2)
    for kernels, options in ((kernel, {}), (kernel, {"groups": groups}), (RandomFeatures(kernel, 64), {})):
        found = nammd.distance(x, y, kernel=kernels, **options)
        assert "flat-kernel" in [each.code for each in found.cautions], (kernels, options)
        assert "the bandwidth is so" in str(found)
    verdict = nammd.Tolerance.at(0.05, kernel, n_columns=2).check(x, y)
    assert "flat-kernel" in [each.code for each in verdict.cautions]
    twice = np.r_[y, x[:2]]
    if narrow:
        found = nammd.distance(x, twice, kernel=kernel)
        assert "exactly the same" in str(found)
    assert "flat-kernel" not in [each.code for each in nammd.distance(x, z).cautions]


def test_a_sketch_whose_rows_are_all_unlike_is_refused() -> None:
    x = _arrays()[0]
    with pytest.raises(ValueError, match="no two rows count as similar"):
        nammd.Sketch.of(x, RandomFeatures(Gaussian(1e-7), 64))


@pytest.mark.parametrize("kernel", [Gaussian(1.0), Laplace(1.0)])
@pytest.mark.parametrize("value", [1e6, 1e20, 1e60, 1e300])
@pytest.mark.parametrize("two", [True, False])
def test_the_programs_of_a_gpu_leave_rows_far_out_to_others(kernel: Any, value: float, two: bool) -> None:
    torch = pytest.importorskip("torch")
    from nammd.engines.cuda.operands import prepare

    x, _, y = (torch.asarray(each) for each in _arrays())
    near = prepare([x, y], kernel.exponentials(), 16, two)
    assert all(each.in_reach for each in near)
    x[7, 1] = value
    assert not all(each.in_reach for each in prepare([x, y], kernel.exponentials(), 16, two))


def test_units_are_powers_of_two() -> None:
    values = np.array([[0.0, 3.0, -1e300, 5e-324], [0.0, 1.0, 1.0, 0.0]])
    found = unit_of(values, axis=0)
    assert (np.frexp(found)[0] == 0.5).all()
    assert found[0] == 1
    assert ((np.abs(values).max(axis=0) / found)[1:] < 2).all()
    assert ((np.abs(values).max(axis=0) / found)[1:] >= 1).all()
    assert deviation(np.array([-LARGEST, LARGEST])) == LARGEST
