"""Tolerances: where epsilon comes from, what a check decides, and how tolerances are kept."""

import json

import numpy as np
import pandas as pd
import pytest

import nammd
from nammd.datasets import applications
from nammd.datasets.laws import mixtures as laws
from nammd.errors.seal import sealed
from nammd.tolerances.file import rendered
from nammd.tolerances.gate import Gate
from tests.simulate import KERNEL, by_accepted, noise, only_decisions, pair_of, pairs_of, without_forecasts


@pytest.fixture(scope="module")
def train():
    return np.random.default_rng(0).normal(size=(500, 2))


def draw(shift, seed, rows=400):
    return np.random.default_rng(seed).normal(shift, 1, size=(rows, 2))


@pytest.fixture(scope="module")
def tolerance(train):
    return nammd.Tolerance.from_reference(train, draw(0.5, 1, 500), how="ball")


@pytest.fixture(scope="module")
def noisy(train):
    return nammd.Tolerance.from_noise(train, level=0.5, anyway=True)


@pytest.fixture(scope="module")
def split(train):
    return nammd.Tolerance.from_split(train)


def table(month, **options):
    frame = pd.DataFrame(applications(month, 700, **options))
    return frame.drop(columns="submitted")


@pytest.fixture(scope="module")
def mixed():
    return nammd.Tolerance.from_reference(table(0), table(6, shift="income"))


def test_epsilon_is_the_distance_to_the_accepted_data(train, tolerance):
    accepted = draw(0.5, 1, 500)
    direct = nammd.distance(train, accepted, kernel=nammd.Gaussian.median(train))
    assert tolerance.kernel == nammd.Gaussian.median(train)
    assert tolerance.epsilon == pytest.approx(direct.value, rel=1e-10)
    assert tolerance.epsilon_error == pytest.approx(direct.standard_error, rel=1e-6)


@pytest.mark.parametrize(
    ("shift", "decision"), [(0.0, "CLOSE"), (0.2, "CLOSE"), (0.5, "UNDECIDED"), (1.2, "FAR")]
)
def test_the_three_verdicts(train, tolerance, shift, decision):
    verdict = tolerance.check(train, draw(shift, 2))
    assert verdict.decision == decision
    assert (verdict.is_close, verdict.is_far) == (decision == "CLOSE", decision == "FAR")
    assert str(verdict).startswith(decision)
    assert (verdict.pvalue_close <= 0.05) == (decision == "CLOSE")
    assert (verdict.pvalue_far <= 0.05) == (decision == "FAR")
    low, high = verdict.confidence_interval()
    assert low <= max(verdict.distance, 0) <= high


def test_an_undecided_verdict_says_how_many_rows_would_decide():
    x, y = draw(0, 3, 150), draw(0.35, 4, 150)
    tolerance = nammd.Tolerance.at(0.012, KERNEL, n_columns=2)
    verdict = tolerance.check(x, y)
    assert verdict.decision == "UNDECIDED"
    assert min(verdict.details.rows_needed) > 150
    assert "not enough rows to tell: " in str(verdict)


def test_with_that_many_rows_it_is_decided_four_times_in_five():
    """If the estimated distance is the true one, that is what the number of rows promises."""
    p, q = laws.pair_at("concentrated normal", 0.2)
    rng = np.random.default_rng(5)
    tolerance = nammd.Tolerance.at(0.17, KERNEL, n_columns=1).with_facts(allow=["all"])
    pilot = tolerance.check(p.sample(rng, 4000), q.sample(rng, 4000)).estimate
    rows = nammd.plan(0.17, 0.2, pilot=pilot).m
    with only_decisions():
        decided = [
            tolerance.check(p.sample(rng, rows), q.sample(rng, rows)).decision == "FAR" for _ in range(150)
        ]
    assert np.mean(decided) == pytest.approx(0.8, abs=3 * noise(0.8, 150) + 0.02)


