"""Every dataset is opened once, every column read once, and every pair gathered once for one question."""

import importlib
import pkgutil
from collections import Counter
from contextlib import suppress
from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

import nammd
from nammd.cli import main
from nammd.data import frames
from nammd.data.opening import open_dataset
from nammd.data.pieces import Pieces
from nammd.engines.tiles.engine import Tiles
from nammd.evidence.gathering import gather_at, gather_splits
from nammd.reading.files import read
from tests.counting import count_calls, count_method

COMPARED = ("age", "income", "city")
"""Beside 'size': text that stands for numbers is kept once it was read, which takes the most time of all."""


def rows(seed, shift=0.0):
    return np.random.default_rng(seed).normal(shift, 1.0, size=(200, 3))


def table(seed, shift=0.0, groups=False, constant="c"):
    rng = np.random.default_rng(seed)
    found = {
        "age": rng.normal(40 + 10 * shift, 10, 300),
        "income": pa.array(rng.lognormal(size=300), mask=rng.random(300) < 0.1),
        "city": rng.choice(["Ulm", "Bonn", "Kiel"], 300),
        "size": [f"{value:.2f}".replace(".", ",") for value in rng.normal(size=300)],
        "land": [constant] * 300,
    }
    return pa.table(found | ({"user": [f"{seed} {k // 5}" for k in range(300)]} if groups else {}))


class Counted:
    """What was called; after `again`, since then."""

    def __init__(self, monkeypatch):
        # Nothing is kept, so that what is read again is counted again.
        monkeypatch.setattr(frames, "_KEPT_CELLS", 0)
        self.calls = {
            "opened": count_calls(monkeypatch, open_dataset),
            "files": count_calls(monkeypatch, read),
            "gathered": count_calls(monkeypatch, gather_at),
            "divided": count_calls(monkeypatch, gather_splits),
            "summed": count_method(monkeypatch, Tiles, "many_sums"),
            "by groups": count_method(monkeypatch, Tiles, "many_unit_sums"),
            "values": count_method(monkeypatch, frames.Frame, "values"),
            "passes": count_method(monkeypatch, Pieces, "each"),
        }

    def __getitem__(self, name):
        return len(self.calls[name])

    def parts(self):
        """Return how many matrices were summed in every call of the engine."""
        return [len(given) - 2 for given in self.calls["summed"] + self.calls["by groups"]]

    def reads(self, owner, columns=COMPARED):
        """Return how often each of some columns of a dataset was read, if all were read alike."""
        found = Counter(name for frame, name in self.calls["values"] if frame.owner == owner)
        [often] = {found[name] for name in columns}
        return often

    def again(self):
        for calls in self.calls.values():
            calls.clear()


@pytest.fixture(scope="module", autouse=True)
def all_imported():
    """Import all modules: one that is imported while calls are counted would count them ever after."""
    for found in pkgutil.walk_packages(nammd.__path__, "nammd."):
        if not found.name.endswith("__main__"):
            with suppress(ImportError):
                importlib.import_module(found.name)


@pytest.fixture
def counted(monkeypatch):
    """Count calls."""

    def begin(ask):
        begun = Counted(monkeypatch)
        ask()
        return begun

    return begin


@pytest.fixture
def counted_again(counted):
    """Count calls where something was asked before, and is known from then on."""

    def begin(ask):
        ask()
        return counted(ask)

    return begin


X, Y, Z, W = (rows(seed, 0.2 * seed) for seed in range(4))
QUESTIONS = {
    "distance": (lambda: nammd.distance(X, Y), 2),
    "closeness_test": (lambda: nammd.closeness_test(X, Y, 0.02, alternative="greater"), 2),
    "compare_pairs": (lambda: nammd.compare_pairs((X, Y), (X, Z)), 3),
    "compare_pairs with a copy": (lambda: nammd.compare_pairs((X, Y), (X.copy(), Z), shared=True), 4),
    "rank": (lambda: nammd.rank(X, {"y": Y, "z": Z, "w": W}), 4),
    "plan": (lambda: nammd.plan(0.1, pilot=(X, Y)), 2),
}


@pytest.mark.parametrize(("ask", "datasets"), QUESTIONS.values(), ids=QUESTIONS)
def test_a_question_opens_each_dataset_once_and_gathers_once(ask, datasets, counted):
    found = counted(ask)
    assert (found["opened"], found["gathered"], found["summed"]) == (datasets, 1, 1)


@pytest.mark.parametrize("method", ["nammd", "mmd", "nammd-fuse"])
def test_a_two_sample_test_opens_each_dataset_once(method, counted):
    found = counted(lambda: nammd.two_sample_test(X, Y, method=method, rng=0))
    assert (found["opened"], found["gathered"]) == (2, 0)


def test_columns_are_read_to_fit_the_encoding_and_to_encode(counted):
    one, two = table(0), table(1)
    found = counted(lambda: nammd.distance(one, two))
    assert found["opened"] == 2
    assert found.reads("x") == found.reads("y") == 2


