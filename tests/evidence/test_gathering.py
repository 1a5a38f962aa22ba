"""What a pair of samples is known from: one run of the engine, each sample summed once."""

import numpy as np
import pytest

import nammd
from nammd.evidence import gather, prepare
from nammd.evidence.rows import RowEvidence
from nammd.evidence.sketches import SketchEvidence

RNG = np.random.default_rng(0)
X, Y, Z = (RNG.normal(shift, size=(rows, 2)) for shift, rows in ((0.0, 60), (0.3, 50), (0.6, 40)))
KERNEL = nammd.Gaussian(1.5)


class Watched(nammd.Engine):
    """Tiles that note what they are asked for."""

    def __init__(self):
        self.asked = []

    def sums(self, kernel, *parts):
        self.asked.append([tuple(len(sample) for sample in part) for part in parts])
        return nammd.Tiles().sums(kernel, *parts)

    def quadratic_forms(self, kernel, z, vectors):
        raise AssertionError("not asked for here")


def test_pairs_are_summed_in_one_run_and_each_sample_once():
    engine = Watched()
    x, y, z = prepare({"x": X, "y": Y, "z": Z}, kernel=KERNEL, engine=engine)
    gather([(x, y), (x, z)], engine=engine)
    assert engine.asked == [[(60,), (50,), (40,), (60, 50), (60, 40)]]


def test_what_is_known_is_not_summed_again():
    engine = Watched()
    x, y = prepare({"x": X, "y": Y}, kernel=KERNEL, engine=engine)
    [first] = gather([(x, y)], engine=engine)
    [second] = gather([(x, y)], engine=engine, known=first.known_x)
    assert engine.asked[1] == [(50,), (60, 50)]
    assert second.meeting.moments == first.meeting.moments


def test_a_dataset_that_is_given_twice_is_one_sample():
    one, two, three = prepare({"a": X, "b": Y, "c": X}, kernel=KERNEL)
    assert one is three
    assert one is not two


def test_mixed_types_meet_in_float64():
    x, y = prepare({"x": X.astype("float32"), "y": Y}, kernel=KERNEL)
    assert (x.points.dtype, y.points.dtype) == (np.float64, np.float64)


def test_rows_and_sketches_of_the_same_features_are_the_same_evidence():
    features = nammd.RandomFeatures(KERNEL, 64, rng=0)
    rows = gather([tuple(prepare({"x": X, "y": Y}, kernel=features))])[0]
    sketches = {"x": nammd.Sketch.of(X, features), "y": nammd.Sketch.of(Y, features)}
    summed = gather([tuple(prepare(sketches, kernel=features))])[0]
    assert isinstance(rows, RowEvidence)
    assert isinstance(summed, SketchEvidence)
    assert summed.meeting.moments.mmd2 == pytest.approx(rows.meeting.moments.mmd2, rel=1e-9)
    assert summed.meeting.moments.variance(1.1) == pytest.approx(rows.meeting.moments.variance(1.1), rel=1e-7)
    assert summed.spread is None
    assert summed.computed_by == f"sketches of {features!r}"
    assert rows.computed_by == "Tiles()"
    with pytest.raises(ValueError, match="sketches, which keep no rows"):
        _ = summed.sums
