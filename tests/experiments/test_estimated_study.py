"""The studies of estimated tolerances draw what they say, ask the real rule, and read their counts right."""

import math
from pathlib import Path

import numpy as np
import pytest
from experiments.calibration import estimated, estimated_power, estimated_power_text, reference_alone
from experiments.calibration import estimated_text as text
from experiments.calibration.cases import ALIKE, DIFFERENT, MOVING, TURNED, Sizes, case_of, draw, orders
from experiments.calibration.estimated import Estimated
from experiments.calibration.grid import Spot
from experiments.calibration.plain_rule import plain_closeness, plain_pvalues
from experiments.calibration.reference_alone_text import sentence as told_of_alone
from experiments.experiment import Context
from experiments.results import Done, Results

import nammd
from nammd.questions.comparison import compare_estimates
from nammd.statistics.difference import Difference
from nammd.statistics.margin import margin
from nammd.tolerances.decision import combined

ENGINE = nammd.Tiles(threads=1)


def _context(seed: int = 0) -> Context:
    return Context(np.random.default_rng(seed), "cpu", Path())


def test_there_are_twenty_laws_of_each_kind():
    assert len(ALIKE) >= 20
    assert len(DIFFERENT) >= 20


@pytest.mark.parametrize("name", [*DIFFERENT, f"{DIFFERENT[3]}{TURNED}", "exponential"])
def test_accepted_data_and_candidate_are_equally_far(name):
    case, rng = case_of(name, 0.02), np.random.default_rng(5)
    # In single precision: of as many rows kernel values are all of the work.
    x, *others = (
        law.sample(rng, 2500).astype("float32") for law in (case.reference, case.accepted, case.candidate)
    )
    for y in others:
        estimate = nammd.distance(x, y, kernel=case.kernel)
        assert abs(estimate.value - 0.02) < 4 * estimate.standard_error


def test_a_candidate_may_be_elsewhere_than_the_accepted_data():
    case, rng = case_of("uniform", 0.05, 0.2), np.random.default_rng(5)
    x = case.reference.sample(rng, 1500)
    near, far = (
        nammd.distance(x, law.sample(rng, 1500), kernel=case.kernel).value
        for law in (case.accepted, case.candidate)
    )
    assert near == pytest.approx(0.05, abs=0.02)
    assert far == pytest.approx(0.2, abs=0.03)
    same = case_of("normal: up or wider", 0.05, 0.0)
    assert same.candidate is same.reference
    assert case_of("correlated", 0.3) is None


@pytest.mark.parametrize("name", [law for law in ALIKE if law not in MOVING])
def test_the_reference_is_the_same_at_every_distance(name):
    near, far = (
        case_of(name, nammd_).reference.sample(np.random.default_rng(1), 20) for nammd_ in (0.01, 0.02)
    )
    assert np.array_equal(near, far)


def test_sizes_are_read():
    assert Sizes.of("500/50:200") == Sizes(500, 50, 200)
    assert Sizes.of("20:200") == Sizes(20, 20, 200)
    assert (Sizes.of("500/50:200").smallest, Sizes.of("500/50:200").largest) == (50, 500)
    assert list(orders("normal: up or wider", Sizes.of("20:20"))) == ["normal: up or wider"]
    assert len(list(orders("normal: up or wider", Sizes.of("20:200")))) == 2
    assert list(orders("uniform", Sizes.of("20:200"))) == ["uniform"]


def test_the_study_asks_what_a_check_asks():
    case, rng = case_of("exponential", 0.3), np.random.default_rng(7)
    x = case.reference.sample(rng, 60)
    accepted = {name: case.accepted.sample(rng, 60) for name in ("one", "two")}
    candidate = case.candidate.sample(rng, 30)
    tolerance = nammd.Tolerance.from_reference(x, accepted, kernel=case.kernel, engine=ENGINE, how="ball")
    verdict = tolerance.check(x, candidate, engine=ENGINE)
    estimates = [nammd.distance(x, y, kernel=case.kernel, engine=ENGINE) for y in accepted.values()]
    now = nammd.distance(x, candidate, kernel=case.kernel, engine=ENGINE)
    close, far = combined([estimated._held(estimate, now) for estimate in estimates])
    assert verdict.pvalue_close == pytest.approx(close, rel=1e-9)
    assert verdict.scale_checks[0].pvalue == pytest.approx(far, rel=1e-9)


