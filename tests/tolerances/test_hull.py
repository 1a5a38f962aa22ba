"""Accepted data say where candidates may be: like the reference, like them, or like mixtures of these."""

import gc
import json

import numpy as np
import pandas as pd
import pytest

import nammd
from nammd.cli import main
from nammd.data.repeats import row_keys
from nammd.engines.protocol import Summed
from nammd.engines.sums import CrossSums, WithinSums
from nammd.engines.tiles.engine import Tiles
from nammd.evidence import stand_ins as stand_ins_module
from nammd.evidence.accepted import AcceptedRows, MixedStandIns
from nammd.evidence.stand_ins import SampleStandIns
from nammd.statistics.grams import Grams
from nammd.statistics.margin import margin
from nammd.tolerances.accepted import MOST_ROWS
from tests.counting import count_calls

ROWS = 700


def table(seed, drift=0.0, income=0.0, rows=ROWS):
    """A table; the accepted drift is one of ages, and a fault one of incomes."""
    rng = np.random.default_rng(seed)
    age = rng.normal(40 + 12 * drift, 12, rows)
    return pd.DataFrame(
        {
            "age": age,
            "income": np.exp(rng.normal(8 + income, 0.5, rows)),
            "plan": rng.choice(["basic", "plus", "pro"], rows, p=[0.6, 0.3, 0.1]),
        }
    )


REFERENCE, ACCEPTED = table(0), table(1, drift=1.0)


@pytest.fixture(scope="module")
def tolerance():
    return nammd.Tolerance.from_reference(REFERENCE, {"summer": ACCEPTED}, margin={"missing": 0.1})


@pytest.fixture(scope="module")
def gate(tolerance):
    return tolerance.with_reference(REFERENCE)


def shares(verdict):
    return dict(verdict.details.like)


def test_data_like_the_reference_and_like_the_accepted_data_are_close(gate):
    like_reference, like_accepted = gate.check(table(2)), gate.check(table(3, drift=1.0))
    assert like_reference.is_close
    assert like_accepted.is_close
    assert shares(like_reference)["reference"] > 0.8
    assert shares(like_accepted)["summer"] > 0.8


def stand_ins():
    """All that stands for a sample or a mixture now, whoever holds it."""
    gc.collect()
    return [each for each in gc.get_objects() if isinstance(each, (MixedStandIns, SampleStandIns))]


@pytest.mark.parametrize(("drift", "decision"), [(0.5, "CLOSE"), (4.0, "FAR")])
def test_a_verdict_that_is_kept_holds_no_matrix_of_kernel_values(tolerance, drift, decision):
    gate, before = tolerance.with_reference(REFERENCE), stand_ins()
    verdict = gate.check(table(6, drift=drift))
    said = str(verdict)
    held = [each for each in stand_ins() if not any(each is other for other in before)]
    assert said.startswith(decision)
    assert {type(each) for each in held} == {MixedStandIns, SampleStandIns}
    assert all("_form" in vars(side) for side in verdict.details.nearest.pair.meeting.sides)  # from matrices
    # What stands for an accepted dataset alone is that of its gate, which needs it again.
    own = [each for each in held if not getattr(each, "lasting", False)]
    assert not any({"values", "_sums"} & vars(each).keys() for each in own)


def test_the_reference_alone_is_the_pair_that_the_candidate_was_compared_with(monkeypatch):
    """Nothing is computed again; and it is the mixture of all rows of the reference, each counting one."""
    rng = np.random.default_rng(4)
    reference, candidate = rng.normal(size=(300, 2)), rng.normal(-0.1, 1.0, size=(200, 2))
    tolerance = nammd.Tolerance.from_reference(reference, {"later": rng.normal(0.4, 1.0, size=(300, 2))})
    pair, mixtures = AcceptedRows._pair, []

    def both(self, mixture, evidence):
        stand_ins = MixedStandIns(self, mixture)
        sides = stand_ins, evidence.stand_ins[1]
        grams = Grams(sides, mixture.meeting.atoms, repeats=(stand_ins.repeats, None))
        mixtures.append(mixture.pair(grams, (False, False)))
        return pair(self, mixture, evidence)

    monkeypatch.setattr(AcceptedRows, "_pair", both)
    verdict = tolerance.check(reference, candidate)
    near = verdict.details.nearest
    assert near.weights.tolist() == [1.0] + [0.0] * (len(near.weights) - 1)
    assert near.pair.meeting is verdict.estimate.evidence.meeting
    for eps in (0.001, 0.01, 0.05):
        for way in ("less", "greater"):
            found, expected = (margin(each, eps, "corrected", way) for each in (near.pair, mixtures[0]))
            assert found.pvalue(way) == pytest.approx(expected.pvalue(way), rel=1e-9)
    assert near.pair.deviation == pytest.approx(mixtures[0].deviation, rel=1e-12)


