"""How two columns go together: classes, tables, mixtures, and which pairs are beyond their tolerances."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm, poisson, spearmanr

import nammd
from nammd.data.opening import open_dataset
from nammd.data.row_grouping import RowGrouping, with_grouping
from nammd.data.values import Values
from nammd.statistics.relation import aligned, difference, relation_of
from nammd.views import classes
from nammd.views import relations as module
from nammd.views.counting import tally_columns
from nammd.views.measure import Measure, measures_of
from nammd.views.negligible import Negligible
from nammd.views.relation_limits import RelationLimits, check_relations
from nammd.views.relations import MOST_PAIRS, RelationCounter, mixed


def people(seed, rows=3000):
    rng = np.random.default_rng(seed)
    height = rng.normal(170, 10, rows)
    city = rng.choice(["Ulm", "Bonn", "Graz"], rows, p=[0.5, 0.3, 0.2])
    country = np.where(city == "Graz", "AT", "DE")
    weight = 0.9 * (height - 100) + rng.normal(0, 6, rows)
    age = rng.integers(18, 80, rows)
    data = pd.DataFrame({"height": height, "weight": weight, "city": city, "country": country, "age": age})
    data.loc[rng.random(rows) < 0.05, "weight"] = np.nan
    return data


def independent(seed, rows=2000):
    return pd.DataFrame(np.random.default_rng(seed).normal(size=(rows, 2)), columns=["a", "b"])


def shuffled(data, name):
    return data.assign(**{name: data[name].sample(frac=1, random_state=0).to_numpy()})


def relations(*data, groups=None):
    """How the columns of a reference go together, and those of other datasets, by its classes."""
    opened = [open_dataset(each, "x") for each in data]
    x, *others = with_grouping(opened, RowGrouping(groups)) if groups is not None else opened
    encoding = nammd.Space.fit(x).encoding
    measures = measures_of(encoding, x)
    first = tally_columns(x, measures, encoding, pairs=True).relations
    if first is None:
        return [None] * len(data)
    return [
        first,
        *(tally_columns(y, measures, encoding, pairs=first.columns).relations for y in others),
    ]


def beyond(reference, candidate, accepted=(), level=0.0125, groups=None, like=None):
    x, y, *others = relations(reference, candidate, *accepted, groups=groups)
    if x is None:
        return ()
    limits = RelationLimits.of(x, Negligible()).accepting({str(k): each for k, each in enumerate(others)})
    return tuple(pair for pair in check_relations(limits, x, y, level, like) if pair.beyond)


def test_a_broken_join_is_named_as_a_pair():
    [pair] = beyond(people(0), shuffled(people(1), "weight"))
    assert pair.names == ("height", "weight")
    assert pair.words().startswith("height and weight no longer go together: rank correlation 0.8")
    assert pair.now == pytest.approx(0, abs=0.1)
    assert pair.change == pytest.approx(0.8, abs=0.1)
    assert pair.change > pair.tolerance == 0.1


def test_labels_that_no_longer_go_together_are_named():
    [pair] = beyond(people(0), shuffled(people(1), "country"))
    assert pair.names == ("city", "country")
    assert "association 1.00 -> 0.0" in pair.words()


def test_a_relation_that_only_grew_or_turned_is_not_gone():
    one, other = independent(1), independent(2)
    one["b"] += one["a"]
    other["b"] -= other["a"]
    [pair] = beyond(one, other)
    assert pair.words().startswith("a and b go together differently: rank correlation 0.6")


def test_columns_that_change_alone_are_no_pair():
    candidate = people(1).assign(height=lambda d: np.exp(d["height"] / 9), age=lambda d: d["age"] // 2)
    assert beyond(people(0), candidate) == ()


def test_data_like_the_reference_have_no_pairs():
    for seed in range(1, 6):
        assert beyond(people(0), people(seed, 1000)) == ()


def visits(seed, persons=300):
    """Several rows of each person, all alike but for the age."""
    data = people(seed, persons)
    rng = np.random.default_rng(seed + 500)
    chosen = np.repeat(np.arange(persons), rng.integers(1, 20, persons))
    rows = data.iloc[chosen].assign(person=[f"{seed}-{k}" for k in chosen])
    return rows.assign(age=rng.integers(18, 80, len(rows))).reset_index(drop=True)


def test_pairs_are_looked_for_by_groups():
    """Their noise is that of groups: five times that of as many rows by themselves, or more."""
    by_groups, by_rows = (
        relations(visits(0), groups="person")[0],
        relations(visits(0).drop(columns="person"))[0],
    )
    pair = by_groups.columns.pairs.index(("height", "weight"))
    assert by_groups.relation([pair]).noise[0] > 5 * by_rows.relation([pair]).noise[0]
    assert by_groups.kept().sizes[pair] < by_rows.sizes[pair] / 5
    assert not any(beyond(visits(0), visits(seed), groups="person") for seed in range(1, 6))
    broken = shuffled(visits(1), "weight")
    named = {pair.names for pair in beyond(visits(0), broken, groups="person")}
    assert ("height", "weight") in named
    assert relations(visits(0).drop(columns="person"), broken, groups=nammd.TimeBlocks(length=10)) == [
        None,
        None,
    ]


def test_weights_count():
    """Rows that count twice are as rows that are there twice."""
    data = people(3, 400)
    twice = pd.concat([data, data.iloc[:200]], ignore_index=True)
    weighted = data.assign(w=np.repeat([2.0, 1.0], 200))
    one = relations(twice)[0]
    space = nammd.Space.fit(weighted.drop(columns="w"))
    measures = measures_of(space.encoding, open_dataset(weighted, "x"))
    [dataset] = with_grouping([open_dataset(weighted, "x")], RowGrouping(None, "w"))
    two = tally_columns(dataset, measures, space.encoding, pairs=one.columns).relations
    assert two.grouped is not None
    # Ranks are those of rows, whatever these count, so tables of numbers are only nearly the same.
    assert np.abs(one.tables - two.tables).max() < 0.03
    labels = one.columns.pairs.index(("city", "country"))
    assert two.tables[labels] == pytest.approx(one.tables[labels], abs=1e-12)


def counted_things(seed, persons=100, visits=3, more=0.0, correlation=0.6):
    """Few whole numbers, two of which go together, and several rows of each person."""
    rng = np.random.default_rng([77, seed])
    a = np.repeat(0.8 * rng.normal(size=persons), visits) + 0.6 * rng.normal(size=persons * visits)
    b = correlation * a + np.sqrt(1 - correlation**2) * rng.normal(size=len(a))
    numbers = {name: poisson.ppf(norm.cdf(each + more), 1.2) for name, each in (("a", a), ("b", b))}
    return pd.DataFrame(
        {
            **numbers,
            "c": rng.normal(size=len(a)).round(1),
            "person": [f"{seed}-{k // visits}" for k in range(len(a))],
        }
    )


@pytest.mark.parametrize("more", [0.0, 0.6])
def test_whole_numbers_that_go_together_as_before_are_no_pair(more):
    """A number that occurs often is a class by itself, and how often it occurs is no relation."""
    found = {"groups": 0, "rows": 0}
    for seed in range(6):
        data = counted_things(2 * seed), counted_things(2 * seed + 1, more=more)
        found["groups"] += bool(beyond(*data, groups="person"))
        alone = (counted_things(40 + 2 * seed, 2000, 1), counted_things(41 + 2 * seed, 2000, 1, more))
        found["rows"] += bool(beyond(*(each.drop(columns="person") for each in alone)))
    assert max(found.values()) <= 1


def test_whole_numbers_that_no_longer_go_together_are_a_pair():
    one, other = counted_things(1, 300), counted_things(2, 300, correlation=0.0)
    for groups in ("person", None):
        data = (one, other) if groups else (each.drop(columns="person") for each in (one, other))
        assert [pair.names for pair in beyond(*data, groups=groups)] == [("a", "b")]


def test_rows_in_classes_that_the_other_dataset_has_none_of_are_left_out():
    """Cities that are gone, or new, are a change of the column alone, and missing values too."""
    one, other = people(0), people(1)
    some = other[other["city"] != "Graz"].dropna().reset_index(drop=True)
    assert beyond(one, some) == beyond(some, one) == ()
    assert beyond(one, other.assign(city="Ulm")) == ()
    assert beyond(one.assign(age=np.nan), other) == ()


def test_the_strength_of_numbers_is_their_rank_correlation():
    x = people(0)
    [pair] = [
        pair
        for pair in check_relations(
            RelationLimits.of(relations(x)[0], Negligible()), *relations(x, people(1)), 0.01
        )
        if pair.names == ("height", "weight")
    ]
    for data, found in ((x, pair.before), (people(1), pair.now)):
        there = data.dropna()
        assert found == pytest.approx(spearmanr(there["height"], there["weight"]).statistic, abs=0.02)


def test_a_change_is_about_that_of_a_correlation():
    """As the documentation says: from .6 to .5 it is .099."""
    rng = np.random.default_rng(0)
    samples = []
    for rho in (0.6, 0.5):
        a, noise = rng.normal(size=(2, 200_000))
        samples.append(np.column_stack([a, rho * a + np.sqrt(1 - rho**2) * noise]))
    x, y = relations(*samples)
    [pair] = check_relations(RelationLimits.of(x, Negligible()), x, y, 0.01)
    assert pair.change == pytest.approx(0.099, abs=0.005)


def test_accepted_relations_are_accepted_and_others_are_not():
    """What was accepted in one pair allows nothing in another one."""
    accepted, again = (shuffled(people(seed), "weight") for seed in (1, 2))
    assert beyond(people(0), again)
    assert beyond(people(0), again, [accepted]) == ()
    [pair] = beyond(people(0), shuffled(people(3), "country"), [accepted])
    assert pair.names == ("city", "country")


def test_a_mixture_of_accepted_data_goes_together_as_none_of_them_does():
    """Two clusters have a correlation that neither of them has by itself."""
    low, high, fresh = independent(1), independent(2) + 3, independent(5)
    both = pd.concat([low[:1000], high[:1000]], ignore_index=True)
    fresh[1000:] += 3
    assert beyond(low, fresh)
    assert beyond(low, fresh, [high], like={"reference": 0.5, "0": 0.5}) == ()
    x, y, whole = relations(low, high, both)
    parts = mixed([x, y], [0.5, 0.5], [0])
    assert relation_of(parts).value == pytest.approx(whole.relation([0]).value, abs=0.02)


def test_a_mixture_of_a_sample_with_itself_is_the_sample():
    [x] = relations(people(0))
    for stack in x.stacks:
        whole, parts = x.relation(stack), relation_of(mixed([x, x], [0.3, 0.7], stack))
        assert parts.value == pytest.approx(whole.value, abs=2e-3)


def test_pairs_of_different_shapes_are_worked_out_together_as_one_by_one():
    x, y = relations(*(people(k).assign(shop=people(k).age.mod(11 - k).astype(str)) for k in (0, 1)))
    shapes = {tuple(each.shape for each in x.both(k)) for k in range(len(x.columns.pairs))}
    assert len(x.stacks) < len(shapes)
    for stack in x.stacks:
        [before], now = aligned([x.cells(stack)], y.cells(stack))
        together = difference(relation_of([before]), relation_of([now]))
        for k, found in zip(stack, together, strict=True):
            [before], now = aligned([x.cells([k])], y.cells([k]))
            [alone] = difference(relation_of([before]), relation_of([now]))
            assert found == pytest.approx(alone, rel=1e-12)


def test_a_reference_is_asked_for_its_cells_once(monkeypatch):
    x, *others = relations(people(0), people(1), people(2))
    asked = []
    monkeypatch.setattr(module, "mixed", lambda some, *rest: asked.append(some[0]) or mixed(some, *rest))
    limits = RelationLimits.of(x, Negligible())
    for other in others:
        check_relations(limits, x, other, 0.05)
    assert [each is x for each in asked].count(True) == len(x.stacks)


def test_what_goes_together_in_a_reference_is_worked_out_once_where_classes_are_ranks(monkeypatch):
    x, *others = relations(independent(0), independent(1), independent(2))
    asked = []
    monkeypatch.setattr(module, "relation_of", lambda cells: asked.append(cells) or relation_of(cells))
    limits = RelationLimits.of(x, Negligible())
    found = [check_relations(limits, x, other, 0.05) for other in (*others, *others)]
    assert len(asked) == 3
    assert [each.pvalue for each in found[0]] == [each.pvalue for each in found[2]]


def test_of_very_many_columns_the_most_dependent_pairs_are_looked_at():
    rng = np.random.default_rng(0)
    data = rng.normal(size=(400, 70))
    data[:, 69] = data[:, 3] + 0.5 * rng.normal(size=400)
    [x] = relations(data)
    assert len(x.columns.pairs) == MOST_PAIRS < 70 * 69 // 2
    assert ("3", "69") in x.columns.pairs
    verdict = nammd.Tolerance.from_reference(data).check(data, rng.normal(size=(400, 70)))
    assert "70 columns (1.25 %) and 2000 most dependent pairs (1.25 %)" in str(verdict)


@pytest.mark.parametrize("law", ["numbers", "ties", "copies"])
def test_the_largest_covariances_are_those_of_all_pairs_one_by_one(law, monkeypatch):
    rng = np.random.default_rng(1)
    features = rng.normal(size=(2, 25, 300))
    if law == "ties":
        features = np.round(features)
    if law == "copies":
        features[:, :, 150:] = features[:, :, :150]
    sizes = np.einsum("aki,bkj->ijab", features, features)
    sizes = (sizes**2).sum(axis=(2, 3))[np.triu_indices(300, 1)]
    least = np.sort(sizes)[-500]
    monkeypatch.setattr(module, "MOST_PAIRS", 500)
    monkeypatch.setattr(module, "_COLUMNS_AT_ONCE", 20)
    found = module._largest(features)
    kept = np.zeros((300, 300), bool)
    kept[tuple(np.transpose(found))] = True
    assert len(set(found)) == 500
    assert found == sorted(found)
    assert sizes[kept[np.triu_indices(300, 1)]].min() >= least * (1 - 1e-12)
    monkeypatch.setattr(module, "_error_of_float32", lambda features: np.inf)
    assert module._largest(features) == found


def test_covariances_in_float32_are_as_near_as_they_are_said_to_be():
    rng = np.random.default_rng(2)
    for rows, scale in ((20, 1.0), (500, 1e3), (3, 1e-4)):
        features = scale * rng.normal(size=(2, rows, 100)) + scale
        exact = module._sizes(features, features)
        rough = module._sizes(*[features.astype(np.float32)] * 2)
        assert 0 < np.abs(rough - exact).max() < module._error_of_float32(features)


def summer(seed, rows=1000, start="2026-01-01"):
    """A year in which it is warm in the middle."""
    rng = np.random.default_rng(seed)
    day = rng.integers(0, 365, rows)
    warm = rng.normal(10 - 10 * np.cos(2 * np.pi * day / 365), 3)
    return pd.DataFrame({"when": pd.Timestamp(start) + pd.to_timedelta(day, "D"), "warm": warm})


def test_moments_in_time_go_together_with_others_where_they_are_the_same_ones():
    tolerance = nammd.Tolerance.from_reference(summer(0), summer(1), rows=1000)
    shuffled_days = summer(2).assign(when=lambda d: d["when"].sample(frac=1, random_state=0).to_numpy())
    verdict = tolerance.check(summer(0), shuffled_days)
    assert [pair.names for pair in verdict.details.pairs_beyond] == [("when", "warm")]
    # Later days are others, and what goes together with them is others, too.
    spring = summer(3, start="2027-06-01")
    later = tolerance.check(summer(0), spring)
    assert [column.name for column in later.details.beyond] == ["when"]
    assert later.details.pairs_beyond == ()


def test_a_column_of_which_nearly_all_rows_are_alike_goes_together_with_none():
    """Its classes are one, in which nothing is measured: no number comes of that, and no order is lost."""
    rng = np.random.default_rng(0)

    def pixels(dark, joined):
        x = rng.normal(size=(1000, 4))
        x[:, 1] = joined * x[:, 0] + np.sqrt(1 - joined**2) * x[:, 1]
        x[:, 3] = np.where(rng.random(1000) < dark, 0.0, rng.random(1000))
        return x

    reference, candidate = pixels(0.97, 0.9), pixels(0.9, 0.2)
    x, y = relations(reference, candidate)
    assert (x.unit == 0).sum() == 3
    with np.errstate(all="raise"):
        found = check_relations(RelationLimits.of(x, Negligible()), x, y, 0.05)
    assert found[0].beyond
    assert all(np.isfinite([pair.change, pair.ratio, pair.pvalue]).all() for pair in found)
    assert [pair.ratio for pair in found[1:]] == sorted((pair.ratio for pair in found[1:]), reverse=True)
    assert [pair.pvalue for pair in found if "3" in pair.name] == [1.0] * 3


def test_few_rows_say_nothing():
    assert beyond(people(0, 12), shuffled(people(1, 12), "weight")) == ()


@pytest.mark.parametrize("sizes", [(50, 50), (50, 1000), (1000, 50)])
def test_level_at_what_is_negligible_and_below(sizes):
    """Five columns, a correlation that changes by the tenth that is negligible; 1.25 % are allowed."""
    false, count = 0, 40
    for seed in range(count):
        rng = np.random.default_rng([seed, *sizes])
        samples = []
        for rows, rho in zip(sizes, (0.6, 0.5), strict=True):
            common, own = rng.normal(size=(rows, 1)), rng.normal(size=(rows, 5))
            samples.append(np.sqrt(rho) * common + np.sqrt(1 - rho) * own)
        false += bool(beyond(*samples))
    assert false <= 3  # more have a probability of 0.2 % at this level


def mixed_columns(rng, rows):
    """Columns of every kind, with the same rows."""

    def numbers(values, gaps=0.0):
        values = np.where(rng.random(rows) < gaps, np.nan, values)
        return Values("numeric", np.isnan(values), numbers=values)

    drawn = [numbers(rng.normal(size=rows), gaps) for gaps in (0.0, 0.0, 0.1, 0.1, 0.9, 1.0)]
    drawn += [numbers(rng.poisson(mean, rows).astype(float)) for mean in (1.0, 8.0, 60.0)]
    drawn += [
        numbers(np.where(rng.random(rows) < 0.4, 0.0, rng.normal(size=rows))),
        numbers(np.full(rows, 3.0)),
    ]
    columns = [(Measure(f"n{k}", "numeric", "numbers"), each) for k, each in enumerate(drawn)]
    codes = rng.integers(-1, 3, rows)
    labels = Values("categorical", codes < 0, codes=codes, categories=("a", "b", "c"))
    columns.insert(2, (Measure("label", "categorical", "labels"), labels))
    columns.insert(4, (Measure("id", "categorical", "cells"), labels))
    return columns


@pytest.mark.parametrize("rows", [20, 37, 400, 1500])
def test_columns_are_cut_at_once_as_one_by_one(monkeypatch, rows):
    rng = np.random.default_rng(rows)
    reference, candidate = mixed_columns(rng, rows), mixed_columns(rng, rows)
    alone = RelationCounter(None, None)
    single = [alone.add(*each) for each in reference]
    for at_once in (classes._AT_ONCE, 50):
        monkeypatch.setattr(classes, "_AT_ONCE", at_once)
        together = RelationCounter(None, None)
        made = together.add_all(reference)
        assert [one is None for one in made] == [one is None for one in single]
        found, expected = together.found(), alone.found()
        assert found.columns.pairs == expected.columns.pairs
        assert list(found.quantiles) == list(expected.quantiles)
        for name, quantiles in found.quantiles.items():
            np.testing.assert_array_equal(quantiles, expected.quantiles[name])
            values = {measure.name: values for measure, values in reference}[name]
            plain = np.quantile(values.numbers[~values.missing], classes.LEVELS)
            np.testing.assert_allclose(quantiles, plain, rtol=0, atol=1e-15)
        for one, two in zip(made, single, strict=True):
            if one is not None:
                np.testing.assert_array_equal(one.edges, two.edges)
                np.testing.assert_array_equal(one.shares, two.shares)
                assert (one.labels, one.ranked, one.count) == (two.labels, two.ranked, two.count)
        np.testing.assert_array_equal(found.counts, expected.counts)
        others = [RelationCounter(expected.columns, None) for _ in range(2)]
        others[0].add_all(candidate)
        for each in candidate:
            others[1].add(*each)
        np.testing.assert_array_equal(others[0].found().counts, others[1].found().counts)
