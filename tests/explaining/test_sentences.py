"""Every kind of sentence: data that produce it, and data that must not."""

import numpy as np
import pytest

from nammd.data.values import Values
from nammd.explaining import sentences
from nammd.explaining.sentences import of_labels, of_missing, of_numbers, quoted, sentence
from nammd.explaining.summaries import LabelSummary, NumberSummary, summary_of_counts, summary_of_values
from nammd.explaining.unit_factors import factor_between
from nammd.views.measure import Measure

RNG = np.random.default_rng(0)
PRICES = np.round(RNG.lognormal(3, 0.4, 4000), 2)
NORMAL = RNG.normal(size=4000)
DAYS = RNG.poisson(9, 4000).astype(float)
NOON = 1.7e9 + 3600 * RNG.integers(0, 24 * 60, 4000).astype(float)


def summary(numbers, clock="", missing=0.0):
    found = summary_of_values(Values("numeric", np.isnan(numbers), numbers=numbers, clock=clock))
    assert isinstance(found, NumberSummary)
    return NumberSummary(found.points, found.rows, found.missing + missing, True, clock)


def told(before, now, name="price", clock=""):
    return of_numbers(name, summary(before, clock), summary(now, clock))


def test_missing_values_are_told_as_shares():
    assert of_missing(summary(PRICES, missing=0.08), summary(PRICES, missing=0.31)) == "missing 8.0 % -> 31 %"
    words = sentence("income", "missing", summary(PRICES, missing=0.08), summary(PRICES, missing=0.31))
    assert words == "income: missing 8.0 % -> 31 %"
    assert "missing" not in sentence("income", "values", summary(PRICES, missing=0.08), summary(PRICES * 1.2))


FIVE = [f"n{k}" for k in range(5)]
LABELS = {
    "'crypto' is new, 8.2 % of rows": (
        {"car": 0.6, "house": 0.4},
        {"car": 0.55, "house": 0.368, "crypto": 0.082},
    ),
    "'boat' is gone, 12 % of rows before": (
        {"car": 0.6, "house": 0.28, "boat": 0.12},
        {"car": 0.66, "house": 0.34},
    ),
    "'yes' 20 % -> 35 %": ({"yes": 0.2, "no": 0.8}, {"yes": 0.35, "no": 0.65}),
    "5 new categories, 20 % of rows": (
        {"a": 0.5, "b": 0.5},
        {"a": 0.4, "b": 0.4} | dict.fromkeys(FIVE, 0.04),
    ),
}


@pytest.mark.parametrize("words", LABELS)
def test_labels_are_told_by_the_one_that_changed_most(words):
    before, now = LABELS[words]
    assert of_labels(LabelSummary(before, 0.0), LabelSummary(now, 0.0)) == words


def test_a_label_that_was_there_is_not_new_and_one_that_is_there_is_not_gone():
    words = of_labels(LabelSummary({"a": 0.9, "b": 0.1}, 0), LabelSummary({"a": 0.7, "b": 0.3}, 0))
    assert words == "'b' 10 % -> 30 %"


def test_missing_labels_are_told_where_they_changed_most_and_only_there():
    before, now = LabelSummary({"a": 0.95}, 0.05), LabelSummary({"a": 0.7}, 0.3)
    assert of_labels(before, now) == "missing 5.0 % -> 30 %"
    before, now = LabelSummary({"a": 0.75, "b": 0.2}, 0.05), LabelSummary({"a": 0.3, "b": 0.6}, 0.1)
    assert "missing" not in of_labels(before, now)


def test_a_column_without_values_says_so():
    nothing = summary_of_values(Values(None, np.ones(5, bool)))
    assert of_numbers("price", summary(PRICES), nothing) == "no values any more"
    assert "any more" not in told(PRICES, PRICES[:5] * 2)


def test_a_constant_is_told_and_nearly_constant_is_not():
    assert told(PRICES, np.full(100, 5.0)) == "now always 5"
    assert "always" not in told(PRICES, np.where(np.arange(4000) % 20 == 0, PRICES, 5.0))


def test_cents_are_told_and_a_rise_is_not():
    assert told(PRICES, 100 * PRICES).startswith("about 100 times as large (cents?)")
    assert told(PRICES, PRICES / 1000).startswith("about 1000 times as small (thousands?)")
    assert "times" not in told(PRICES, 1.5 * PRICES)


@pytest.mark.parametrize(
    ("factor", "hint"),
    [
        (100, "cents"),
        (60, "seconds instead of minutes"),
        (2.54, "centimetres instead of inches"),
        (1 / 1000, "thousands"),
        (1 / 2.204623, "kilograms instead of pounds"),
        (1.609344, "kilometres instead of miles"),
        (10, ""),
    ],
)
def test_factors_of_units_are_recognised(factor, hint):
    found = factor_between(summary(PRICES), summary(factor * PRICES[::2]))
    assert found is not None
    assert found.hint == hint
    assert found.value == pytest.approx(factor, rel=0.01)


