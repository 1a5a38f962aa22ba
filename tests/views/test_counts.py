"""One column by counts: the same as exact sums over rows, in linear time, and parts that add up."""

import numpy as np
import pytest

import nammd
from nammd.errors.stored import Stored
from nammd.statistics.difference import Difference
from nammd.statistics.margin import margin
from nammd.views.counts import FEW, LabelCounts, NumberCounts, all_rounded, rounded
from nammd.views.lattice import bent, straight
from nammd.views.marks import NUMBER_STEPS, TIME_STEPS, Marks, grain_of, grains_of
from nammd.views.negligible import Changes, Negligible
from nammd.views.placed import pair_of_counts, pair_of_placed, placed
from nammd.views.serial import counts_to_dict, read_counts
from nammd.views.support import APART, Labels, Lattice, Values, support_of

KERNEL = nammd.Gaussian(1.0)


def numbers(law, rows, seed):
    rng = np.random.default_rng(seed)
    return {
        "normal": lambda: rng.normal(0.3 * seed, 1, rows),
        "lognormal": lambda: rng.lognormal(0.2 * seed, 1, rows),
        "Student": lambda: rng.standard_t(3, rows) + 0.3 * seed,
        "Cauchy": lambda: (1 + seed) * rng.standard_cauchy(rows),
        "few values": lambda: rng.poisson(3 + seed, rows) / 2,
        "rounded": lambda: np.round(rng.normal(0.3 * seed, 1, rows), 2),
    }[law]()


LAWS = ("normal", "lognormal", "Student", "Cauchy", "few values", "rounded")


def counted(values):
    return NumberCounts.of(bent(values), 0)


def exact(x, y):
    return nammd.distance(bent(x)[:, None], bent(y)[:, None], kernel=KERNEL)


@pytest.mark.parametrize("law", LAWS)
def test_distance_variance_and_influences_are_those_of_exact_sums(law):
    x, y = numbers(law, 900, 0), numbers(law, 700, 1)
    both = placed([counted(x), counted(y)])
    places = both[0].support
    assert isinstance(places, Values if law == "few values" else Lattice)
    pair, known = pair_of_placed(*both), exact(x, y)
    assert pair.value == pytest.approx(known.value, rel=1e-5)
    assert pair.standard_error == pytest.approx(known.standard_error, rel=1e-5)
    for mine, theirs in zip(pair.meeting.sides, known.pair.meeting.sides, strict=True):
        assert mine.size == pytest.approx(theirs.size, rel=1e-12)
        np.testing.assert_allclose(mine.second(), theirs.second(), rtol=3e-5)
        assert mine.third(pair.phi) == pytest.approx(theirs.third(pair.phi), rel=3e-5)
    # Influences, place by place: those of the rows that lie there.
    phi = known.influence_x * len(x)
    at = places.places if isinstance(places, Values) else (places.start + np.arange(places.length)) / 256
    interpolated = np.interp(bent(x), at, pair.meeting.influences[0] @ pair.phi)
    assert np.abs(interpolated - phi).max() <= 1e-5 * np.abs(phi).max()


@pytest.mark.parametrize("law", LAWS)
def test_p_values_are_those_of_exact_sums(law):
    x, y = numbers(law, 500, 0), numbers(law, 400, 1)
    pair, known = pair_of_counts(counted(x), counted(y)), exact(x, y).pair
    eps = 0.7 * known.value
    for alternative in ("greater", "less"):
        mine, theirs = (margin(p, eps, "corrected", alternative).pvalue(alternative) for p in (pair, known))
        assert mine == pytest.approx(theirs, rel=1e-3)


@pytest.mark.parametrize("shared", [True, False])
def test_two_estimated_distances_compare_as_those_of_rows_do(shared):
    rng = np.random.default_rng(3)
    x, other = rng.normal(size=400), rng.normal(size=450)
    one, two = rng.normal(0.4, 1, 300), rng.normal(0.9, 1, 350)
    home = x if shared else other
    px, p0, p1, p2 = placed([counted(v) for v in (x, home, one, two)])
    first, second = (pair_of_placed(a, b) for a, b in ((px if shared else p0, p1), (px, p2)))
    known = [exact(a, b).pair for a, b in ((home, one), (x, two))]
    mine, theirs = Difference.of(first, second, shared), Difference.of(known[0], known[1], shared)
    assert mine.standard_error == pytest.approx(theirs.standard_error, rel=1e-4)
    for a, b in ((mine, theirs), (mine.swapped, theirs.swapped)):
        assert a.closer() == pytest.approx(b.closer(), rel=2e-2, abs=1e-6)


