"""Tolerances of rows that belong together."""

from functools import partial

import numpy as np
import pyarrow as pa
import pytest

import nammd
from nammd.testing import assert_close


def table(seed, groups=80, shift=0.0):
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(groups), rng.integers(1, 10, groups))
    points = 0.7 * rng.normal(size=(groups, 2))[labels] + 0.7 * rng.normal(size=(len(labels), 2))
    names = [f"{seed}-{k}" for k in labels]
    weights = rng.uniform(0.5, 2.0, len(labels))
    return pa.table({"a": points[:, 0] + shift, "b": points[:, 1], "customer": names, "w": weights})


# Scales add nothing to what is tested here; with groups they are tested in test_scales.py.
from_reference, from_split = (
    partial(make, scales="median") for make in (nammd.Tolerance.from_reference, nammd.Tolerance.from_split)
)
X, ACCEPTED, CLOSE, FAR = table(0), table(1, shift=0.9), table(2), table(3, shift=3.0)


@pytest.fixture(scope="module")
def tolerance():
    return from_reference(X, ACCEPTED, groups="customer", sample_weight="w")


@pytest.fixture(scope="module")
def close(tolerance):
    return tolerance.check(X, CLOSE)


@pytest.fixture(scope="module")
def far(tolerance):
    return tolerance.check(X, FAR)


def test_it_remembers_the_column_and_takes_it_in_every_check(tolerance, close, far):
    assert "rows of one customer belong together" in str(tolerance)
    assert tolerance.encoding.columns[-1].name == "b"
    assert (close.decision, far.decision) == ("CLOSE", "FAR")
    assert "80 and 80 by customer" in str(close)
    assert close.pvalue_close == tolerance.check(X, CLOSE, groups="customer").pvalue_close
    assert_close(X, CLOSE, tolerance)


@pytest.fixture(scope="module")
def loaded(tolerance, tmp_path_factory):
    """The verdicts of the tolerance from a file."""
    path = tmp_path_factory.mktemp("saved") / "tolerance.json"
    tolerance.save(path)
    read = nammd.Tolerance.load(path)
    return [read.check(X, candidate) for candidate in (CLOSE, FAR)]


def test_and_from_a_file(close, far, loaded):
    for one, other in zip((close, far), loaded, strict=True):
        assert one.pvalue_close == pytest.approx(other.pvalue_close, rel=1e-9)
        assert one.pvalue_far == pytest.approx(other.pvalue_far, rel=1e-9, abs=1e-300)
        assert one.details.rows_needed == other.details.rows_needed


def test_it_refuses_a_check_without_it(tolerance):
    with pytest.raises(ValueError, match="the candidate has no column 'customer'"):
        tolerance.check(X, CLOSE.drop_columns(["customer"]))
    with pytest.raises(ValueError, match="made with groups by 'customer', not by 'client'"):
        tolerance.check(X, CLOSE, groups="client")
    plain = from_reference(X.select(["a", "b"]), ACCEPTED.select(["a", "b"]))
    with pytest.raises(ValueError, match=r"as if every row stood for itself.*make it again with groups="):
        plain.check(X, CLOSE, groups="customer")


def test_labels_that_come_with_the_data_are_asked_for():
    rest, labels = zip(
        *((t.select(["a", "b"]), t["customer"].to_pylist()) for t in (X, ACCEPTED, CLOSE)), strict=True
    )
    tolerance = from_reference(rest[0], rest[1], groups=labels[:2])
    by_column = from_reference(*(t.drop_columns(["w"]) for t in (X, ACCEPTED)), groups="customer")
    assert tolerance.epsilon == by_column.epsilon
    assert tolerance.epsilon_error == by_column.epsilon_error
    with pytest.raises(ValueError, match="and a check needs them too"):
        tolerance.check(rest[0], rest[2])
    found = tolerance.check(rest[0], rest[2], groups=(labels[0], labels[2]))
    assert (
        found.pvalue_close == by_column.check(X.drop_columns(["w"]), CLOSE.drop_columns(["w"])).pvalue_close
    )
    gate = tolerance.with_reference(rest[0], groups=labels[0])
    assert gate.check(rest[2], groups=labels[2]).pvalue_close == found.pvalue_close