@pytest.mark.parametrize("shared", [True, False])
def test_an_estimated_tolerance_holds_both_levels(shared):
    """At a candidate as far away as the accepted data, neither verdict comes too often."""
    p, q = laws.pair_at("concentrated normal", 0.1)
    rng = np.random.default_rng(6)
    found = []
    for number in range(300):
        x = p.sample(rng, 100)
        made_from = x if shared else p.sample(rng, 100)
        accepted, candidate = q.sample(rng, 100), q.sample(rng, 100)
        pairs = (
            pairs_of(x, accepted, candidate)
            if shared
            else [pair_of(made_from, accepted), pair_of(x, candidate)]
        )
        found.append(by_accepted(*pairs, shared))
        if number < 2:  # and these are the p-values of a check
            how = {"how": "ball", "scales": "median", "negligible": False}
            tolerance = nammd.Tolerance.from_reference(made_from, accepted, kernel=KERNEL, **how)
            verdict = tolerance.check(x, candidate)
            assert (verdict.pvalue_close, verdict.pvalue_far) == pytest.approx(found[-1], rel=1e-9)
    assert np.mean(np.array(found) <= 0.05, axis=0).max() <= 0.05 + 3 * noise(0.05, 300)


def test_single_columns_and_facts_do_not_spoil_the_levels():
    """The same by whole checks, of which columns and facts are a part."""
    p, q = laws.pair_at("concentrated normal", 0.1)
    rng, decisions = np.random.default_rng(7), []
    how = {"kernel": KERNEL, "how": "ball", "scales": "median"}
    with without_forecasts():
        for _ in range(40):
            x, accepted, candidate = p.sample(rng, 100), q.sample(rng, 100), q.sample(rng, 100)
            tolerance = nammd.Tolerance.from_reference(x, accepted, **how)
            decisions.append(tolerance.check(x, candidate).decision)
    for wrong in ("FAR", "CLOSE"):
        assert decisions.count(wrong) / 40 <= 0.05 + 3 * noise(0.05, 40)


def test_a_tolerance_made_from_the_same_reference_uses_that(train, tolerance):
    candidate = draw(0.5, 7)
    same = tolerance.check(train, candidate)
    other = tolerance.check(np.vstack([train[1:], train[:1]]), candidate)
    assert [w.code for w in same.cautions] == []
    assert [w.code for w in other.cautions] == ["other-reference"]
    assert same.distance == pytest.approx(other.distance)
    assert same.pvalue_far != pytest.approx(other.pvalue_far, rel=1e-3)


def test_several_accepted_datasets_the_farthest_sets_epsilon(train):
    accepted = {"june": draw(0.2, 8), "july": draw(0.6, 9), "august": draw(0.4, 10)}
    tolerance = nammd.Tolerance.from_reference(train, accepted, how="ball")
    assert tolerance.origin.chosen == "july"
    assert [r.label for r in tolerance.origin.rungs] == ["june", "july", "august"]
    assert tolerance.epsilon == max(r.value for r in tolerance.origin.rungs)


def test_accepted_data_that_cannot_be_told_apart_set_no_tolerance(train):
    for seed in range(20):
        twin = draw(0.0, 100 + seed, 500)
        if nammd.distance(train, twin, kernel=nammd.Gaussian.median(train)).value < 0:
            with pytest.raises(ValueError, match=r"from_split or Tolerance\.from_noise"):
                nammd.Tolerance.from_reference(train, twin, how="ball")
            return
    raise AssertionError("no twin had a negative distance")


def test_noise_ladder_rises_and_its_rungs_can_be_chosen(train, noisy):
    rungs = [r for r in noisy.origin.rungs if r.kind == "noise"]
    assert [r.level for r in rungs] == [0.02, 0.05, 0.1, 0.2, 0.3, 0.5]
    assert rungs[-1].value == noisy.epsilon
    assert rungs[-1].value > 3 * abs(rungs[0].value)
    higher = nammd.Tolerance.from_noise(train, level=1.0)
    assert higher.epsilon > noisy.epsilon
    assert higher.at_level(0.5).epsilon == pytest.approx(noisy.epsilon, rel=0.5)
    with pytest.raises(ValueError, match=r"no rung at level 0\.7"):
        higher.at_level(0.7)