def test_labels_are_equally_far_apart_and_a_missing_one_is_one_more():
    x, y = LabelCounts({"a": 30.0, "b": 50.0}, 20.0), LabelCounts({"a": 40.0, "c": 40.0}, 10.0)
    both = placed([x, y])
    order = [[30, 50, 0, 20], [40, 0, 40, 10]]
    rows = [np.repeat(np.eye(4), counts, axis=0) for counts in order]
    known = nammd.distance(*rows, kernel=KERNEL)
    assert np.exp(-1.0) == APART
    assert isinstance(both[0].support, Labels)
    assert pair_of_placed(*both).value == pytest.approx(known.value, rel=1e-12)


def test_eigenvalues_are_those_of_the_covariance_operator():
    x = np.random.default_rng(0).normal(size=400)
    gram = KERNEL(x[:, None], x[:, None])
    centre = np.eye(400) - 1 / 400
    largest = np.linalg.eigvalsh(centre @ gram @ centre / 400)[-1]
    [sample] = placed([counted(x)])
    assert sample.eigenvalue == pytest.approx(largest, rel=1e-3)


@pytest.mark.parametrize("law", LAWS)
def test_counts_of_parts_add_up_to_those_of_the_whole(law):
    values = numbers(law, 3000, 0)
    whole = counted(values)
    parts = [counted(part) for part in np.array_split(values, 7)]
    together = parts[0]
    for part in parts[1:]:
        together = together.merged(part)
    whole, together = whole.on_lattice(), together.on_lattice()
    assert np.array_equal(whole.places, together.places)
    assert np.allclose(whole.rows, together.rows, rtol=0, atol=1e-8)
    one = LabelCounts({"a": 1.0}, 2.0).merged(LabelCounts({"a": 2.0, "b": 1.0}, 1.0))
    assert dict(one.rows) == {"a": 3.0, "b": 1.0}
    assert one.missing == 3.0


def test_few_values_are_counted_by_themselves_and_many_are_not():
    few = NumberCounts.of(np.arange(10_000) % FEW * 0.01, 0)
    assert few.exact
    assert len(few.places) == FEW
    assert not NumberCounts.of(np.arange(10_000) % (FEW + 1) * 0.01, 0).exact
    assert not NumberCounts.of(np.array([0.0, 1e-4]), 0).exact  # two values in one cell


def test_the_scale_bends_and_comes_back():
    values = np.array([-1e6, -50.0, -8.0, 0.3, 8.0, 9.0, 1e9])
    assert np.allclose(straight(bent(values)), values)
    assert np.all(np.diff(bent(values)) > 0)
    assert bent(values).max() < 160


def test_a_lattice_is_short_whatever_the_values_are():
    values = np.array([-1.79e308, -1e200, -1e30, 0.0, 1e12, 1e100, 1.79e308])
    places = bent(values)
    assert np.all(np.diff(places) > 2)
    assert np.allclose(np.log(np.abs(straight(places)[values != 0])), np.log(np.abs(values[values != 0])))
    assert np.abs(places).max() < 200
    many = NumberCounts.of(bent(np.concatenate([numbers("normal", 5000, 0), values])), 0)
    assert support_of([many]).size < 110_000


@pytest.mark.parametrize("law", LAWS)
def test_a_file_keeps_counts_to_the_last_digit(law):
    marks = Marks(-3.0, 4.0, 7.0, (1.0,) * 11, ("", "€"))
    counts = rounded(NumberCounts.of(bent(numbers(law, 5000, 0)), 17, marks))
    again = read_counts(Stored(counts_to_dict(counts)))
    assert np.array_equal(again.places, counts.places)
    assert np.array_equal(again.rows, counts.rows)
    assert (again.missing, again.low, again.high, again.size) == (17.0, -3.0, 4.0, 5017)
    assert again.marks.to_dict() == marks.to_dict()


