"""Sketches that keep finer scales: as rows under the features of each scale, in one reading."""

import numpy as np
import pyarrow as pa
import pytest

import nammd
from nammd.kernels.operations import at_scale
from nammd.statistics.scales import SCALES, contacts
from tests.sketches.samples import FEATURES, KERNEL, X, Y, Z, same

SPIKED = np.where(np.arange(len(Y))[:, None] % 10 == 0, [0.3, 0.3, 0.3], Y)
ONE, OTHER = (nammd.Sketch.of(data, FEATURES, scales="all") for data in (X, SPIKED))


def every_scale(sketch):
    return [sketch.at(scale) for scale in sketch.scales]


def same_at_every_scale(one, other):
    assert one.scales == other.scales == SCALES
    for a, b in zip(every_scale(one), every_scale(other), strict=True):
        same(a, b)


def test_at_each_scale_it_is_the_rows_of_the_features_there():
    found = nammd.distance(ONE, OTHER, kernel=FEATURES, scales="all")
    assert len(found.scales) == 4
    for scale, each in zip(SCALES, (found, *found.scales), strict=True):
        features = at_scale(FEATURES, scale)
        assert features == nammd.RandomFeatures(nammd.Gaussian(1.5 * scale), 64, rng=4)
        by_rows = nammd.distance(X, SPIKED, kernel=features)
        assert each.value == pytest.approx(by_rows.value, abs=1e-10)
        assert each.standard_error == pytest.approx(by_rows.standard_error, abs=1e-10)
        assert contacts(each.pair) == pytest.approx(contacts(by_rows.pair), rel=1e-9)


def test_rows_are_compared_under_features_at_every_scale():
    found = nammd.distance(X, SPIKED, kernel=FEATURES, scales="all")
    sketched = nammd.distance(ONE, OTHER, kernel=FEATURES, scales="all")
    np.testing.assert_allclose(
        [each.value for each in found.scales], [each.value for each in sketched.scales], atol=1e-10
    )


def test_the_error_of_the_features_is_included_at_every_scale():
    meant = nammd.distance(ONE, OTHER, scales="all")
    under = nammd.distance(ONE, OTHER, kernel=FEATURES, scales="all")
    for exact, features in zip((meant, *meant.scales), (under, *under.scales), strict=True):
        assert exact.value == features.value
        assert exact.standard_error > features.standard_error
    assert meant.scales[0].kernel == nammd.Gaussian(0.75)


def test_a_sketch_of_one_scale_is_what_it_was(tmp_path):
    alone = nammd.Sketch.of(X, FEATURES)
    assert (alone.finer, alone.scales) == ((), (1.0,))
    assert ONE.at(1.0).save(tmp_path / "a").read_bytes() == alone.save(tmp_path / "b").read_bytes()
    assert b'"version": 1' in (tmp_path / "b").read_bytes()
    assert b"scales" not in (tmp_path / "b").read_bytes()