ONE, TWO, THREE = (table(seed, 0.3 * seed) for seed in range(3))
GROUPED = [table(seed, 0.5 * seed, groups=True) for seed in range(3)]


@pytest.mark.parametrize("groups", [None, "user"], ids=["rows", "groups"])
@pytest.mark.parametrize("several", [False, True], ids=["one", "several"])
def test_a_tolerance_from_accepted_data_reads_and_gathers_once(groups, several, counted):
    reference, *others = (ONE, TWO, THREE) if groups is None else GROUPED
    accepted = dict(zip("ab", others, strict=True)) if several else others[1]
    found = counted(lambda: nammd.Tolerance.from_reference(reference, accepted, groups=groups, anyway=True))
    assert found["opened"] == 1 + (2 if several else 1)
    assert found["gathered"] == 1  # the accepted data; of copies of the reference means are enough
    assert found.reads("the reference") == 2  # to fit the encoding; and for points, counts and groups
    assert all(found.reads(name) == 1 for name in ("ab" if several else ["accepted"]))


def test_what_is_about_as_far_is_summed_in_one_run(counted):
    found = counted(lambda: nammd.Tolerance.from_reference(ONE, THREE))
    assert found.parts() == [
        1 + 1 + 1,  # the distance of the accepted data
        1,  # what these know of each other
        1 + 8 + 8,  # what is negligible: eight copies of some rows
        4 + 10,  # a few rows of the reference, moved three times, among each other and with the accepted data
        1,  # how many rows of the reference are near each other at finer scales
        1
        + 13
        + 13,  # 13 levels of three perturbations: the rows, the copies, and each of these with the rows
    ]


@pytest.mark.parametrize("groups", [None, "user"], ids=["rows", "groups"])
def test_a_tolerance_from_noise_sums_the_reference_once(groups, counted):
    reference = ONE if groups is None else GROUPED[0]
    ladder = {"level": 0.5, "levels": (0.2, 0.5)}
    found = counted(lambda: nammd.Tolerance.from_noise(reference, **ladder, groups=groups, anyway=True))
    assert found["opened"] == 1
    # A copy at a time is in memory; what the level makes, and what is about as far, need means alone.
    assert found["gathered"] == 6
    # What is within the reference, with the first copy; and of rows at finer scales.
    assert sorted(found.parts())[:-2] == [1] * (groups is None) + [2] * 5 + [3]
    assert found.reads("the reference") == 2


@pytest.mark.parametrize("groups", [None, "user"], ids=["rows", "groups"])
def test_a_tolerance_from_splits_reads_the_reference_once_but_for_the_fit(groups, counted):
    reference = ONE if groups is None else GROUPED[0]
    found = counted(
        lambda: nammd.Tolerance.from_split(reference, n_blocks=3, n_splits=2, groups=groups, anyway=True)
    )
    assert found["opened"] == 1
    # Of rows all divisions are made at once; each of groups is about other rows.
    assert (found["divided"], found["gathered"]) == (1, 0 if groups is None else 3 + 2)
    assert found.reads("the reference") == 2


def test_a_check_of_arrays_opens_and_gathers_once(counted_again):
    tolerance = nammd.Tolerance.from_reference(X, Z)
    found = counted_again(lambda: tolerance.check(X, Y))
    # What was accepted is summed with the reference in the same run.
    assert (found["opened"], found["gathered"], found["summed"]) == (2, 1, 1)


@cache
def of_tables():
    return nammd.Tolerance.from_reference(ONE, THREE)


GATES = {
    # Rows of the reference are counted with the tolerance; of groups it keeps no more than totals.
    "accepted": (of_tables, (ONE, TWO), 1, 1, [1 + 1 + 4]),
    # The reference; all pairs that mixtures are made of; and the mixture of each scale, where groups meet.
    "groups": (
        cache(lambda: nammd.Tolerance.from_reference(GROUPED[0], GROUPED[2], groups="user")),
        GROUPED[:2],
        2,
        2 + 5,
        [2, 19, 3, 3, 3, 3, 3],
    ),
    # It is the reference of the check that says what is negligible, when there is one.
    "number": (
        cache(lambda: nammd.Tolerance.at(0.9, space=nammd.Space.fit(ONE), negligible={"shift": 3.0})),
        (ONE, TWO),
        2,
        1,
        [2],
    ),
    "another reference": (
        cache(lambda: nammd.Tolerance.from_reference(TWO, THREE)),
        (ONE, TWO),
        2,
        1,
        [1 + 1 + 4],
    ),
}