def test_many_columns_are_rounded_as_each_of_them():
    columns = [NumberCounts.of(bent(numbers(law, 500, 0)), 3) for law in LAWS]
    places = np.arange(3.0)
    for rows in ([1.0, 2.0, 3.0], [0.1, 0.2, 0.7], [2.0**24, 2.0**24 + 1, 7.0], [1 / 3, 5.0, 1e9], []):
        columns.append(NumberCounts(places[: len(rows)], np.array(rows), 2.0, True))
    columns.append(LabelCounts({"a": 1.5, "b": 2.0}, 1.0))
    for one, each in zip(all_rounded(columns), columns, strict=True):
        alone = rounded(each)
        assert one.missing == alone.missing
        if isinstance(each, NumberCounts):
            assert (one.rows.tobytes(), one.present) == (alone.rows.tobytes(), alone.present)
            assert one.places is each.places
        else:
            assert one is each
    assert all_rounded([]) == []


@pytest.mark.parametrize("law", LAWS)
def test_a_negligible_shift_is_a_distance_of_the_reference_to_its_moved_self(law):
    x = numbers(law, 600, 0)
    known = nammd.paper.distance(
        bent(x)[:, None], bent(x + 0.1)[:, None], kernel=KERNEL, cross="off-diagonal"
    )
    assert Changes().distance("values", counted(x)) == pytest.approx(known.value, rel=2e-5)


def test_negligible_labels_and_missing_values_are_shares_of_rows():
    reference = LabelCounts({"a": 6000.0, "b": 4000.0}, 0.0)
    changed = LabelCounts({"a": 5940.0, "b": 3960.0, "new": 100.0}, 0.0)
    gone = LabelCounts({"a": 5940.0, "b": 3960.0}, 100.0)
    for other, aspect in ((changed, "labels"), (gone, "missing")):
        biased = pair_of_counts(reference, other)
        # The estimate takes the rows as a sample; its bias is known, (1 - E k) / rows on each side.
        samples = placed([reference, other])
        bias = sum((1 - float(s.rows @ s.seen) / s.size**2) / (s.size - 1) for s in samples)
        value = (biased.moments.mmd2 + bias) / biased.scale
        assert Changes().distance(aspect, reference) == pytest.approx(value, rel=1e-3)


def test_negligible_is_read_for_all_columns_and_for_one():
    allowed = Negligible.of({"shift": 0.2, "income": {"missing": 0.05}})
    assert allowed.of_column("age") == Changes(shift=0.2)
    assert allowed.of_column("income") == Changes(shift=0.2, missing=0.05)
    assert Negligible.of(False) is None
    assert Negligible.of(None) == Negligible.of(True) == Negligible()
    with pytest.raises(ValueError, match=r"'shfit'.*'shift'"):
        Negligible.of({"shfit": 0.2})
    with pytest.raises(ValueError, match="missing"):
        Negligible.of({"missing": 1.5})
    with pytest.raises(ValueError, match=r"'incme'.*'income'"):
        Negligible.of({"incme": {"shift": 1}}).require_known(("income", "age"))


@pytest.mark.parametrize("steps", [NUMBER_STEPS, TIME_STEPS])
@pytest.mark.parametrize("law", ["normal", "few values", "rounded"])
def test_steps_tried_one_by_one_and_all_at_once_tell_the_same(law, steps):
    few = np.r_[numbers(law, 20, 1), 86_400.0, 0.0, 250.0, 1 / 3]
    told = grain_of(few, steps)
    assert sum(told) == len(few)
    assert grain_of(np.tile(few, 200), steps) == tuple(200 * each for each in told)
    many = np.stack([few, few[::-1], few.astype(np.float32).astype(np.float64), 1e9 * few])
    assert grains_of(many, steps) == [grain_of(one, steps) for one in many]


@pytest.mark.parametrize("steps", [NUMBER_STEPS, TIME_STEPS])
def test_steps_of_columns_on_a_device_are_those_of_numpy(steps):
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    exact = 10.0 ** rng.integers(-7, 8, (40, 1)) * rng.normal(size=(40, 300))
    many = np.concatenate([exact, exact.round(2), np.rint(exact), exact.astype(np.float32)])
    assert grains_of(torch.asarray(many), steps) == [grain_of(one, steps) for one in many]
