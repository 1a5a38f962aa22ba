"""The one rule of the page, and that the page can be read."""

import re

import pytest
from experiments.overview import PROTOCOLS, chi_squared, claim, numbers, sign_test
from experiments.page import DOCS
from experiments.registry import experiments
from experiments.section import Compared, Section


def compared(*scores):
    return [Compared({"mean": 0.5 + 0.01 * score, "se": 0.01}, 0.5, 0.0, 6) for score in scores]


def test_four_values_that_are_all_high_are_no_agreement():
    scores = [1.7, 1.7, 1.7, 1.7]
    assert numbers(compared(*scores)).startswith("4 of 4; χ² p=0.02")
    assert chi_squared(scores) == pytest.approx(0.0207, abs=1e-3)
    assert sign_test(scores) == pytest.approx(0.125)
    assert sign_test([1.7, -1.7, 1.7, -1.7]) == 1.0
    assert numbers([]) == "–"


def test_there_is_no_verdict_on_other_data():
    section = Section("", "agrees", "")
    assert claim("bandwidth", section) == "holds"
    assert claim("domains", section) == "not testable here"


def test_every_experiment_has_a_protocol():
    assert set(PROTOCOLS) == {e.name for e in experiments().values() if e.page == "paper"}


def test_the_page_can_be_read():
    text = (DOCS / "paper.md").read_text(encoding="utf-8")
    assert len(text.split()) <= 6000
    first = text.partition("## Overview")[0]
    assert len(first.split()) < 300
    assert first.index("random denominator") < 200
    assert not re.search(r"\bquick\b|\bfull settings\b", text, re.IGNORECASE)
