"""One rule for all verdicts, and no module of an experiment that could set one by hand."""

import ast
import dataclasses
from pathlib import Path

import pytest
from experiments.overview import EXCEPTIONS, PROTOCOLS, claim
from experiments.registry import experiments
from experiments.results import best
from experiments.rule import (
    Claim,
    Compared,
    Comparison,
    agreeing,
    between,
    chi_squared,
    higher,
    not_lower,
    numbers,
    sign_test,
    verdict,
)
from experiments.section import Section

import experiments as package

PAPER = [e for e in experiments().values() if e.page == "paper"]
MODULES = sorted(
    path for room in ("paper", "calibration") for path in (Path(package.__file__).parent / room).glob("*.py")
)
WORDS = {"holds", "holds in part", "does not hold", "not testable here"}


def compared(*scores):
    return [Compared({"mean": 0.5 + 0.01 * score, "se": 0.01}, 0.5, 0.0, 6) for score in scores]


def claimed(*came_out):
    return Claim("It is so.", [Comparison(str(k), each) for k, each in enumerate(came_out)])


def test_four_values_that_are_all_high_are_no_agreement():
    scores = [1.7, 1.7, 1.7, 1.7]
    assert numbers(compared(*scores)).startswith("4 of 4; χ² p=0.02")
    assert chi_squared(scores) == pytest.approx(0.0207, abs=1e-3)
    assert sign_test(scores) == pytest.approx(0.125)
    assert sign_test([1.7, -1.7, 1.7, -1.7]) == 1.0
    assert numbers([]) == "–"


def test_a_number_agrees_within_two_joint_errors_and_the_rounding_of_the_print():
    ours = {"mean": 0.53, "se": 0.009}
    assert not Compared(ours, 0.5, 0.0119).agrees
    assert Compared(ours, 0.5, 0.0121).agrees
    exact = {"mean": 0.55, "se": 0.0}
    assert Compared(exact, 0.5, digits=1).agrees
    assert not Compared(exact, 0.5, digits=2).agrees
    assert agreeing([Compared(exact, 0.5, digits=1), Compared(exact, 0.5, digits=2)]) == 1


@pytest.mark.parametrize(
    ("came_out", "word"),
    [((True, True), "holds"), ((True, False), "holds in part"), ((False,), "does not hold"), ((), "–")],
)
def test_a_claim_is_judged_by_its_comparisons(came_out, word):
    assert verdict(claimed(*came_out)) == word


def test_comparisons_count_two_standard_errors():
    assert higher("", 0.21, 0.1).came_out
    assert not higher("", 0.2, 0.1).came_out
    assert not_lower("", -0.2, 0.1).came_out
    assert not not_lower("", -0.21, 0.1).came_out
    assert between("", {"mean": 0.09, "se": 0.01}, 0.03, 0.07).came_out
    assert not between("", {"mean": 0.091, "se": 0.01}, 0.03, 0.07).came_out


def test_there_is_no_verdict_on_other_data_and_none_without_a_claim():
    section = Section("", "", claimed(True, False))
    assert claim("bandwidth", section) == "holds in part (1 of 2)"
    assert claim("domains", section) == "not testable here"
    assert claim("domains", Section("", "")) == "–"


def test_every_experiment_has_a_protocol_and_exceptions_are_of_experiments():
    assert set(PROTOCOLS) == {e.name for e in PAPER} >= set(EXCEPTIONS)


@pytest.mark.parametrize("experiment", PAPER, ids=lambda e: e.name)
def test_printed_numbers_are_compared_on_the_papers_data_alone(experiment):
    results = best(experiment)
    if results is None:
        pytest.skip("not run")
    if PROTOCOLS[experiment.name].kind != "the paper's":
        assert not experiment.section(results).compared


def test_a_section_has_no_place_for_a_verdict():
    fields = {field.name for field in dataclasses.fields(Section)}
    assert not fields & {"agreement", "verdict", "judgement"}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_no_module_sets_a_verdict_by_hand(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert (
        not {n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str)}
        & WORDS
    )
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Comparison":
            words = {word.arg: word.value for word in node.keywords}
            came_out = node.args[1] if len(node.args) > 1 else words["came_out"]
            assert not isinstance(came_out, ast.Constant), f"line {node.lineno}: computed, not written"
