"""A column of free text in a check: its own view, and what changed in words."""

from functools import cache

import numpy as np
import pyarrow as pa
import pytest

import nammd
from nammd.data.opening import open_dataset
from nammd.explaining.columns import words_for
from nammd.report import build
from nammd.views.measure import measures_of
from tests.encoding import text_samples

ROWS = 600


@cache
def reviews(seed, returns=0.2):
    return pa.table(text_samples.reviews(ROWS, seed, returns))


@pytest.fixture(scope="module")
def tolerance():
    return nammd.Tolerance.from_reference(reviews(0), reviews(1), space={"text": "hashed"}, scales="median")


def test_texts_about_something_else_are_far_and_the_words_are_named(tolerance):
    reference, complaints = reviews(0), reviews(2, returns=0.5)
    verdict = tolerance.check(reference, complaints)
    assert verdict.is_far
    assert [check.name for check in verdict.details.beyond] == ["review"]
    words = verdict.details.changes["review"]
    assert words.startswith("review: '")
    named = {word.split("'")[1] for word in words.removeprefix("review: ").split(", ")}
    assert named <= {"refund", "return", "money", "label", "unanswered", "complaint"}
    assert words.endswith(" of texts")
    unaware = nammd.Tolerance.from_reference(reference, reviews(1), scales="median")
    assert unaware.check(reference, complaints).is_close


def test_texts_about_the_same_are_close(tolerance):
    assert tolerance.check(reviews(0), reviews(3)).is_close


def test_a_report_shows_the_words_that_changed(tolerance):
    verdict = tolerance.check(reviews(0), reviews(2, returns=0.5))
    [column] = [each for each in build(verdict).contributions.columns if each.name == "review"]
    assert all(label.startswith("texts with ") for label in column.profile.labels)
    assert "texts with refund" in column.profile.labels
    assert max(np.subtract(column.profile.y, column.profile.x)) > 0.1


def words_between(reference, candidate):
    encoding = nammd.Space.fit(reference, text="hashed").encoding
    datasets = [open_dataset(each, "it") for each in (reference, candidate)]
    [measure] = measures_of(encoding, datasets[0])
    return words_for(measure, "labels", *datasets, encoding)


def test_what_changed_in_texts_is_said_in_words():
    before = pa.table({"note": [f"we thank you for order number {k} today" for k in range(300)]})
    now = pa.table({"note": [f"we thank you for order number {k} {'**now**' * (k % 2)}" for k in range(300)]})
    assert words_between(before, now) == (
        "note: 'today' in 100 % -> 0 %, '*' in 0 % -> 50 %, 'now' in 0 % -> 50 % of texts"
    )
    gone = pa.table({"note": [None if k % 3 else text for k, text in enumerate(before["note"].to_pylist())]})
    assert words_between(before, gone) == "note: missing 0 % -> 67 %"
    assert words_between(before, before) == "note: its words are distributed differently"


def test_a_sketch_counts_the_words_and_does_not_name_them(tmp_path):
    reference, complaints = reviews(0), reviews(2, returns=0.5)
    tolerance = nammd.Tolerance.from_reference(reference, space={"text": "hashed"}, scales="median")
    one, two = (nammd.Sketch.of(each, space=tolerance.space) for each in (reference, complaints))
    verdict = tolerance.check(one, two)
    assert "review" in [check.name for check in verdict.details.beyond]
    assert "review: its words are distributed differently" in verdict.details.changes.values()


def test_groups_of_texts_have_a_view_too(tolerance):
    customers = pa.array([k // 3 for k in range(ROWS)])
    reference, complaints = (
        table.append_column("customer", customers) for table in (reviews(0), reviews(2, returns=0.5))
    )
    grouped = nammd.Tolerance.from_reference(
        reference, space={"text": "hashed"}, scales="median", groups="customer", negligible=True
    )
    assert [check.name for check in grouped.check(reference, complaints).details.beyond] == ["review"]