def test_what_stands_for_an_accepted_dataset_alone_is_the_same_for_every_candidate(tolerance, monkeypatch):
    gate = tolerance.with_reference(REFERENCE)
    asked = count_calls(monkeypatch, stand_ins_module.kernel_values)
    alone = [gate.check(table(seed, drift=1.3, rows=400)) for seed in (6, 7)]
    orders = [verdict.details.nearest.pair.meeting.second_order.stand_ins[0] for verdict in alone]
    assert [shares(verdict)["summer"] for verdict in alone] == [1.0, 1.0]
    assert orders[0] is orders[1]
    within = [given for given in asked if given[1] is given[2] and len(given[1]) == ROWS]
    assert len(within) == len({id(kernel) for kernel, *_ in within})  # once at every scale
    fresh = tolerance.check(REFERENCE, table(7, drift=1.3, rows=400))
    assert fresh.to_dict() == alone[1].to_dict()
    assert orders[0] is not fresh.details.nearest.pair.meeting.second_order.stand_ins[0]


def test_rows_of_accepted_data_are_numbered_once(tolerance, monkeypatch):
    gate = nammd.Tolerance.from_reference(REFERENCE, {"summer": ACCEPTED}).with_reference(REFERENCE)
    [summer] = gate.tolerance.accepted.datasets
    asked = count_calls(monkeypatch, row_keys)
    for seed in (2, 3):
        gate.check(table(seed))
    assert sum(points is summer.points for (points,) in asked) == 1


def test_kernel_values_within_the_reference_are_kept_beside_accepted_data_too(tolerance):
    gate = tolerance.with_reference(REFERENCE)
    first, second = (gate.check(table(seed)).estimate.evidence.stand_ins for seed in (2, 3))
    assert first[0] is second[0]
    assert first[1] is not second[1]


def test_kernel_values_within_the_reference_are_kept_for_the_next_candidate(gate):
    known = nammd.Tolerance.at(0.01, space=gate.tolerance.space).with_reference(REFERENCE)
    first, second = (known.check(table(seed)).estimate.evidence.stand_ins for seed in (2, 3))
    assert first[0] is second[0]
    assert "_sums" in vars(first[0])
    assert not any("_sums" in vars(each[1]) for each in (first, second))


def test_mixtures_and_what_is_half_way_are_close(gate):
    mixed = gate.check(pd.concat([table(4)[:350], table(5, drift=1.0)[:350]], ignore_index=True))
    between = gate.check(table(6, drift=0.5))
    for verdict in (mixed, between):
        assert verdict.is_close
        assert 0.25 < shares(verdict)["summer"] < 0.75
        assert sum(shares(verdict).values()) == pytest.approx(1)


@pytest.mark.parametrize("drift", [0.0, 0.5, 1.0])
def test_a_fault_in_another_direction_is_far_however_wide_the_accepted_drift_is(gate, drift):
    verdict = gate.check(table(7, drift=drift, income=0.4))
    assert verdict.is_far
    assert "income" in [each.name for each in verdict.details.beyond]
    if drift == 0:  # the reason for all of it
        ball = nammd.Tolerance.from_reference(REFERENCE, ACCEPTED, how="ball", negligible=False)
        assert not ball.check(REFERENCE, table(7, income=0.4)).is_far


def test_farther_in_the_same_direction_is_far(gate):
    assert gate.check(table(8, drift=1.6)).is_far
    assert gate.check(table(9, drift=-0.6)).is_far


def shows_the_rule(verdict):
    """Check that the interval tells what the tests of the main scale found, and these what is decided."""
    main, *finer = verdict.scale_checks
    low, high = verdict.confidence_interval()
    assert main.beyond == (low > verdict.epsilon)
    assert (verdict.pvalue_close <= verdict.alpha) == (high < verdict.epsilon)
    assert verdict.is_far == any(check.beyond for check in (main, *finer))
    assert verdict.is_close == (high < verdict.epsilon and not verdict.is_far)