def test_every_kind_of_perturbation_has_a_ladder_on_a_mixed_table():
    tolerance = nammd.Tolerance.from_noise(table(0), level=0.3, kind="missing")
    kinds = {r.kind for r in tolerance.origin.rungs}
    assert kinds == {"noise", "flips", "missing"}
    for kind in kinds:
        values = [r.value for r in tolerance.origin.rungs if r.kind == kind]
        assert values[-1] == max(values) > 0
    assert tolerance.origin.chosen == "missing 0.3"


def test_impossible_perturbations_are_refused(train):
    with pytest.raises(ValueError, match="columns allow noise"):
        nammd.Tolerance.from_noise(train, kind="flips")
    with pytest.raises(ValueError, match="kind must be one of"):
        nammd.Tolerance.from_noise(train, kind="dust")
    with pytest.raises(ValueError, match="share of the rows"):
        nammd.Tolerance.from_noise(table(0), kind="missing", level=1.5)
    with pytest.raises(ValueError, match="a level must be positive"):
        nammd.Tolerance.from_noise(train, levels=[-0.1])


def test_split_without_drift_is_what_the_data_can_resolve(train, split):
    assert split.epsilon_error == 0
    assert split.check(train, draw(0, 11, 2000)).decision == "CLOSE"
    assert split.check(train, draw(0.8, 12)).decision == "FAR"


def test_split_finds_drift_in_the_order_of_rows(train):
    drifting = train + np.linspace(0, 3, len(train))[:, None]
    shuffled = np.random.default_rng(0).permutation(drifting)
    moving, still = nammd.Tolerance.from_split(drifting), nammd.Tolerance.from_split(shuffled)
    assert moving.origin.chosen.startswith("block")
    assert moving.epsilon > 5 * still.epsilon


def test_repeated_checks_do_not_touch_the_reference_again(train, tolerance, monkeypatch):
    gate = tolerance.with_reference(train)
    asked = []
    plain = nammd.Tiles.many_sums

    def watched(self, kernels, *parts):
        asked.extend(len(part) for part in parts)
        return plain(self, kernels, *parts)

    monkeypatch.setattr(nammd.Tiles, "many_sums", watched)
    gate.check(draw(0.1, 12))
    assert asked == [1, 1, 2]  # within the reference too, once for all checks
    asked.clear()
    verdict = gate.check(draw(0.2, 13))
    assert asked == [1, 2]  # within the candidate, and across
    monkeypatch.undo()
    assert isinstance(gate, Gate)
    assert verdict.pvalue_close == tolerance.check(train, draw(0.2, 13)).pvalue_close


def test_mixed_tables_find_a_shift_in_missingness_alone(mixed):
    january = table(0)
    assert mixed.check(january, table(1)).decision == "CLOSE"
    strict = nammd.Tolerance.from_split(january)
    lost = table(1, shift="missing")
    assert strict.check(january, lost).decision == "FAR"
    assert strict.check(january, table(1)).decision != "FAR"


def test_identifiers_are_left_out_and_said_so(mixed):
    assert [c.column for c in mixed.encoding.left_out] == ["application"]
    assert "application" in str(mixed)


def test_extra_columns_are_ignored_with_a_note(mixed):
    verdict = mixed.check(table(0), table(1).assign(surprise=1.0))
    assert "extra-columns" in [w.code for w in verdict.cautions]
    with pytest.raises(ValueError, match="income"):
        mixed.check(table(0), table(1).drop(columns="income"))


def test_weights_change_what_counts():
    kernel = nammd.Gaussian(2.0)
    shifted = table(6, shift="income")
    plain = nammd.Tolerance.from_reference(table(0), shifted, kernel=kernel, how="ball")
    light = nammd.Tolerance.from_reference(
        table(0), shifted, kernel=kernel, space={"column_weights": {"income": 0.1}}, how="ball"
    )
    assert light.epsilon < plain.epsilon / 2