def test_the_study_covers_where_the_interval_does():
    case, rng = case_of("exponential", 0.05), np.random.default_rng(3)
    for _ in range(12):
        drawn = draw(case, Sizes.of("20:20"), 1, rng, ENGINE)
        compared = compare_estimates(
            drawn.accepted[0], drawn.candidate, shared=True, alternative="two-sided", alpha=0.05
        )
        low, high = compared.confidence_interval(0.95)
        inside = min(compared.rule.closer(), compared.rule.swapped.closer()) > 0.025
        assert (low <= 0 <= high) is inside


def test_the_plain_rule_is_a_difference_over_its_error_where_distances_are_large():
    case, rng = case_of("shifted normal", 0.3), np.random.default_rng(3)
    drawn = draw(case, Sizes.of("300:300"), 1, rng, ENGINE)
    rule = Difference.of(drawn.accepted[0].pair, drawn.candidate.pair, True)
    close, far = plain_pvalues(rule)
    assert close + far == pytest.approx(1)
    assert far == pytest.approx(rule.swapped.closer(), abs=0.05)


def test_near_zero_the_plain_rule_of_a_known_margin_proves_less():
    case, rng = case_of("shifted normal", 0.02, 0.0), np.random.default_rng(3)
    pairs = [draw(case, Sizes.of("50:50"), 1, rng, ENGINE).candidate.pair for _ in range(40)]
    plain = np.array([plain_closeness(pair, 0.02) for pair in pairs])
    new = np.array([margin(p, 0.02, "corrected", "less").pvalue("less") for p in pairs])
    assert np.sum(new <= 0.05) > np.sum(plain <= 0.05)


def test_chunks_of_all_settings_come_in_turn():
    settings = Estimated(
        repetitions=estimated.CHUNK + 5,
        large_repetitions=9,
        largest_repetitions=7,
        laws=("uniform",),
        margins=(0.05,),
    )
    cells = list(estimated._cells(settings))
    assert [cell["chunk"] for cell in cells] == sorted(cell["chunk"] for cell in cells)
    repeated = {size: sum(c["count"] for c in cells if c["size"] == size) for size in ("50:50", "50:500")}
    assert repeated == {"50:50": settings.repetitions, "50:500": 9}
    largest = [cell for cell in cells if cell["size"] == "2000:200"]
    assert {cell["margin"] for cell in largest} == {0.005, 0.05}
    assert {cell["count"] for cell in largest} == {7}


def test_counts_are_named_by_rule_and_joined():
    settings = Estimated(repetitions=20, laws=("uniform",), margins=(0.05,), sizes=("20:20", "20:500"))
    cells = [{"law": "uniform", "margin": 0.05, "size": s, "count": 10} for s in ("20:20", "20:500")]
    done = [
        Done({**cell, "chunk": k}, estimated._run(settings, {**cell, "count": 2}, _context(k)), 0.0)
        for cell in cells
        for k in range(2)
    ]
    small, large = estimated.spots(Results(settings, "quick", 0, tuple(done)))
    assert small.tries == 20
    assert {"far 1", "close 5", "none 2", "covers separate", "plain far shared"} <= set(small.counts)
    assert "far 5" not in large.counts