@pytest.mark.parametrize("drift", [0.0, 0.3, 0.7, 1.0, 1.15, 1.3])
@pytest.mark.parametrize("income", [0.0, 0.15])
def test_the_interval_shows_the_rule(gate, drift, income):
    verdict = gate.check(table(10, drift=drift, income=income, rows=300), joint_only=True)
    low, high = (end / verdict.epsilon for end in verdict.confidence_interval())
    shows_the_rule(verdict)
    assert low <= max(verdict.distance, 0) / verdict.epsilon <= high
    assert 0.9 <= verdict.details.interval_level <= 0.925  # at most half of the level is for finer scales
    assert verdict.to_dict()["interval_of_tolerance"] == [low, high]


@pytest.mark.parametrize("make", ["at", "noise", "split"])
def test_the_interval_shows_the_rule_of_other_tolerances_too(make):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 2))
    tolerance = {
        "at": lambda: nammd.Tolerance.at(0.01, nammd.Gaussian(1.5), x=x),
        "noise": lambda: nammd.Tolerance.from_noise(x, level=0.7),
        "split": lambda: nammd.Tolerance.from_split(x, n_splits=2),
    }[make]()
    for shift in np.linspace(0, 0.6, 7):
        verdict = tolerance.check(x, rng.normal(loc=shift, size=(150, 2)), joint_only=True)
        shows_the_rule(verdict)


def test_a_doubtful_column_keeps_from_close_and_is_named():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(400, 6))
    tolerance = nammd.Tolerance.at(0.05, nammd.Gaussian(3.0), x=x, negligible=True)
    found = []
    for shift in np.linspace(0.2, 0.34, 15):
        y = rng.normal(size=(400, 6))
        y[:, 2] += shift
        verdict = tolerance.check(x, y)
        if verdict.details.doubtful and not verdict.is_far:
            found.append(verdict)
            assert verdict.decision == "UNDECIDED"
            assert verdict.pvalue_close <= 0.05
            assert "column 2 may be beyond its own tolerance" in verdict.headline()
            assert "column 2" in verdict.to_dict()["doubtful"]
    assert found


def test_a_file_changes_nothing(tolerance, gate, tmp_path):
    tolerance.save(tmp_path / "t.json")
    again = nammd.Tolerance.load(tmp_path / "t.json")
    for candidate in (table(2), table(5, drift=0.7), table(7, income=0.3)):
        one, two = gate.check(candidate), again.check(REFERENCE, candidate)
        assert one == two
        assert one.details.like == two.details.like
        assert str(one) == str(two)


def test_a_tolerance_of_five_large_accepted_datasets_fits_into_ten_megabytes(tmp_path, monkeypatch):
    """The sums are with every 50th row only, times 50: as many numbers as all sums have, for little work."""
    exact = Tiles.many_sums

    def roughly(self, kernels, *parts):
        if all(len(points) <= 300 for part in parts for points in part):
            return exact(self, kernels, *parts)
        if len(kernels) > 1:
            return [one for kernel in kernels for one in roughly(self, [kernel], *parts)]

        def across(x, y):
            [[found]] = exact(self, kernels, (x, y[::50]))
            return 50 * found.rows, 50 * found.squares

        found = (
            CrossSums(across(*part)[0], *across(*part[::-1]), None)
            if len(part) == 2
            else WithinSums(*across(*part, *part))
            for part in parts
        )
        return [Summed(tuple(found), "roughly")]

    monkeypatch.setattr(Tiles, "many_sums", roughly)
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 20))
    accepted = {f"month {k}": rng.normal(size=(MOST_ROWS + 1, 20)) for k in range(5)}
    tolerance = nammd.Tolerance.from_reference(x, accepted, margin=0.01, engine=Tiles(), negligible=False)
    assert [len(each.points) for each in tolerance.accepted.datasets] == 5 * [MOST_ROWS]
    assert len(tolerance.accepted.kept) > 1  # finer scales too
    tolerance.save(tmp_path / "t.json")
    assert (tmp_path / "t.json").stat().st_size < 10e6


def test_a_check_does_not_sum_accepted_rows_with_each_other(monkeypatch):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(120, 2))
    accepted = {f"month {k}": rng.normal(size=(60, 2)) for k in range(12)}
    gate = nammd.Tolerance.from_reference(x, accepted, margin=0.05).with_reference(x)
    asked, sums = [], Tiles.many_sums

    def counted(self, kernels, *parts):
        asked.extend(sum(len(points) for points in part) for part in parts)
        return sums(self, kernels, *parts)

    monkeypatch.setattr(Tiles, "many_sums", counted)
    gate.check(rng.normal(size=(80, 2)))
    gate.check(rng.normal(size=(80, 2)))
    asked.clear()
    gate.check(rng.normal(size=(80, 2)))
    # Where a month is far by chance, the reference is moved towards it.
    moved = 120 + 80
    assert sorted(asked)[:13] == sorted([80] + 12 * [60 + 80])
    assert set(sorted(asked)[13:]) == {moved}


