"""The comparison of two-sample tests, and the study of the median bandwidth, read their counts right."""

import numpy as np
import pytest
from experiments.calibration import median_bandwidth, methods
from experiments.results import Done, Results


def compared(lacking=()):
    """Results of four draws: nammd finds all differences, the others half of them."""
    settings = methods._Comparison(repetitions=4)
    known = [method for method in methods.METHODS if method not in lacking]
    cells = []
    for cell in methods._cells(settings):
        differ = cell["kind"] == "power"
        values = {m: {"rejected": 2 * differ, "seconds": [0.1, 0.2, 0.2, 9.0]} for m in known}
        values["nammd"] = {"rejected": 4 * differ, "seconds": [0.01] * 4}
        cells.append(Done(dict(cell), values, 0.0))
    return Results(settings, "quick", 70, tuple(cells), platform="Some CPU; Linux; Python 3.11")


def test_shares_and_median_seconds_are_shown():
    text = methods._section(compared()).tables["methods.md"]
    assert "| nammd | 1.00 | 0.00 | 0.01 | 1.00 | 0.00 | 0.01 |" in text
    assert "| actt | 0.50 | 0.00 | 0.2 | 0.50 | 0.00 | 0.2 |" in text
    assert "on one machine (Some CPU, one thread)" in text


def test_methods_without_their_package_are_named():
    told = methods._section(compared(lacking=["actt"]))
    assert told.notes == ["Not run, for want of a package: actt."]
    assert "| actt |" not in told.body


def test_equal_laws_are_equal():
    x, y = methods.shift(50_000, alternative=False, rng=np.random.default_rng(0))
    assert abs(x.mean() - y.mean()) < 0.02
    x, y = methods.shift(50_000, alternative=True, rng=np.random.default_rng(0))
    assert (y - x).mean() == pytest.approx(1 / 6, abs=0.02)


def bandwidths(median, fixed):
    settings = median_bandwidth._Samples(repetitions=1000, sizes=("50",))
    counts = {"median too far": median, "median close": 40, "fixed too far": fixed, "fixed close": 45}
    cells = tuple(Done(dict(cell), counts, 0.0) for cell in median_bandwidth._cells(settings))
    return Results(settings, "quick", 66, cells)


def test_levels_of_both_bandwidths_are_shown_beside_each_other():
    told = median_bandwidth._section(bandwidths(90, 50))
    assert "| shifted normal | 50 | 0.090 | 0.040 | 0.050 | 0.045 |" in told.tables["median-level.md"]
    assert "in 4 of 8; with a fixed bandwidth" in told.sentence
    assert told.sentence.endswith("The two differ by at most 0.040.")
