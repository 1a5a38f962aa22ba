"""A distance has one standard error: every place that shows it shows the same number."""

import json
import re
from functools import cache

import numpy as np
import pytest

import nammd
from nammd.results import with_error
from tests.properties.samples import KERNEL, groups_of_points, points, series


def equal_laws(seed, rows):
    """Two samples of one law, whose distance came out above zero."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(rows, 2)), rng.normal(size=(rows, 2))


def groups_far_apart():
    (x, gx, _), (y, gy, _) = groups_of_points(3, 20), groups_of_points(4, 20, shift=1.5)
    return x, y, (gx, gy)


def groups_of_equal_laws():
    groups = np.repeat(np.arange(20), 3)
    rng = np.random.default_rng(19)
    x, y = (rng.normal(size=(20, 2))[groups] + rng.normal(size=(60, 2)) for _ in "xy")
    return x, y, (groups, groups + 100)


# The reference, what was accepted, and which rows belong together.
PAIRS = {
    "far apart": lambda: (points(1, 60), points(2, 50, loc=1.0), None),
    "groups far apart": groups_far_apart,
    "blocks far apart": lambda: (series(5), series(6, shift=2.0), nammd.TimeBlocks(length=8)),
    "equal laws": lambda: (*equal_laws(37, 20), None),
    "equal laws, more rows": lambda: (*equal_laws(42, 60), None),
    "groups of equal laws": groups_of_equal_laws,
}


def options(groups):
    return {} if groups is None else {"groups": groups}


@cache
def tolerance_of(name):
    """The tolerance of one of the pairs."""
    x, accepted, groups = PAIRS[name]()
    return nammd.Tolerance.from_reference(
        x, accepted, kernel=KERNEL, anyway=True, **options(groups), how="ball"
    )


def shown(text):
    """The errors that a text shows, by what stands before them."""
    return re.findall(r"± (\S+?)[,.]?(?= |$)", text, flags=re.MULTILINE)


@pytest.mark.parametrize("name", PAIRS)
def test_of_a_tolerance_and_of_the_distance_that_it_was_taken_from(name, tmp_path):
    x, accepted, groups = PAIRS[name]()
    distance = nammd.distance(x, accepted, kernel=KERNEL, **options(groups))
    assert distance.value > 0
    tolerance = tolerance_of(name)
    verdict = tolerance.check(x, accepted + 0.1, **options(groups))
    tolerance.save(tmp_path / "t.json")
    loaded = nammd.Tolerance.load(tmp_path / "t.json")
    stored = tolerance.to_dict()
    found = {
        "tolerance": tolerance.epsilon_error,
        "tolerance from its file": loaded.epsilon_error,
        "tolerance as values": stored["epsilon_error"],
        "what it was taken from": stored["origin"]["rungs"][0]["standard_error"],
        "verdict": verdict.details.epsilon_error,
        "verdict, by what was accepted": verdict.details.held[0].standard_error,
        "report": verdict.details.limit().error,
    }
    assert found == dict.fromkeys(found, pytest.approx(distance.standard_error, rel=1e-12))


@pytest.mark.parametrize("name", PAIRS)
def test_printed_tolerances_show_one_error(name):
    tolerance = tolerance_of(name)
    text = str(tolerance)
    assert with_error(tolerance.epsilon, tolerance.epsilon_error) in text
    assert len(shown(text)) >= 2
    assert len(set(shown(text))) == 1


@pytest.mark.parametrize("name", PAIRS)
def test_of_each_of_several_accepted_datasets(name):
    x, accepted, groups = PAIRS[name]()
    if groups is not None and not isinstance(groups, nammd.TimeBlocks):
        groups = (groups[0], groups[1], np.asarray(groups[1]) + 50_000)
    several = {"first": accepted, "second": accepted + 0.05}
    how = {"kernel": KERNEL, "anyway": True, **options(groups)}
    tolerance = nammd.Tolerance.from_reference(x, several, **how, how="ball")
    rungs = {rung["label"]: rung["standard_error"] for rung in tolerance.to_dict()["origin"]["rungs"]}
    said = groups if groups is None or isinstance(groups, nammd.TimeBlocks) else groups[:2]
    held = {
        each.label: each.standard_error
        for each in tolerance.check(x, accepted + 0.1, **options(said)).details.held
    }
    assert held == pytest.approx(rungs, rel=1e-12)


@pytest.mark.parametrize("groups", [None, np.repeat(np.arange(20), 3)])
def test_of_a_perturbation(groups):
    x = points(7, 60)
    tolerance = nammd.Tolerance.from_noise(
        x, level=0.5, levels=(0.3, 0.5), kernel=KERNEL, anyway=True, **options(groups)
    )
    rungs = {rung["label"]: rung["standard_error"] for rung in tolerance.to_dict()["origin"]["rungs"]}
    assert tolerance.epsilon_error == pytest.approx(rungs["noise 0.5"], rel=1e-12)
    assert tolerance.at_level(0.5).epsilon_error == pytest.approx(rungs["noise 0.5"], rel=1e-12)


@pytest.mark.parametrize("name", PAIRS)
def test_of_a_distance_wherever_it_is_measured(name):
    """By itself, in a test, in a comparison, in a ranking, and by a tolerance."""
    x, y, groups = PAIRS[name]()
    how = {"kernel": KERNEL, **options(groups)}
    expected = nammd.distance(x, y, **how).standard_error
    test = nammd.closeness_test(x, y, 0.02, alternative="greater", **how)
    gate = nammd.Tolerance.at(0.02, KERNEL, n_columns=2).with_reference(
        x, **options(groups if groups is None or isinstance(groups, nammd.TimeBlocks) else groups[0])
    )
    own = {} if groups is None or isinstance(groups, nammd.TimeBlocks) else {"groups": groups[1]}
    found = {
        "test": test.estimate.standard_error,
        "ranking": nammd.rank(x, {"y": y}, **how).entries[0].estimate.standard_error,
        "gate": gate.distance(y, **own).standard_error,
        "verdict": gate.check(y, **own).estimate.standard_error,
    }
    if groups is None:
        compared = nammd.compare_pairs((x, y), (x, y + 1.0), kernel=KERNEL)
        found["comparison"] = compared.first.standard_error
    assert found == dict.fromkeys(found, pytest.approx(expected, rel=1e-9))


@pytest.mark.parametrize("name", [name for name in PAIRS if "blocks" not in name])
def test_of_a_difference_of_two_distances_that_share_nothing(name):
    """It is at least that of both, and that where each can be told from zero: near zero it borrows."""
    x, y, groups = PAIRS[name]()
    said = None if groups is None else (groups, tuple(np.asarray(labels) + 50_000 for labels in groups))
    compared = nammd.compare_pairs((x, y), (x + 5.0, y + 5.0), kernel=KERNEL, shared=False, **options(said))
    assert compared.difference == pytest.approx(0.0, abs=1e-12)
    both = np.hypot(compared.first.standard_error, compared.second.standard_error)
    assert compared.standard_error >= both * (1 - 1e-9)
    if "far apart" in name:
        assert compared.standard_error == pytest.approx(both, rel=1e-9)


@pytest.mark.parametrize("name", ["equal laws", "far apart"])
def test_on_the_command_line(name, tmp_path, capsys, monkeypatch):
    from nammd.cli import main

    monkeypatch.chdir(tmp_path)
    x, accepted, _ = PAIRS[name]()
    np.save("x.npy", x)
    np.save("y.npy", accepted)
    capsys.readouterr()
    assert main(["calibrate", "x.npy", "y.npy", "--ball", "-o", "t.json", "--anyway", "--json"]) == 0
    calibrated = json.loads(capsys.readouterr().out)
    assert main(["distance", "x.npy", "y.npy", "--tolerance", "t.json", "--json"]) == 0
    measured = json.loads(capsys.readouterr().out)
    assert calibrated["epsilon"] == pytest.approx(measured["value"], rel=1e-12)
    assert calibrated["epsilon_error"] == pytest.approx(measured["standard_error"], rel=1e-12)
