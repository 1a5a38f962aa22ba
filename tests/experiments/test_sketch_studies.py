"""The studies of sketches: their laws are as far apart as they say, and their counts are read right."""

import numpy as np
import pytest
from experiments.calibration import sketch_accuracy, sketch_frequencies, sketch_samples
from experiments.results import Done, Results

import nammd
from nammd.datasets.laws import mixtures
from nammd.datasets.laws.features import nammd_of_normals, nammd_under, sketch_of_normal

GAUSSIAN, LAPLACE = nammd.Gaussian(1.3), nammd.Laplace(2.0)


@pytest.mark.parametrize("variance", [1.0, 0.4])
def test_normals_have_the_closed_form_of_mixtures(variance):
    shift = [0.7, 0.0, -0.4]
    exact = mixtures.nammd_of(mixtures.normal([0, 0, 0], 1.0), mixtures.normal(shift, variance), 1.3)
    assert nammd_of_normals(shift, GAUSSIAN, variance) == pytest.approx(exact, abs=1e-12)


@pytest.mark.parametrize("kernel", [GAUSSIAN, LAPLACE], ids=str)
def test_normals_are_as_far_apart_as_samples_of_them(kernel):
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(4000, 2)), rng.normal(size=(4000, 2)) * 0.6 + [0.5, 0.0]
    estimate = nammd.distance(x, y, kernel=kernel)
    assert abs(estimate.value - nammd_of_normals([0.5, 0.0], kernel, 0.36)) < 4 * estimate.standard_error


@pytest.mark.parametrize("kernel", [GAUSSIAN, LAPLACE], ids=str)
def test_the_sketch_of_a_law_is_that_of_very_many_rows(kernel):
    features = nammd.RandomFeatures(kernel, 8, rng=3)
    rows = np.random.default_rng(2).normal(size=(200_000, 2)) * 0.5 + [1.0, -0.3]
    law, sample = sketch_of_normal([1.0, -0.3], features, 0.25), nammd.Sketch.of(rows, features)
    np.testing.assert_allclose(law.total / law.n, sample.total / sample.n, atol=0.01)
    np.testing.assert_allclose(law.products / law.n, sample.products / sample.n, atol=0.01)


def test_features_see_mixtures_as_sketches_of_their_laws_do():
    features = nammd.RandomFeatures(GAUSSIAN, 32, rng=0)
    under = nammd_under(features, mixtures.normal([0.0, 0.0], 1.0), mixtures.normal([0.8, 0.1], 1.0))
    x, y = (sketch_of_normal(mean, features) for mean in ([0.0, 0.0], [0.8, 0.1]))
    assert nammd.distance(x, y, kernel=features).value == pytest.approx(under, abs=1e-7)


def frequencies(cautioned, close, unnoted):
    """Results in which every setting has the same counts of a hundred draws."""
    settings = sketch_frequencies._Drawn(repetitions=100, features=(16,))
    counts = {"too far": 3, "close": close, "cautioned": cautioned, "close, not cautioned": unnoted}
    cells = tuple(Done(dict(cell), counts, 0.0) for cell in sketch_frequencies._cells(settings))
    return Results(settings, "quick", 68, cells)


def test_what_a_missing_caution_is_worth_is_told_where_nearly_all_are_cautioned():
    told = sketch_frequencies._section(frequencies(cautioned=96, close=9, unnoted=2))
    assert "2 of 4 (4.0% of the draws; Gaussian of bandwidth 1.5, 1 column, 16 features)" in told.notes[0]
    assert "fewer than 10% of the draws are cautioned" not in told.sentence


def test_settings_without_cautions_are_told_by_themselves():
    told = sketch_frequencies._section(frequencies(cautioned=2, close=5, unnoted=4))
    assert "Where fewer than 10% of the draws are cautioned" in told.sentence
    assert "0.050 ± 0.022" in told.sentence
    assert not told.notes
    assert "| Gaussian | 1.5 | 1 | 16 | 0.030 | 0.050 | 0.040 | 2 % |" in told.tables["sketch-level.md"]


def samples(hits):
    """Results in which one pair of laws has so many rejections of a hundred, where epsilon is exact."""
    settings = sketch_samples._Sketched(repetitions=100, settings=("exact 50", "neglected 50"))
    cells = []
    for number, cell in enumerate(sketch_samples._cells(settings)):
        neglected = cell["meant"] == "neglected"
        cells.append(
            Done(dict(cell), {"too far": 40 if neglected else hits * (number == 0), "close": 5}, 0.0)
        )
    return Results(settings, "quick", 69, tuple(cells))


def test_only_tests_that_should_hold_their_level_are_said_to_be_off():
    assert sketch_samples._section(samples(5)).notes == []
    [note] = sketch_samples._section(samples(20)).notes
    assert "0.200 ± 0.040 (shifted normal, NAMMD 0.05, 50 rows) *too far*" in note
    row = "| the same without the variance over frequencies | 50 | 0.400 to 0.400 | 0.050 to 0.050 |"
    assert row in sketch_samples._section(samples(5)).tables["sketch-level-samples.md"]


def test_errors_of_chunks_are_joined_as_root_mean_squares():
    settings = sketch_accuracy._Sizes(repetitions=40, sizes=(32, 128))
    cells = []
    for cell in sketch_accuracy._cells(settings):
        square = {0: 0.01, 1: 0.03}[cell["chunk"]] * 32 / cell["features"]
        part = {"mean": square, "se": 0.0, "n": cell["count"]}
        values = {"value": 0.1, "standard error": 0.01, "measured": part, "stated": part}
        cells.append(Done(dict(cell), values, 0.0))
    told = sketch_accuracy._section(Results(settings, "quick", 67, tuple(cells)))
    assert "| 32 | 0.0045 MB | 0.14142 | 0.14142 |" in told.tables["sketch-accuracy.md"]
    assert "1.00 to 1.00 times the stated one" in told.sentence
    assert "-0.50 (Gaussian) and -0.50 (Laplace)" in told.sentence
