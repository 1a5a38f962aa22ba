"""A verdict tests every margin once, whatever is asked of it afterwards."""

import numpy as np
import pytest

import nammd
from nammd.cli import main
from nammd.statistics.margin import margin
from nammd.statistics.pair import Pair
from tests.counting import count_margins, count_method

X, Y = np.random.default_rng(0).normal(size=(2, 200, 2))
SPACE = nammd.Space.fit(X, kernel=nammd.Gaussian(1.5))
TOLERANCES = {
    "number": nammd.Tolerance.at(0.02, space=SPACE),
    "accepted": nammd.Tolerance.from_reference(X, X + 0.5, space=SPACE, how="ball"),
    "noise": nammd.Tolerance.from_noise(X, level=1.0, space=SPACE),
}


@pytest.mark.parametrize("tolerance", TOLERANCES.values(), ids=TOLERANCES)
def test_printing_and_json_of_a_verdict_test_no_further_margins(tolerance, monkeypatch):
    asked = count_margins(monkeypatch)
    verdict = tolerance.check(X, Y)
    needed = len(asked)
    assert 10 < needed < 50  # an interval tries some twenty
    str(verdict)
    assert len(asked) == needed
    verdict.to_dict()  # has the distance of the reference, too, with its interval of 95 %
    later = len(asked)
    verdict.to_dict()
    verdict.estimate.confidence_interval()
    str(verdict.estimate)
    assert len(asked) == later < needed + 30


def test_intervals_of_other_levels_are_others():
    estimate = nammd.distance(X, Y + 0.3)
    narrow, wide = (estimate.confidence_interval(level) for level in (0.5, 0.99))
    assert wide[0] < narrow[0] < narrow[1] < wide[1]
    assert estimate.confidence_interval(0.5) == narrow


@pytest.fixture
def files(tmp_path):
    for name, points in (("x", X), ("y", Y + 0.2)):
        np.save(tmp_path / f"{name}.npy", points)
    return str(tmp_path / "x.npy"), str(tmp_path / "y.npy")


@pytest.mark.parametrize("output", [(), ("--json",)], ids=["people", "programs"])
def test_command_tests_the_margins_of_one_check(files, output, monkeypatch, capsys):
    space = nammd.Space.fit(X)
    asked = count_margins(monkeypatch)
    nammd.Tolerance.at(0.02, space=space).check(*files)
    needed = len(asked)
    assert main(["check", *files, "--epsilon", "0.02", *output]) in (0, 3)
    # Programs are also told the distance of the reference, with its interval of 95 %.
    assert 2 * needed <= len(asked) < 2 * needed + 30 * bool(output) + 1


@pytest.mark.parametrize(
    "command", [("check", "--epsilon", "0.02"), ("calibrate", "-o", "t.json", "--anyway")], ids=lambda c: c[0]
)
def test_no_document_is_made_for_people(files, command, tmp_path, monkeypatch, capsys):
    def made(self):
        raise AssertionError("nobody asked for JSON")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(nammd.Verdict, "to_dict", made)
    monkeypatch.setattr(nammd.Tolerance, "to_dict", made)
    assert main([command[0], *files, *command[1:]]) in (0, 3)
    assert main([command[0], *files, *command[1:], "--json"]) == 2


def test_corrections_that_count_nothing_are_not_worked_out(monkeypatch):
    rng, kernel = np.random.default_rng(1), nammd.Gaussian(0.3)
    pairs = [nammd.distance(*rng.normal(size=(2, 60, 2)), kernel=kernel).pair for _ in range(20)]
    asked, shares = count_method(monkeypatch, Pair, "cubic_and_quadratic"), []
    for pair in pairs:
        asked.clear()
        found = margin(pair, 0.001, "corrected", "greater")
        assert len(asked) == (found.share < 1)  # of pairs of rows alone nothing is left of them
        assert (found.linear_term == found.constant_term == 0.0) == (found.share == 1)
        shares.append(found.share)
    assert min(shares) < 1 == max(shares)