def test_the_reference_is_summed_once_for_many_checks(tolerance, close):
    gate = tolerance.with_reference(X)
    first = gate.check(CLOSE)
    assert gate.check(CLOSE).pvalue_close == first.pvalue_close == close.pvalue_close


def test_other_groups_make_another_reference(tolerance):
    """The same rows in other groups are not what the error of the tolerance was taken from."""
    moved = X.set_column(2, "customer", pa.array(np.roll(X["customer"].to_pylist(), 1)))
    assert tolerance.with_reference(X).is_the_one
    assert not tolerance.with_reference(moved).is_the_one


def test_a_number_needs_to_remember_nothing():
    tolerance = nammd.Tolerance.at(0.05, nammd.Gaussian(1.5), n_columns=2)
    x, y = (np.column_stack([t["a"], t["b"]]) for t in (X, CLOSE))
    labels = [t["customer"].to_pylist() for t in (X, CLOSE)]
    grouped, plain = tolerance.check(x, y, groups=labels), tolerance.check(x, y)
    assert grouped.estimate.standard_error > plain.estimate.standard_error
    fixed = nammd.Tolerance.at(0.05, nammd.Gaussian(1.5), x=X.drop_columns(["w"]), groups="customer")
    assert "customer" in str(fixed.check(X, CLOSE))


def test_the_error_of_a_perturbation_is_that_of_groups():
    grouped = nammd.Tolerance.from_noise(
        X, level=0.5, levels=(0.5,), groups="customer", sample_weight="w", anyway=True
    )
    plain = nammd.Tolerance.from_noise(X.select(["a", "b"]), level=0.5, levels=(0.5,), anyway=True)
    # The noise is drawn for every row, so that groups have little to add; but no row meets its own copy.
    assert grouped.epsilon == pytest.approx(plain.epsilon, abs=4 * plain.epsilon_error)
    assert grouped.epsilon_error == pytest.approx(plain.epsilon_error, rel=0.5)
    assert grouped.check(X, FAR).decision == "FAR"
    with pytest.raises(ValueError, match="blocks of time do not go with a tolerance from noise"):
        nammd.Tolerance.from_noise(X, groups=nammd.TimeBlocks())


def test_halves_keep_groups_together():
    grouped = from_split(X, n_splits=4, groups="customer", sample_weight="w")
    plain = from_split(X.select(["a", "b"]), n_splits=4)
    assert grouped.epsilon > plain.epsilon  # halves of groups differ by more
    assert grouped.check(X, FAR).decision == "FAR"


def test_blocks_of_time_are_remembered():
    rng = np.random.default_rng(0)

    def series(shift):
        noise, value, found = rng.normal(size=400), 0.0, []
        for step in noise:
            value = 0.5 * value + step
            found.append(value + shift)
        return pa.table({"a": found, "when": np.arange(400.0)})

    x, accepted, later = series(0.0), series(1.5), series(0.0)
    tolerance = from_reference(x, accepted, groups=nammd.TimeBlocks("when", length=20))
    assert "blocks of time of 20 rows, in order by when" in str(tolerance)
    assert "20 and 20, of 20 and 20 rows" in str(tolerance.check(x, later))


def test_a_forecast_counts_rows_in_groups():
    tolerance = from_reference(X, ACCEPTED, groups="customer")
    plain = from_reference(X.select(["a", "b"]), ACCEPTED.select(["a", "b"]))
    distance = 2 * max(tolerance.epsilon, plain.epsilon)
    assert tolerance.power(100, distance).far < plain.power(100, distance).far


def test_single_columns_take_no_part_where_rows_are_blocks_of_time():
    """Neighbouring blocks are alike too, which the sums of single columns do not tell."""
    blocks = nammd.TimeBlocks(length=5)
    data = [each.select(["a", "b"]) for each in (X, ACCEPTED)]
    tolerance = from_reference(*data, groups=blocks)
    assert tolerance.column_tolerances is None
    assert tolerance.check(data[0], CLOSE.select(["a", "b"])).column_checks == ()
    with pytest.raises(ValueError, match="by rows or by groups, not by blocks of time"):
        from_reference(*data, groups=blocks, negligible=True)