def test_it_tells_its_bytes(tmp_path):
    assert str(ONE.at(1.0)).endswith("bandwidth 1.5): 0.0333 MB in memory")
    assert str(ONE).endswith("bandwidth 1.5, at 5 scales): 0.166 MB in memory")
    assert ONE.nbytes == 5 * ONE.at(1.0).nbytes == 5 * 8 * (64 + 64**2)
    grouped = nammd.Sketch.of(X, FEATURES, groups=np.arange(len(X)) // 4)
    assert grouped.nbytes == 8 * (68 + 68**2)


def test_scales_are_added_updated_streamed_and_filed(tmp_path):
    parts = X[:300], X[300:]
    one, two = (nammd.Sketch.of(part, FEATURES, scales="all") for part in parts)
    before = one.snapshot()
    same_at_every_scale(one + two, ONE)
    same_at_every_scale(nammd.Sketch.of_batches(parts, FEATURES, scales="all"), ONE)
    same_at_every_scale(one.update(parts[1]), ONE)
    same_at_every_scale(before + two, ONE)
    np.save(tmp_path / "x.npy", X)
    same_at_every_scale(nammd.Sketch.of_file(tmp_path / "x.npy", FEATURES, scales="all", batch_rows=200), ONE)
    back = nammd.Sketch.load(ONE.save(tmp_path / "x.sketch"))
    for a, b in zip(every_scale(back), every_scale(ONE), strict=True):
        assert a.features == b.features
        np.testing.assert_array_equal(a.total, b.total)
        np.testing.assert_array_equal(a.products, b.products)


def test_workers_keep_scales():
    da = pytest.importorskip("dask.array")
    spread = da.from_array(X, chunks=(250, 3))
    same_at_every_scale(nammd.Sketch.of(spread, FEATURES, scales="all"), ONE)


def test_progress_is_in_rows():
    seen = []
    nammd.Sketch.of(X, FEATURES, scales="all", progress=lambda *done: seen.append(done), threads=1)
    done = [each for each, _ in seen]
    assert done == sorted(done)
    assert seen[-1] == (700, 700)


def test_groups_have_scales_too(tmp_path):
    labels = [np.arange(len(data)) // 4 for data in (X, SPIKED)]
    names = [np.char.add(side, each.astype(str)) for side, each in zip("xy", labels, strict=True)]
    sketches = [
        nammd.Sketch.of(data, FEATURES, groups=each, scales="all")
        for data, each in zip((X, SPIKED), names, strict=True)
    ]
    loaded = [nammd.Sketch.load(s.save(tmp_path / f"{k}")) for k, s in enumerate(sketches)]
    assert loaded[0].finer[0].units.trace.common(sketches[0].units.trace) == 175
    for one, other in (sketches, loaded):
        found = nammd.distance(one, other, kernel=FEATURES, scales="all")
        for scale, each in zip(SCALES, (found, *found.scales), strict=True):
            by_rows = nammd.distance(X, SPIKED, kernel=at_scale(FEATURES, scale), groups=tuple(names))
            assert each.value == pytest.approx(by_rows.value, abs=1e-10)
            assert each.standard_error == pytest.approx(by_rows.standard_error, rel=1e-6)
    table = pa.table({"who": names[0], **{str(k): X[:, k] for k in range(3)}})
    space = nammd.Space.fit(table, exclude=["who"], kernel=KERNEL)
    batches = [table.slice(0, 333), table.slice(333)]
    how = {"space": space, "groups": "who", "scales": "all"}
    streamed = nammd.Sketch.of_batches(batches, FEATURES, **how)
    same_at_every_scale(streamed, nammd.Sketch.of(table, FEATURES, **how))
    assert streamed.tally is not None
    assert streamed.finer[0].tally is None


def test_sketches_with_and_without_scales_meet_at_those_that_both_have():
    alone = nammd.Sketch.of(Y, FEATURES)
    assert (ONE + alone).scales == (1.0,)
    assert nammd.distance(ONE, alone).value == nammd.distance(ONE.at(1.0), alone).value
    with pytest.raises(ValueError, match=r"y was sketched at one scale; make it with Sketch.of"):
        nammd.distance(ONE, alone, scales="all")
    tolerance = nammd.Tolerance.from_reference(X, kernel=KERNEL)
    sketch = nammd.Sketch.of(X, FEATURES, space=tolerance.space, scales="all")
    verdict = tolerance.check(sketch, nammd.Sketch.of(Z, FEATURES, space=tolerance.space))
    assert verdict.details.scales.unknown == SCALES[1:]
    told = "not compared       at 1/2, 1/4, 1/8 and 1/16 of the bandwidth: a sketch does not keep them"
    assert told in str(verdict)
    assert verdict.to_dict()["scales_unknown"] == list(SCALES[1:])


def test_what_has_no_scales_is_refused():
    both = nammd.RandomFeatures(nammd.Gaussian(1.0) + nammd.Laplace(2.0), 64)
    with pytest.raises(ValueError, match="has no bandwidth, and so no scales; leave scales out"):
        nammd.Sketch.of(X, both, scales="all")
    with pytest.raises(ValueError, match="scales must be one of 'median', 'all'"):
        nammd.Sketch.of(X, FEATURES, scales="fine")
    with pytest.raises(ValueError, match=r"the sketch has the scales 1.0, not 0.5"):
        ONE.at(1.0).at(0.5)


FINE = nammd.RandomFeatures(nammd.Gaussian(1.7), 256, rng=0)


def rounded(seed):
    """Return pairs of numbers on a grid."""
    return np.round(np.random.default_rng(seed).normal(size=(900, 2)) / 0.7) * 0.7


@pytest.mark.parametrize("kernel", [FINE.kernel, FINE], ids=["exact", "features"])
def test_fine_structure_is_found_by_scales_alone(kernel):
    rng = np.random.default_rng(5)
    reference, accepted, good = rng.normal(size=(3, 900, 2)) + np.array([0.0, 0.2, 0.1])[:, None, None]
    tolerance = nammd.Tolerance.from_reference(reference, accepted, kernel=kernel, negligible=False)
    assert tolerance.every_scale == SCALES

    def checked(data, scales):
        how = {"space": tolerance.space, "scales": scales}
        pair = [nammd.Sketch.of(each, FINE, **how) for each in (reference, data)]
        return tolerance.check(*pair, allow=["all"])

    assert checked(good, "all").decision == "CLOSE"
    assert checked(rounded(6), "median").decision != "FAR"
    verdict = checked(rounded(6), "all")
    assert verdict.decision == "FAR"
    assert min(verdict.scale_checks, key=lambda each: each.adjusted).scale < 0.5
    assert "fine-grained" in verdict.headline()
    assert verdict.details.scales.law.least is None  # how the scales go together is not known from sums


def test_scales_at_which_no_two_rows_meet_are_dropped():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 600, 20))
    tolerance = nammd.Tolerance.from_reference(x, negligible=False)
    features = nammd.RandomFeatures(tolerance.kernel, 512)
    sketches = [nammd.Sketch.of(data, features, space=tolerance.space, scales="all") for data in (x, y)]
    verdict = tolerance.check(*sketches)
    assert verdict.details.scales.dropped
    assert set(verdict.details.scales.dropped) >= set(tolerance.check(x, y).details.scales.dropped)
    assert not verdict.details.scales.unknown


def test_closeness_tests_take_scales():
    result = nammd.closeness_test(ONE, OTHER, 0.2, kernel=FEATURES, alternative="greater", scales="all")
    assert [each.scale for each in result.scales] == list(SCALES)


def test_few_frequencies_of_a_fine_scale_are_told_of():
    found = nammd.distance(ONE, OTHER, scales="all")
    [caution] = [each for each in found.cautions if each.code == "few-frequencies"]
    assert str(caution).startswith("at half of the typical distance, about ")
    assert nammd.distance(ONE, OTHER, kernel=FEATURES, scales="all").cautions == ()


@pytest.mark.parametrize("scales", ["median", "all"])
def test_a_monitor_follows_the_scales_of_its_reference(tmp_path, scales):
    tolerance = nammd.Tolerance.from_reference(X, kernel=KERNEL)
    reference = nammd.Sketch.of(X, FEATURES, space=tolerance.space, scales=scales)
    monitor = nammd.Monitor.create(tmp_path / "m.sqlite", tolerance, reference)
    added = monitor.add(Z, "2026-01-01")
    assert added.verdict.details.scales.unknown == (() if scales == "all" else SCALES[1:])