def test_calibrating_works_with_few_accepted_rows_and_with_data_like_the_reference():
    for seed in range(2):
        for accepted in (table(seed + 20, rows=60), table(seed + 30, drift=0.3, rows=100)):
            made = nammd.Tolerance.from_reference(REFERENCE[:400], accepted)
            assert 0 < made.epsilon < 0.1
            assert not made.check(REFERENCE[:400], table(seed + 40)).is_far


def test_the_margin_is_what_people_say_it_is():
    def epsilon(**how):
        return nammd.Tolerance.from_reference(REFERENCE[:400], ACCEPTED[:400], **how).epsilon

    assert 4 < epsilon(margin={"missing": 0.2}) / epsilon(margin={"missing": 0.05}) < 25
    assert epsilon(margin=0.02) == 0.02
    assert epsilon(rows=100) > epsilon(rows=700)
    with pytest.raises(ValueError, match="margin"):
        nammd.Tolerance.from_reference(REFERENCE, ACCEPTED, margin={"missing": 0.1, "noise": 0.2})
    with pytest.raises(ValueError, match="'lost'"):
        nammd.Tolerance.from_reference(REFERENCE, ACCEPTED, margin={"lost": 0.1})
    with pytest.raises(ValueError, match="leave margin and rows out"):
        nammd.Tolerance.from_reference(REFERENCE, ACCEPTED, how="ball", rows=100)


def test_more_data_can_be_accepted_later():
    tolerance = nammd.Tolerance.from_reference(REFERENCE, margin={"missing": 0.1})
    candidate = table(3, drift=1.0)
    assert tolerance.check(REFERENCE, candidate).is_far
    wider = tolerance.accepting({"summer": ACCEPTED}, reason="as every year")
    verdict = wider.check(REFERENCE, candidate)
    assert verdict.is_close
    assert shares(verdict)["summer"] > 0.8
    assert wider.epsilon == tolerance.epsilon
    [kept] = wider.accepted.datasets
    assert (kept.label, kept.reason, kept.rows) == ("summer", "as every year", ROWS)
    assert kept.added.startswith("20")
    # The same as if both had been there from the beginning.
    both = nammd.Tolerance.from_reference(REFERENCE, {"summer": ACCEPTED}, margin=tolerance.epsilon)
    assert both.check(REFERENCE, candidate).distance == pytest.approx(verdict.distance, rel=1e-9)
    with pytest.raises(ValueError, match="'summer' is accepted already"):
        wider.accepting({"summer": ACCEPTED})
    with pytest.raises(ValueError, match="without how='ball'"):
        nammd.Tolerance.from_reference(REFERENCE, ACCEPTED, how="ball").accepting(ACCEPTED)


@pytest.mark.parametrize("make", ["at", "noise", "split"])
def test_every_tolerance_that_is_a_number_can_accept(make):
    tolerance = {
        "at": lambda: nammd.Tolerance.at(0.002, nammd.Gaussian(1.5), x=REFERENCE),
        "noise": lambda: nammd.Tolerance.from_noise(REFERENCE, level=0.1, kind="missing"),
        "split": lambda: nammd.Tolerance.from_split(REFERENCE, n_splits=2),
    }[make]()
    candidate = table(3, drift=1.0)
    before = tolerance.check(REFERENCE, candidate, joint_only=True)
    after = tolerance.accepting({"summer": ACCEPTED}).check(REFERENCE, candidate, joint_only=True)
    assert before.is_far
    assert not after.is_far
    assert shares(after)["summer"] > 0.8