@pytest.mark.parametrize("kind", ["reference", "noise", "split", "given", "mixed"])
def test_saving_and_loading_gives_the_same_verdicts(tmp_path, train, tolerance, noisy, split, mixed, kind):
    made = {
        "reference": tolerance,
        "noise": noisy,
        "split": split,
        "given": nammd.Tolerance.at(0.02, 2.0 * nammd.Laplace(1.5) + KERNEL, n_columns=2),
        "mixed": mixed,
    }[kind]
    made.save(tmp_path / "t.json")
    loaded = nammd.Tolerance.load(tmp_path / "t.json")
    x, y = (table(0), table(3)) if kind == "mixed" else (train, draw(0.3, 14))
    before, after = made.check(x, y), loaded.check(x, y)
    assert before.pvalue_far == after.pvalue_far
    assert before.pvalue_close == after.pvalue_close
    assert before.cautions == after.cautions
    assert loaded.origin == made.origin
    assert str(loaded) == str(made)


def test_the_file_is_readable_json_with_its_provenance(tmp_path, tolerance):
    tolerance.save(tmp_path / "t.json")
    stored = json.loads((tmp_path / "t.json").read_text())
    assert stored["format"] == "nammd-tolerance"
    assert stored["epsilon"] == tolerance.epsilon
    assert stored["kernel"] == {"kind": "gaussian", "bandwidth": tolerance.kernel.bandwidth}
    origin = stored["origin"]
    assert origin["rows"] == 500
    assert len(origin["digest"]) == 64
    assert set(origin["versions"]) == {"nammd", "numpy", "python"}
    assert origin["created"].endswith("+00:00")
    assert len(list(tmp_path.iterdir())) == 1


def damage(**changes):
    def change(stored):
        for key, value in changes.items():
            if value is KeyError:
                del stored[key]
            else:
                stored[key] = value
        return sealed(rendered(stored)).decode()

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda stored: "{ half of", "not valid JSON"),
        (lambda stored: json.dumps([1, 2]), "not a tolerance file"),
        (damage(format="other"), "not a tolerance file"),
        (damage(version=99), "newer nammd"),
        (damage(version=1), "made by an earlier version: calibrate again"),
        (damage(version=True), "its version is True"),
        (damage(version=0), "its version is 0"),
        (damage(kernel={"kind": "cubic"}), "kernel.kind must be 'gaussian' or .*, not 'cubic'"),
        (damage(kernel={"kind": "gaussian"}), "damaged"),
        (damage(kernel=KeyError), "'kernel' is missing"),
        (damage(origin={}), "damaged"),
        (damage(encoding={}), "damaged"),
        (damage(bars=KeyError), "'bars' is missing"),
        (damage(bars=[]), "damaged"),
        (
            damage(bars=[{"kind": "fixed", "label": "", "value": "wide", "pilot": None}]),
            "value must be a number above 0 and up to 1, not 'wide'",
        ),
        (
            damage(bars=[{"kind": "fixed", "label": "", "value": 2.0, "pilot": None}]),
            "value must be a number above 0 and up to 1, not 2.0",
        ),
        (
            damage(bars=[{"kind": "other", "label": "", "value": 0.5, "pilot": None}]),
            "kind must be 'accepted' or .*, not 'other'",
        ),
    ],
)
def test_damaged_files_are_refused_with_a_sentence(tmp_path, tolerance, change, message):
    path = tmp_path / "t.json"
    tolerance.save(path)
    path.write_text(change(json.loads(path.read_text())))
    with pytest.raises(ValueError, match=message) as error:
        nammd.Tolerance.load(path)
    assert "t.json" in str(error.value)


def test_missing_files_and_folders_are_named(tmp_path, tolerance):
    with pytest.raises(FileNotFoundError, match="no tolerance file"):
        nammd.Tolerance.load(tmp_path / "none.json")
    with pytest.raises(FileNotFoundError, match="no folder"):
        tolerance.save(tmp_path / "none" / "t.json")


def test_a_kernel_of_ones_own_cannot_be_saved(tmp_path):
    class Own(nammd.Kernel):
        bound = 1.0

        def __call__(self, x, y):
            return nammd.Gaussian(1.0)(x, y)

    tolerance = nammd.Tolerance.at(0.1, Own(), n_columns=2)
    with pytest.raises(TypeError, match="only the built-in kernels"):
        tolerance.save(tmp_path / "t.json")
    assert not list(tmp_path.iterdir())


SPACE = nammd.Space.fit(np.zeros((9, 2)), kernel=KERNEL)