def _spot(law: str = "uniform", size: str = "50:50", tries: int = 1000, **off: float) -> Spot:
    names = [*text._rules((1, 2), "far").values(), *text._rules((1, 2), "close").values()]
    counts = dict.fromkeys(names, 0.05 * tries)
    counts |= {"covers shared": 0.95 * tries, "covers separate": 0.95 * tries}
    counts |= {"none 1": 0, "none 2": 0, "void shared": 0, "void separate": 0}
    return Spot(
        law, 0.05, size, tries, counts | {name.replace("_", " "): value for name, value in off.items()}
    )


def test_what_is_above_the_bars_is_told():
    found = [_spot(), _spot("exponential", far_1=95), _spot("Poisson", "20:200", close_2=130)]
    assert not text.notes([_spot()], (1, 2))
    few, *notes = text.notes(found, (1, 2))
    assert few.startswith("With 20 rows FAR is said falsely in at most 0.050")
    assert (
        "`Tolerance`, 1 accepted says FAR too often: 0.095 ± 0.009 (exponential, NAMMD 0.05, 50:50 rows)"
        in notes[0]
    )
    assert "`Tolerance`, 2 accepted says CLOSE too often: 0.130" in notes[1]
    body = text.body(found, ("50:50", "20:200"), (1, 2))
    assert "| FAR | `Tolerance`, 1 accepted | 0.095 | 1 of 2 | 1 | 0.050 | 0 of 1 | 0 |" in body
    assert "| CLOSE | `Tolerance`, 2 accepted | 0.050 | 0 of 2 | 0 | 0.130 | 1 of 1 | 1 |" in body
    assert "in 1 of 8 settings; by the plain rule in at most 0.050" in text.sentence(found, (1, 2))


def test_shares_among_the_tolerances_that_were_made_are_told():
    [note] = text.notes([_spot(none_1=500, close_1=50)], (1, 2))
    assert "in up to 0.500 ± 0.016" in note
    assert "is 0.100 (FAR" in note or "is 0.100 (CLOSE" in note


def test_power_is_compared_where_the_plain_rule_holds_its_level():
    rules = {f"{rule} {asked}": 4 for rule in estimated_power.RULES for asked in ("far", "close")}

    def spot(law: str, **counts: float) -> Spot:
        return Spot(law, 0.05, "50:50", 100, rules | {k.replace("_", " "): v for k, v in counts.items()})

    held, broken = ("uniform", 0.05, "50:50"), ("Poisson", 0.05, "50:50")
    found = {
        "same": {held: spot("uniform", new_close=80, plain_close=60)},
        "third": {held: spot("uniform", new_close=50, plain_close=30)},
        "twice": {
            held: spot("uniform", new_far=70, plain_far=71),
            broken: spot("Poisson", new_far=40, plain_far=80),
        },
        "at": {held: spot("uniform"), broken: spot("Poisson", plain_far=30)},
    }
    told = estimated_power_text.sentence(found)
    assert "CLOSE, data like the reference: 0.80 on average, by the plain rule 0.60." in told
    assert "FAR changes by -0.40 on average in 1 setting where" in told
    assert "by -0.01 in 1 other" in told


def test_the_tolerance_of_the_reference_alone_is_checked_beyond_itself():
    assert reference_alone._just_above(0.02341) == pytest.approx(0.024)
    assert reference_alone._just_above(0.5) == pytest.approx(0.5)
    assert math.isclose(reference_alone._just_above(0.00991), 0.01)


def test_what_goes_wrong_with_the_reference_alone_is_told():
    experiment = reference_alone.EXPERIMENT
    cells = []
    for cell in experiment.cells(experiment.tiny):
        asked = {"far like the last blocks": 0, "close like the whole": 0, "beyond": 1, "close beyond": 0}
        cells.append(Done({**cell, "count": 100}, asked | {"far with the noise": 30}, 0.0))
    told = told_of_alone(Results(experiment.tiny, "quick", 0, tuple(cells)))
    assert "wrong verdicts of `from_split` is 0.000" in told
    assert "wrong verdicts of `from_noise` is 0.300 ± 0.046 (FAR, level 1, 40 : 20 rows, uniform)" in told
    assert "in 1 of 2 settings" in told
