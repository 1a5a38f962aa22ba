"""A reference that is not the one of the tolerance is held against that one first."""

import json

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import nammd
from nammd.cli import main


def people(seed, rows=600, age=40.0, city=0.5, missing=0.0):
    rng = np.random.default_rng(seed)
    ages = pa.array(rng.normal(age, 12, rows), mask=rng.random(rows) < missing)
    cities = rng.choice(["Ulm", "Bonn"], rows, p=[city, 1 - city])
    return pa.table({"age": ages, "income": rng.normal(3e4, 8e3, rows), "city": cities})


OWN = people(0)
TOLERANCE = nammd.Tolerance.from_reference(OWN, people(9, age=44.0), scales="median")


def codes(verdict):
    return [caution.code for caution in verdict.cautions]


def test_the_reference_of_the_tolerance_is_not_asked():
    verdict = TOLERANCE.check(OWN, people(1))
    assert verdict.decision == "CLOSE"
    assert verdict.details.other_reference == ()
    assert "other-reference" not in codes(verdict)


def test_one_like_it_is_as_good():
    for reference in (people(2), OWN.take(np.random.default_rng(0).permutation(600)), OWN.slice(0, 400)):
        verdict = TOLERANCE.check(reference, people(1))
        assert verdict.details.other_reference == ()
        assert verdict.decision == "CLOSE"
        assert "other-reference" in codes(verdict)


def test_one_like_accepted_data_is_as_good():
    assert TOLERANCE.check(people(2, age=44.0), people(1, age=44.0)).details.other_reference == ()


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"age": 60.0}, "age: 54 % higher at the median"),
        ({"city": 0.8}, "city: "),
        ({"missing": 0.2}, "age: "),
    ],
    ids=["numbers", "labels", "missing"],
)
def test_nothing_is_close_to_another_population(changed, words):
    """The candidate is like the reference that was given, which is not like that of the tolerance."""
    verdict = TOLERANCE.check(people(3, **changed), people(4, **changed))
    assert verdict.decision == "UNDECIDED"
    assert not verdict.is_close
    assert verdict.details.other_reference[0].startswith(words)
    unlike = "UNDECIDED: the reference given is not like the one of the tolerance: "
    assert str(verdict).startswith(unlike + words)
    assert "Give the reference that the tolerance was made from" in verdict.advice()
    assert verdict.details.reason().startswith("another reference: ")
    assert verdict.details.rows_needed is None
    assert verdict.to_dict()["other_reference"] == list(verdict.details.other_reference)


def test_what_is_far_stays_far_and_says_it():
    verdict = TOLERANCE.check(people(3, age=60.0), OWN)
    assert verdict.decision == "FAR"
    assert "but the reference given is not like the one of the tolerance: age" in verdict.headline()


def test_many_candidates_and_adjusted_levels_keep_to_it():
    gate = TOLERANCE.with_reference(people(3, age=60.0))
    found = gate.check_all({f"week {k}": people(10 + k, age=60.0) for k in range(3)}, adjust="holm")
    assert {entry.verdict.decision for entry in found} == {"UNDECIDED"}


def test_where_nothing_is_kept_of_it_only_the_caution_is_given():
    without = nammd.Tolerance.from_reference(OWN, negligible=False)
    verdict = without.check(people(3, age=60.0), people(4, age=60.0))
    assert verdict.details.other_reference == ()
    assert "other-reference" in codes(verdict)
    number = nammd.Tolerance.at(0.05, nammd.Gaussian(1.5), x=OWN)
    assert number.check(people(3, age=60.0), people(4, age=60.0)).details.other_reference == ()


def test_groups_are_compared_as_groups():
    def visits(seed, age=40.0):
        labels = np.repeat(np.arange(120), 5) + 1000 * seed
        return people(seed, age=age).append_column("customer", pa.array(labels))

    tolerance = nammd.Tolerance.from_reference(visits(0), groups="customer")
    assert tolerance.check(visits(2), visits(1)).details.other_reference == ()
    unlike = tolerance.check(visits(3, age=60.0), visits(4, age=60.0))
    assert unlike.decision == "UNDECIDED"
    assert unlike.details.other_reference[0].startswith("age: 54 % higher")


def test_references_without_a_difference_are_hardly_ever_refused():
    gates = (TOLERANCE.with_reference(people(100 + k, 400)) for k in range(20))
    assert not any(gate.check(people(1, 60)).details.other_reference for gate in gates)


def test_the_command_line_says_it(tmp_path, capsys):
    TOLERANCE.save(tmp_path / "t.json")
    for name, table in (("x", people(3, age=60.0)), ("y", people(4, age=60.0))):
        parquet.write_table(table, tmp_path / f"{name}.parquet")
    files = [str(tmp_path / f"{name}.parquet") for name in "xy"]
    assert main(["check", *files, "--tolerance", str(tmp_path / "t.json"), "--json"]) == 3
    [found] = json.loads(capsys.readouterr().out)["candidates"]
    assert found["decision"] == "UNDECIDED"
    assert found["other_reference"][0].startswith("age: 54 % higher")