def by_name(verdict):
    return {each.name: each for each in verdict.column_checks}


def test_single_columns_are_held_against_their_tolerances_by_groups(close, far, loaded):
    assert close.details.judged
    assert not close.details.beyond
    assert [each.name for each in far.details.beyond] == ["a"]
    assert "columns-not-judged" not in {caution.code for caution in close.cautions}
    for found, other in zip((close, far), loaded, strict=True):
        again = by_name(other)
        for name, each in by_name(found).items():
            assert again[name].pvalue == pytest.approx(each.pvalue, rel=1e-6, abs=1e-12)
            assert again[name].distance == pytest.approx(each.distance, rel=1e-9)
            assert again[name].tolerance == pytest.approx(each.tolerance, rel=1e-6)


def test_a_column_by_itself_has_the_distance_of_its_groups():
    """That of the joint distance of a space of this column alone, with the unit of the reference."""
    tolerance = from_reference(X, groups="customer", sample_weight="w")
    column = tolerance.column_tolerances.limits[0].measure
    data = [(each["a"].to_numpy() - column.center) / column.scale for each in (X, FAR)]
    how = {
        "groups": [each["customer"].to_pylist() for each in (X, FAR)],
        "sample_weight": [each["w"].to_numpy() for each in (X, FAR)],
    }
    expected = nammd.distance(*data, kernel=nammd.Gaussian(1.0), **how)
    found = by_name(tolerance.check(X, FAR))["a"]
    assert found.distance == pytest.approx(expected.value, rel=1e-6)
    assert found.standard_error == pytest.approx(expected.standard_error, rel=1e-6)


def test_columns_of_rows_that_are_groups_of_their_own_are_those_of_rows():
    data = [each.select(["a", "b"]) for each in (X, ACCEPTED, CLOSE, FAR)]
    single = [
        each.append_column("row", pa.array([f"{k}-{i}" for i in range(len(each))]))
        for k, each in enumerate(data)
    ]
    plain = from_reference(*data[:2])
    grouped = from_reference(*single[:2], groups="row")
    for k in (2, 3):
        one, other = by_name(plain.check(data[0], data[k])), by_name(grouped.check(single[0], single[k]))
        for name, each in one.items():
            for what in ("distance", "standard_error", "tolerance", "pvalue"):
                values = getattr(other[name], what), getattr(each, what)
                assert values[0] == pytest.approx(values[1], rel=1e-10), (name, what)


@pytest.mark.parametrize("how", ["split", "noise"])
def test_columns_are_judged_whatever_the_tolerance_was_made_from(how):
    data = table(20, groups=150)
    if how == "split":
        made = from_split(data, groups="customer", sample_weight="w", rng=0)
    else:
        made = nammd.Tolerance.from_noise(
            data, groups="customer", sample_weight="w", level=2.0, rng=0, anyway=True
        )
    assert all(limit.fixed for limit in made.column_tolerances.limits)
    assert made.check(data, FAR).details.beyond
    assert not made.check(data, table(21, groups=150)).details.beyond


def test_another_reference_brings_its_own_groups(tolerance):
    other = table(30)
    assert not tolerance.check(other, table(31)).details.beyond
    assert [each.name for each in tolerance.check(other, FAR).details.beyond] == ["a"]


@pytest.mark.parametrize("how", ["ball", "hull"])
def test_a_gate_checks_groups_after_rows_and_rows_after_groups(how):
    x, accepted, y = np.random.default_rng(8).normal(size=(3, 80, 2))
    tolerance = from_reference(x, accepted + 0.5, how=how)
    groups = np.arange(80) // 4
    told = {}
    for order in ((None, groups), (groups, None)):
        gate = tolerance.with_reference(x)
        for said in order:
            verdict = gate.check(y, groups=said)
            numbers = verdict.distance, verdict.pvalue_close, verdict.pvalue_far
            assert numbers == pytest.approx(told.setdefault(said is None, numbers), rel=1e-9)
