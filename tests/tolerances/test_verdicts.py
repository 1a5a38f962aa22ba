"""Several candidates against one tolerance."""

import json
import math

import numpy as np
import pytest

import nammd
from nammd.engines import Tiles

KERNEL = nammd.Gaussian(1.5)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(400, 2))
    weeks = {f"week {k}": rng.normal((0.0, 0.3 * k), size=(300, 2)) for k in range(5)}
    return x, weeks


@pytest.fixture(scope="module")
def tolerance():
    return nammd.Tolerance.at(0.02, KERNEL, n_columns=2)


class Counting(Tiles):
    """Tiles that remember how many rows each of their sums was over."""

    def many_sums(self, kernels, *parts):
        self.__dict__.setdefault("asked", []).append([[len(rows) for rows in part] for part in parts])
        return super().many_sums(kernels, *parts)


def test_each_verdict_is_that_of_a_check_alone(data, tolerance):
    x, weeks = data
    found = tolerance.with_reference(x).check_all(weeks)
    assert [entry.name for entry in found] == list(weeks)
    for name, week in weeks.items():
        assert found[name].verdict.to_dict() == tolerance.check(x, week).to_dict()


def test_the_reference_is_summed_once(data, tolerance):
    x, weeks = data
    engine = Counting()
    tolerance.with_reference(x, engine=engine).check_all(weeks)
    within = [part for parts in engine.asked for part in parts if part == [400]]
    assert len(engine.asked) == len(weeks)
    assert len(within) == 1


def test_a_table_is_encoded_once_as_the_reference(data, monkeypatch):
    import pandas as pd

    from nammd.encoding.encoding import Encoding

    x, weeks = data
    frame = pd.DataFrame(x, columns=["a", "b"])
    gate = nammd.Tolerance.from_reference(frame, frame + 0.3).with_reference(frame)
    rows = []
    encode = Encoding.encode

    def counted(self, frame, **options):
        rows.append(frame.rows)
        return encode(self, frame, **options)

    monkeypatch.setattr(Encoding, "encode", counted)
    gate.check_all({name: pd.DataFrame(week, columns=["a", "b"]) for name, week in weeks.items()})
    assert rows.count(400) <= 1


def test_the_worst_comes_before_what_is_better(data, tolerance):
    x, weeks = data
    gate = tolerance.with_reference(x)
    found = gate.check_all(weeks)
    words = [entry.word for entry in found]
    assert words[0] == "CLOSE"
    assert words[-1] == "FAR"
    assert found.worst.name == next(n for n, w in zip(weeks, words, strict=True) if w == "FAR")
    assert found.headline().startswith("FAR: ")
    assert found.tone == "far"
    assert not found.all_close
    near = gate.check_all({"week 0": weeks["week 0"]})
    assert near.all_close
    assert near.headline() == "CLOSE: the candidate is within the tolerance."


def test_an_error_is_worse_than_far_and_keeps_its_place(data, tolerance):
    x, weeks = data
    some = {"far": weeks["week 4"], "wrong": np.zeros((10, 3)), "close": weeks["week 0"]}
    gate = tolerance.with_reference(x)
    with pytest.raises(ValueError, match="candidate 'wrong': "):
        gate.check_all(some)
    found = gate.check_all(some, errors="keep")
    assert [entry.word for entry in found] == ["FAR", "ERROR", "CLOSE"]
    assert found.worst.name == "wrong"
    assert "columns" in found["wrong"].reason
    assert found.counts == {"ERROR": 1, "FAR": 1, "CLOSE": 1}
    assert found.to_dict()["candidates"][1]["error"]["kind"] == "ValueError"


def test_faults_of_the_program_are_not_kept(data, tolerance):
    def broken():
        raise RuntimeError("a fault")

    with pytest.raises(RuntimeError, match="a fault"):
        tolerance.with_reference(data[0]).check_all({"a": broken}, errors="keep")


def test_candidates_are_fetched_when_their_turn_comes(data, tolerance):
    x, weeks = data
    order = []

    def fetch(name):
        order.append(f"read {name}")
        return weeks[name]

    lazily = {name: (lambda name=name: fetch(name)) for name in weeks}
    tolerance.with_reference(x).check_all(
        lazily, progress=lambda done, total, name: order.append(f"{done} of {total} {name}")
    )
    assert order == [line for k, name in enumerate(weeks) for line in (f"{k} of 5 {name}", f"read {name}")]