@pytest.mark.parametrize(
    "options",
    [
        {"kernel": KERNEL},
        {"kernel": KERNEL, "n_columns": 2, "x": np.zeros((9, 2))},
        {"kernel": KERNEL, "space": SPACE},
        {"n_columns": 2},
        {},
    ],
)
def test_at_needs_exactly_one_way_to_know_the_space(options):
    with pytest.raises(TypeError, match="give a space; or a kernel, and one of n_columns and x"):
        nammd.Tolerance.at(0.1, **options)
    assert nammd.Tolerance.at(0.1, space=SPACE) == nammd.Tolerance.at(0.1, KERNEL, n_columns=2)


def test_too_few_rows_and_bad_levels_are_refused(train, tolerance):
    with pytest.raises(ValueError, match="candidate has 3 rows"):
        tolerance.check(train, train[:3])
    with pytest.raises(ValueError, match="alpha must be"):
        tolerance.check(train, train, alpha=0)


def test_verdicts_serialise(train, tolerance):
    stored = json.loads(json.dumps(tolerance.check(train, draw(1.0, 15)).to_dict(), allow_nan=False))
    assert stored["decision"] == "FAR"
    assert stored["estimate"]["m"] == 500
    assert "reference" not in stored


def test_equal_checks_compare_equal(train, tolerance):
    candidate = draw(0.5, 16)
    assert tolerance.check(train, candidate) == tolerance.check(train, candidate)
    assert tolerance.check(train, candidate) != tolerance.check(train, draw(0.5, 17))


def test_a_noise_ladder_is_the_population_distance_and_knows_its_error():
    """Noise of variance s^2 on a standard normal column makes a normal one of variance 1 + s^2."""
    exact = laws.nammd_of(laws.normal(0, 1), laws.normal(0, 1.25))
    with only_decisions():
        made = [
            nammd.Tolerance.from_noise(
                np.random.default_rng(seed).normal(size=(300, 1)),
                level=0.5,
                levels=[0.5],
                kernel=KERNEL,
                rng=[1, seed],  # not the numbers that the rows are made of
                anyway=True,
                negligible=False,
            )
            for seed in range(40)
        ]
    values = np.array([t.epsilon for t in made])
    assert values.mean() == pytest.approx(exact, abs=4 * values.std() / np.sqrt(40) + 0.02 * exact)
    assert np.mean([t.epsilon_error for t in made]) == pytest.approx(values.std(), rel=0.35)


def test_rows_needed_do_not_count_on_a_reference_that_would_be_another():
    """A grown reference no longer shares its error with epsilon; then no rows may be enough."""
    rng = np.random.default_rng(22)
    x = rng.normal(size=(40, 1))
    accepted = rng.normal(0.8, 1, size=(3000, 1))
    tolerance = nammd.Tolerance.from_reference(x, accepted, kernel=KERNEL, anyway=True, how="ball")
    needed = [tolerance.check(x, rng.normal(0.7, 1, size=(60, 1))).details.rows_needed for _ in range(3)]
    assert None in needed
    assert {rows[0] for rows in needed if rows is not None} == {40}  # only the candidate may grow


def test_a_constant_that_changes_is_not_passed_over_in_silence():
    rng = np.random.default_rng(18)
    made = [pd.DataFrame({"a": rng.normal(size=200), "status": "ok", "k": 0}) for _ in range(3)]
    tolerance = nammd.Tolerance.at(0.05, nammd.Gaussian(1.5), x=made[0])
    assert tolerance.check(made[0], made[1]).cautions == ()
    made[2].loc[::2, "status"] = "error"
    verdict = tolerance.check(made[0], made[2])
    assert verdict.is_far
    assert verdict.headline() == "FAR: status: was always 'ok' and is now 'error' in 50 % of rows."
    assert [fact.column for fact in verdict.facts] == ["status"]


def test_tolerances_compare_equal_to_what_was_saved(tmp_path, tolerance):
    tolerance.save(tmp_path / "t.json")
    assert nammd.Tolerance.load(tmp_path / "t.json") == tolerance


def test_a_level_at_which_both_tests_could_hold_is_refused(train, tolerance):
    with pytest.raises(ValueError, match=r"alpha must be strictly between 0 and 0\.5"):
        tolerance.check(train, train, alpha=0.6)