@pytest.mark.parametrize("how", ["groups", "weights"])
def test_groups_and_weights_multiply_with_those_of_the_mixture(how):
    rng = np.random.default_rng(0)

    def rows(seed, shift):
        own = np.random.default_rng(seed)
        people = own.normal(loc=shift, size=(80, 2))
        return np.repeat(people, 3, axis=0) + own.normal(scale=0.5, size=(240, 2))

    x, accepted = rows(0, 0.0), rows(1, 0.8)
    candidate = np.vstack([rows(2, 0.8)[:120], rows(4, 0.0)[:120]])
    labels = [[f"{k}-{i // 3}" for i in range(240)] for k in range(3)]
    weights = [rng.uniform(0.5, 1.5, 240) for _ in range(3)]
    said = {"groups": labels} if how == "groups" else {"sample_weight": weights}

    def part(*which):
        return {name: [values[k] for k in which] for name, values in said.items()}

    tolerance = nammd.Tolerance.from_reference(
        x, accepted, margin=0.02, kernel=nammd.Gaussian(1.5), **part(0, 1)
    )
    verdict = tolerance.check(x, candidate, **part(0, 2))
    assert verdict.is_close
    assert 0.2 < shares(verdict)["accepted"] < 0.8
    # Rows of the reference that were moved towards the accepted data are in the groups where they were.
    corners = [x, accepted, *tolerance.accepted.datasets[0].copies(x)]
    whose, count = [0, 1, 0, 0, 0], len(corners)
    own = [np.ones(240)] * count if how == "groups" else [weights[k] for k in whose]
    parts = verdict.details.nearest.weights
    used = np.flatnonzero(parts)
    corners, whose = [corners[k] for k in used], [whose[k] for k in used]
    each = np.concatenate([parts[k] * own[k] / own[k].sum() for k in used])
    if how == "weights":
        labels = [[f"{k}-{i}" for i in range(240)] for k in range(3)]
    pooled = {
        "sample_weight": [each, np.ones(240) if how == "groups" else weights[2]],
        "groups": [[label for k in whose for label in labels[k]], labels[2]],
    }
    expected = nammd.distance(np.vstack(corners), candidate, kernel=nammd.Gaussian(1.5), **pooled)
    assert verdict.distance == pytest.approx(expected.value, rel=1e-6)
    far = tolerance.check(x, rows(3, 0.0) + np.array([0.0, -1.2]), **part(0, 2))
    assert far.is_far


def test_sketches_are_held_against_mixtures_of_their_totals():
    rng = np.random.default_rng(0)
    x, accepted = rng.normal(size=(600, 2)), rng.normal(loc=[0.8, 0.0], size=(500, 2))
    like, other = rng.normal(loc=[0.8, 0.0], size=(400, 2)), rng.normal(loc=[0.0, 0.8], size=(400, 2))
    features = nammd.RandomFeatures(nammd.Gaussian(1.5), 256)
    tolerance = nammd.Tolerance.from_reference(x, accepted, kernel=features, margin=0.01, negligible=False)
    reference = nammd.Sketch.of(x, features, space=tolerance.space)
    for candidate, word in ((like, "CLOSE"), (other, "FAR")):
        by_rows = tolerance.check(x, candidate)
        sketched = tolerance.check(reference, nammd.Sketch.of(candidate, features, space=tolerance.space))
        assert by_rows.decision == sketched.decision == word
        # Of a sketch no rows can be moved, so what is half-way is not among what it is compared with.
        assert sketched.distance == pytest.approx(by_rows.distance, abs=0.003)


def test_a_cluster_gives_the_same_distance():
    da = pytest.importorskip("dask.array")
    rng = np.random.default_rng(0)
    x, accepted = rng.normal(size=(300, 2)), rng.normal(loc=[0.8, 0.0], size=(200, 2))
    candidate = rng.normal(loc=[0.4, 0.0], size=(250, 2))
    tolerance = nammd.Tolerance.from_reference(x, accepted, margin=0.01)
    plain = tolerance.check(x, candidate)
    spread = tolerance.check(da.from_array(x, chunks=(100, 2)), da.from_array(candidate, chunks=(100, 2)))
    assert spread.distance == pytest.approx(plain.distance, rel=1e-9)
    assert [share for _, share in spread.details.like] == pytest.approx(
        [share for _, share in plain.details.like], abs=1e-9
    )


