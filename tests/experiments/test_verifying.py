"""Verifying: cells are run again, equal numbers are stamped, others leave the file stale."""

import dataclasses

import pytest
from experiments.__main__ import main
from experiments.comparing import differences
from experiments.registry import named
from experiments.results import load, save
from experiments.stale import stale_files

FIGURE = {"mean": 0.5, "se": 0.02, "n": 600}


@pytest.fixture
def unstamped(tmp_path):
    """A folder with the results of an experiment that nothing is noted of."""
    experiment = named("limitations")
    save(experiment, dataclasses.replace(load(experiment, "quick"), stamp=None), tmp_path)
    return tmp_path


def verify(folder, *options):
    return main(["verify", "limitations", "--jobs", "1", "--results", str(folder), *options])


def test_equal_numbers_are_stamped(unstamped, capsys):
    before = load(named("limitations"), "quick", unstamped)
    assert verify(unstamped) == 0
    assert "limitations.json: verified in 2 of 3 cells" in capsys.readouterr().err
    after = load(named("limitations"), "quick", unstamped)
    assert stale_files([named("limitations")], unstamped) == {}
    assert after.cells == before.cells
    assert len(after.stamp.verified["cells"]) == 2
    assert "_run" in after.stamp.code["experiments.paper.limitations"]
    assert "nammd.engines.protocol" in after.stamp.code


def test_other_numbers_leave_the_file_stale(unstamped, capsys):
    experiment = named("limitations")
    results = load(experiment, "quick", unstamped)
    cells = [dataclasses.replace(done, values=done.values | {"new": 1.0}) for done in results.cells]
    save(experiment, dataclasses.replace(results, cells=tuple(cells)), unstamped)
    assert verify(unstamped, "--cells", "1") == 1
    told = capsys.readouterr().err
    assert "/new: only before" in told
    assert "limitations.json: stays stale; python -m experiments run limitations" in told
    assert load(experiment, "quick", unstamped).stamp is None


def test_files_are_chosen_by_their_settings(unstamped):
    assert verify(unstamped, "--full") == 0
    assert load(named("limitations"), "quick", unstamped).stamp is None
    assert verify(unstamped, "--quick") == 0
    assert load(named("limitations"), "quick", unstamped).stamp is not None


def test_no_cells_are_refused(unstamped, capsys):
    with pytest.raises(SystemExit):
        verify(unstamped, "--cells", "0")
    assert "--cells must be at least 1, not 0" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ({"a": 1.0}, {"a": 1.0 + 5e-10}, True),
        ({"a": 1.0}, {"a": 1.0 + 5e-9}, False),
        ({"a": 0.0}, {"a": 5e-13}, True),
        ({"a": 0.0}, {"a": 5e-12}, False),
        ({"a": [1, 2]}, {"a": [1, 2, 3]}, False),
        ({"a": [1, {"b": None}]}, {"a": [1, {"b": 0.0}]}, False),
        ({"hits": "0110"}, {"hits": "0111"}, False),
        ({"seconds": [1.0]}, {"seconds": [2.0]}, True),
        ({"a": 1}, {}, False),
        (FIGURE, FIGURE | {"mean": 0.501}, False),
    ],
)
def test_digits_are_compared(one, other, same):
    assert (list(differences(one, other, "digits")) == []) is same


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ({"a": 1.0}, {"a": 1.00005}, True),
        ({"a": 1.0}, {"a": 1.0005}, False),
        (FIGURE, FIGURE | {"mean": 301 / 600}, True),
        (FIGURE, FIGURE | {"mean": 302 / 600}, False),
        ({"mean": 0.123, "se": 0.01, "n": 50}, {"mean": 0.124, "se": 0.01, "n": 50}, False),
        ({"hits": "0110"}, {"hits": "0111"}, True),
    ],
)
def test_numbers_of_networks_are_compared_in_single_precision(one, other, same):
    assert (list(differences(one, other, "single")) == []) is same


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (FIGURE, FIGURE | {"mean": 0.6}, True),
        (FIGURE, FIGURE | {"mean": 0.62}, False),
        ({"hits": "01" * 50}, {"hits": "10" * 50}, True),
        ({"hits": "0" * 100}, {"hits": "1" * 100}, False),
        ({"hits": "0" * 100}, {"hits": "0" * 99}, False),
        ({"a": 1.0}, {"a": 1.005}, True),
        ({"a": 1.0}, {"a": 1.02}, False),
    ],
)
def test_means_and_rates_are_compared_by_their_errors_where_digits_differ(one, other, same):
    assert (list(differences(one, other, "errors")) == []) is same