def test_holm_adjusts_each_direction_for_the_number_of_candidates(data, tolerance):
    x, weeks = data
    gate = tolerance.with_reference(x)
    alone, together = gate.check_all(weeks), gate.check_all(weeks, adjust="holm")
    for side in ("pvalue_close", "pvalue_far"):
        raw = [getattr(entry.verdict, side) for entry in alone]
        found = [getattr(entry.verdict, side) for entry in together]
        running = 0.0
        for step, k in enumerate(np.argsort(raw, kind="stable")):
            running = max(running, min(1.0, (5 - step) * raw[k]))
            assert found[k] == pytest.approx(running, rel=1e-12)
    for entry in together:
        within, beyond = entry.verdict.pvalue_close <= 0.05, entry.verdict.pvalue_far <= 0.05
        assert entry.word == ("FAR" if beyond else "CLOSE" if within else "UNDECIDED")
        assert "Holm" in str(entry.verdict)
        assert "Holm" in entry.verdict.to_dict()["adjusted"]
    assert "Holm" in together.claim()
    assert "Holm" not in str(alone)


def test_holm_can_leave_undecided_what_is_decided_alone(tolerance):
    rng = np.random.default_rng(1)
    x = rng.normal(size=(400, 2))
    gate = tolerance.with_reference(x)
    border = rng.normal((0.0, 1.02), size=(150, 2))
    alone = gate.check(border)
    # The doubtful one must not be the last that Holm's method comes to.
    others = {f"near {k}": border + 1e-9 * k for k in range(20)}
    together = gate.check_all({"border": border, **others}, adjust="holm")
    assert 0.05 / 21 < min(alone.pvalue_far, alone.pvalue_close) <= 0.05
    assert alone.decision != "UNDECIDED"
    assert together["border"].word == "UNDECIDED"
    # What would settle it has to settle it beside the others.
    needed = together["border"].verdict.details.rows_needed
    assert needed is not None
    assert needed[1] > 150


def test_holm_keeps_what_has_no_pvalue_void(data, tolerance):
    x, weeks = data
    found = tolerance.with_reference(x).check_all({"itself": x, **weeks}, adjust="holm")
    assert found["itself"].verdict.details.void
    assert math.isnan(found["itself"].verdict.pvalue_far)
    assert found["itself"].word == "UNDECIDED"
    assert found["itself"].reason


def test_holm_for_one_candidate_changes_nothing_but_words(data, tolerance):
    x, weeks = data
    gate = tolerance.with_reference(x)
    [one] = gate.check_all({"a": weeks["week 2"]}, adjust="holm")
    alone = gate.check(weeks["week 2"])
    assert (one.verdict.pvalue_close, one.verdict.decision) == (alone.pvalue_close, alone.decision)


def test_the_reason_of_far_tells_what_changed_in_the_column_that_matters_most(data):
    import pandas as pd

    rng = np.random.default_rng(3)
    frame = pd.DataFrame(rng.normal(size=(300, 3)), columns=["a", "b", "c"])
    moved = frame.assign(b=rng.normal(2.0, size=300))
    tolerance = nammd.Tolerance.from_reference(frame, frame + rng.normal(0.2, size=frame.shape))
    found = tolerance.with_reference(frame).check_all({"moved": moved})
    assert found["moved"].word == "FAR"
    assert found["moved"].reason == "b: higher at the median, 0.1201 -> 2.137"


def test_sketches_are_checked_together_too(data, tolerance):
    x, weeks = data
    features = nammd.RandomFeatures(KERNEL, 512)
    sketches = {name: nammd.Sketch.of(week, features) for name, week in weeks.items()}
    found = tolerance.with_reference(nammd.Sketch.of(x, features)).check_all(sketches)
    assert found["week 4"].word == "FAR"
    assert found["week 4"].reason == ""


def test_the_result_prints_and_is_json(data, tolerance):
    x, weeks = data
    found = tolerance.with_reference(x).check_all(weeks)
    lines = str(found).splitlines()
    assert len(lines) == 2 + len(weeks) + 1
    assert [line.split()[:2] for line in lines[2:-1]] == [["week", str(k)] for k in range(5)]
    assert json.loads(json.dumps(found.to_dict()))["worst"] == "FAR"
    assert "<table>" in found._repr_html_()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"candidates": {}}, "mapping of names"),
        ({"candidates": 1}, "mapping of names"),
        ({"adjust": "bh"}, "adjust must be one of"),
        ({"errors": "ignore"}, "errors must be one of"),
        ({"alpha": 0.6}, "alpha must be"),
    ],
)
def test_wrong_options_are_refused(data, tolerance, wrong, message):
    gate = tolerance.with_reference(data[0])
    with pytest.raises((TypeError, ValueError), match=message):
        gate.check_all(**({"candidates": data[1]} | wrong))