@pytest.mark.parametrize(("make", "data", "of_reference", "gathered", "parts"), GATES.values(), ids=GATES)
def test_a_check_reads_each_column_of_the_candidate_once(
    make, data, of_reference, gathered, parts, counted_again
):
    tolerance, (x, y) = make(), data
    found = counted_again(lambda: tolerance.check(x, y))
    assert (found["opened"], found["gathered"]) == (2, gathered)
    assert found.reads("the candidate") == 1
    assert found.reads("the reference") == of_reference


@pytest.mark.parametrize(("make", "data", "of_reference", "gathered", "parts"), GATES.values(), ids=GATES)
def test_further_checks_of_a_gate_read_the_candidate_alone(
    make, data, of_reference, gathered, parts, counted_again
):
    gate = make().with_reference(data[0])
    found = counted_again(lambda: gate.check(data[1]))
    assert (found["opened"], found["gathered"]) == (1, gathered)
    assert found.parts() == parts  # the candidate, and with the reference and all that was accepted
    assert found.reads("the candidate") == 1
    assert found.reads("the reference", (*COMPARED, "land")) == 0


def test_a_column_left_out_is_read_for_its_type_and_for_its_value(counted_again):
    tolerance = of_tables()
    other = table(3, constant="d")
    found = counted_again(lambda: tolerance.check(ONE, other))
    assert found.reads("the candidate", ["land"]) == 2
    assert found.reads("the reference", ["land"]) == 1


def test_words_read_no_more_than_the_columns_that_are_told_of(counted_again):
    tolerance = of_tables()
    verdicts = []
    found = counted_again(lambda: verdicts.append(tolerance.check(ONE, table(9, 3.0))))
    assert [each.name for each in verdicts[-1].details.beyond] == ["age"]
    found.again()
    assert "higher" in str(verdicts[-1])
    assert [name for _, name in found.calls["values"]] == ["age", "age"]


def test_a_distance_to_a_gate_counts_no_columns(counted_again):
    gate = of_tables().with_reference(ONE)
    found = counted_again(lambda: gate.distance(TWO))
    assert found.reads("the candidate") == 1
    assert found.reads("the candidate", ["land"]) == 0


def test_a_table_on_a_cluster_is_passed_over_once_for_all_of_its_columns(counted_again):
    dd = pytest.importorskip("dask.dataframe")
    tolerance = of_tables()
    x, y = (dd.from_pandas(each.to_pandas(), npartitions=3) for each in (ONE, TWO))
    gate = tolerance.with_reference(x)
    found = counted_again(lambda: gate.check(y))
    assert found["opened"] == 1
    # The sizes of the partitions, all columns, and the types in the first of the partitions.
    assert found["passes"] == 3


def test_a_sketch_is_made_in_one_reading_and_checked_without_any(counted_again):
    space = nammd.Space.fit(ONE)
    tolerance = nammd.Tolerance.at(0.02, space=space)
    sketches = []
    found = counted_again(lambda: sketches.append(nammd.Sketch.of(TWO, space=space)))
    assert found["opened"] == 1
    assert found.reads("x") == 1
    found.again()
    tolerance.check(*sketches)
    assert (found["opened"], found["gathered"], found["summed"], found["values"]) == (2, 1, 0, 0)


@pytest.mark.parametrize("groups", [None, "user"], ids=["rows", "groups"])
def test_a_monitor_opens_and_reads_a_batch_once(groups, tmp_path, counted_again):
    x, y, accepted = (ONE, TWO, THREE) if groups is None else GROUPED
    tolerance = nammd.Tolerance.from_reference(x, accepted, groups=groups, anyway=True)
    monitor = nammd.Monitor.create(tmp_path / "a.monitor", tolerance, x)
    keys = iter("ab")
    found = counted_again(lambda: monitor.add(y, key=next(keys), replace=True))
    assert (found["opened"], found["gathered"]) == (1, 1 if groups is None else 7)
    assert found.reads("the batch b") == 1


@pytest.fixture
def files(tmp_path):
    for name, data in {"x": ONE, "y": TWO, "z": THREE}.items():
        pyarrow.csv.write_csv(data, tmp_path / f"{name}.csv")
    return [str(tmp_path / f"{name}.csv") for name in "xyz"]


def test_the_command_line_reads_each_file_once(files, tmp_path, capsys):
    x, y, z = files
    made = str(tmp_path / "t.json")

    def ask(*command):
        assert main(list(command)) in (0, 1, 3)

    for command, number, gathered in (
        (("distance", x, y), 2, 1),
        (("rank", x, y, z), 3, 1),
        (("calibrate", x, z, "-o", made, "--force"), 2, 1),
        (("check", x, y, "--tolerance", made), 2, 1),
        (("check", x, y, z, "--tolerance", made), 3, 2),
        (("check", x, y, "--epsilon", "0.02"), 2, 1),
    ):
        with pytest.MonkeyPatch.context() as patch:
            found = Counted(patch)
            ask(*command)
            assert (found["files"], found["gathered"]) == (number, gathered), command
            assert found["opened"] == 0, command  # but by the readers