def test_on_the_command_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name, data in {
        "train": REFERENCE,
        "summer": ACCEPTED,
        "july": table(3, drift=1.0),
        "broken": table(7, income=0.5),
    }.items():
        data.to_parquet(f"{name}.parquet")
    assert main(["calibrate", "train.parquet", "--margin", "missing=0.1", "-o", "t.json"]) == 0
    assert main(["check", "train.parquet", "july.parquet", "-t", "t.json"]) == 1
    assert main(["accept", "t.json", "summer.parquet", "--reason", "as every year"]) == 0
    capsys.readouterr()
    assert main(["check", "train.parquet", "july.parquet", "-t", "t.json"]) == 0
    assert "% summer" in capsys.readouterr().out
    assert main(["check", "train.parquet", "broken.parquet", "-t", "t.json", "--json"]) == 1
    [answer] = json.loads(capsys.readouterr().out)["candidates"]
    assert set(answer["like"]) == {"reference", "summer"}
    again = ["calibrate", "train.parquet", "--margin", "missing=0.1", "-o", "t.json"]
    assert main(again) == 2  # what was accepted since is not lost without being asked for
    assert "--force" in capsys.readouterr().err
    both = ["calibrate", "train.parquet", "summer.parquet", "-o", "ball.json"]
    assert main([*both, "--ball"]) == 0
    assert main([*both, "--ball", "--rows", "100"]) == 2
    assert main(["calibrate", "train.parquet", "summer.parquet", "-o", "r.json", "--rows", "100"]) == 0
    assert nammd.Tolerance.load("r.json").epsilon > nammd.Tolerance.load("t.json").epsilon / 10
    assert main(["accept", "ball.json", "july.parquet"]) == 2
    assert "--ball" in capsys.readouterr().err


def test_rows_far_from_zero_lose_nothing_that_matters(tmp_path):
    """Seconds since 1970, say: what differs is kept, and not what all have in common."""
    rng = np.random.default_rng(0)
    near = [rng.normal(loc=shift, size=(300, 2)) for shift in (0.0, 0.6, 0.3)]
    far = [1.7e9 + each for each in near]
    for x, accepted, candidate in (near, far):
        tolerance = nammd.Tolerance.from_reference(x, accepted, margin=0.01, kernel=nammd.Gaussian(1.5))
        tolerance.save(tmp_path / "t.json")
        found = tolerance.check(x, candidate).distance
        assert nammd.Tolerance.load(tmp_path / "t.json").check(x, candidate).distance == found
        assert found == pytest.approx(0.0, abs=0.01)
        if x is near[0]:
            expected = found
    assert found == pytest.approx(expected, rel=1e-3)


def test_numbers_of_any_size_are_kept_and_one_that_is_too_far_out_is_refused():
    x = np.random.default_rng(0).normal(size=(50, 1))
    y = 1.5 * x[::-1]
    usual = nammd.Tolerance.from_reference(x, y, margin=0.01).check(x, 1.2 * x)
    for unit in (2.0**-200, 2.0**200):  # 1e60
        found = nammd.Tolerance.from_reference(unit * x, unit * y, margin=0.01).check(
            unit * x, 1.2 * unit * x
        )
        assert found.distance == pytest.approx(usual.distance, rel=1e-6, abs=1e-12)
    y[7] = 1e60
    with pytest.raises(ValueError, match=r"has 1e\+60 in row 7, column 0 .*, so far from its other rows"):
        nammd.Tolerance.from_reference(x, y, margin=0.01)


def test_the_accepted_data_themselves_are_never_close(gate):
    """The file of last December, delivered once more, is no proof that this December is fine."""
    verdict = gate.check(ACCEPTED)
    assert verdict.details.void
    assert verdict.decision == "UNDECIDED"
    assert verdict.cautions[0].code == "accepted-itself"
    assert "accepted-itself" not in [caution.code for caution in gate.check(table(3, drift=1.0)).cautions]


def test_groups_of_accepted_data_count_as_groups_in_sketches_too():
    def rows(seed, shift):
        rng = np.random.default_rng(seed)
        return np.repeat(rng.normal(loc=[shift, 0.0], size=(60, 2)), 4, axis=0), np.repeat(np.arange(60), 4)

    (x, gx), (accepted, ga), (y, gy) = rows(0, 0.0), rows(1, 0.8), rows(2, 0.8)
    labels = [[f"{k}-{g}" for g in groups] for k, groups in enumerate((gx, ga, gy))]
    features = nammd.RandomFeatures(nammd.Gaussian(1.5), 256)
    tolerance = nammd.Tolerance.from_reference(
        x, accepted, kernel=features, margin=0.02, negligible=False, groups=labels[:2]
    )
    by_rows = tolerance.check(x, y, groups=(labels[0], labels[2]))
    one, two = (
        nammd.Sketch.of(data, features, space=tolerance.space, groups=groups)
        for data, groups in ((x, labels[0]), (y, labels[2]))
    )
    by_sketches = tolerance.check(one, two)
    assert by_sketches.distance == pytest.approx(by_rows.distance, rel=1e-6)
    sizes = [verdict.details.nearest.pair.x.size for verdict in (by_rows, by_sketches)]
    assert sizes[0] == pytest.approx(sizes[1], rel=1e-6)
    assert sizes[0] < 125