@pytest.mark.parametrize("factor", [1.0, 1.3, 5.0, 0.7, 37.0])
def test_other_factors_are_not_those_of_units(factor):
    assert factor_between(summary(PRICES), summary(factor * PRICES)) is None


def test_a_column_that_has_grown_in_part_has_no_other_unit():
    half = np.where(np.arange(4000) % 2 == 0, 100 * PRICES, PRICES)
    assert factor_between(summary(PRICES), summary(half)) is None
    assert factor_between(summary(NORMAL), summary(-100 * NORMAL)) is None
    assert factor_between(summary(NOON, "local"), summary(1000 * NOON, "local")) is None


def test_whole_weeks_are_told_of_days_and_multiples_of_others():
    weeks = 7 * np.round(DAYS / 7)
    assert told(DAYS, weeks, "delivery_days") == "now whole weeks only"
    assert told(DAYS, weeks, "amount") == "now multiples of 7 only"
    assert told(PRICES, np.round(PRICES)) == "now whole numbers only"
    assert told(np.round(PRICES), PRICES) == "no longer whole numbers only"
    assert told(NOON, 86400 * np.round(NOON / 86400), clock="local") == "now whole days only"
    assert "only" not in told(weeks, weeks + 7, "delivery_days")
    assert "only" not in told(DAYS, DAYS + 2, "delivery_days")


def test_a_value_that_became_common_is_told():
    now = np.where(np.arange(4000) % 8 == 0, 0.0, PRICES)
    assert told(PRICES, now) == "0.00 in 12 % of rows, 0 % before"
    assert "in 1" not in told(now, now * 1.3)
    assert "of rows" not in told(np.repeat([1.0, 2.0, 3.0], 100), np.repeat([1.0, 2.0, 3.0], [90, 90, 120]))


def test_a_shift_is_told_in_percent_where_that_means_something():
    assert told(PRICES, np.round(1.07 * PRICES, 2)).startswith("7.0 % higher at the median, ")
    before, now = np.median(PRICES), np.median(np.round(1.07 * PRICES, 2))
    assert told(PRICES, np.round(1.07 * PRICES, 2)).endswith(f"{before:.2f} -> {now:.2f}")
    assert told(PRICES, np.round(0.8 * PRICES, 2)).startswith("20 % lower at the median")
    assert told(NORMAL, NORMAL + 0.5).startswith("higher at the median, ")
    assert told(NOON, NOON + 86400 * 3, clock="local").startswith("3 days later at the median, 2023-")
    assert told(DAYS, DAYS - 3, clock="duration").startswith("shorter at the median")
    assert "median" not in told(NORMAL, 2 * NORMAL)


def test_another_spread_is_told_and_the_same_is_not():
    middle = np.median(NORMAL)
    wider, narrower = (middle + factor * (NORMAL - middle) for factor in (2.0, 0.5))
    assert told(NORMAL, wider).startswith("more spread out, the middle half ")
    assert told(NORMAL, narrower).startswith("less spread out")
    assert "spread" not in told(NORMAL, NORMAL + 1)


def test_values_beyond_the_former_range_are_told():
    now = NORMAL.copy()
    now[:60] = np.linspace(9, 10, 60)
    assert told(NORMAL, now).startswith("1.5 % of rows above ")
    now[:60] -= 20
    assert told(NORMAL, now).startswith("1.5 % of rows below ")
    assert "of rows above" not in told(NORMAL, NORMAL[:2000])


def test_what_has_no_word_of_its_own_is_distributed_differently():
    levels = np.linspace(0, 1, 4001)
    hollow = np.where(np.abs(levels - 0.5) < 0.2, 0.5 + 0.4 * (levels - 0.5), levels)
    assert told(levels, hollow) == "its values are distributed differently"
    assert told(levels, levels + 0.1) != "its values are distributed differently"


def test_counts_tell_nearly_what_rows_do():
    measure = Measure("price", "numeric", "numbers", float(np.median(PRICES)), 8.0)
    before, now = (summary_of_counts(measure.count_numbers(v), measure) for v in (PRICES, 1.07 * PRICES))
    words = sentence("price", "values", before, now)
    assert words.startswith(
        ("price: 7.0 % higher at the median", "price: 6.9 % higher", "price: 7.1 % higher")
    )


def test_long_labels_are_cut():
    assert quoted("x" * 100) == "'" + "x" * 39 + "…'"
    assert sentences.LEAST_SHIFT < 0.1  # what is negligible by default is worth a word where it is named
