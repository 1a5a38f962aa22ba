"""The rest of the model: words, rows, profiles and the map, for all kinds of data."""

from __future__ import annotations

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import nammd
from nammd.explaining.writing import percent, readable
from nammd.report import build
from nammd.report.builder import principal
from nammd.report.profiles import histogram
from nammd.report.source import evenly
from tests.report.cases import estimate, estimate_model, people, shifted, shifted_model


def test_the_rows_shown_are_those_with_the_largest_witness_values():
    result = shifted().estimate
    for table, witness, raw in zip(
        shifted_model().examples,
        (result.witness_x, result.witness_y),
        (shifted().details.reference, shifted().details.candidate),
        strict=True,
    ):
        expected = np.argsort(-witness, kind="stable")[:5]
        assert [row.position for row in table.rows] == expected.tolist()
        assert [row.witness for row in table.rows] == witness[expected].tolist()
        city, age = table.columns.index("city"), table.columns.index("age")
        assert [row.cells[city] for row in table.rows] == raw.city.iloc[expected].tolist()
        assert [row.cells[age] for row in table.rows] == raw.age.iloc[expected].astype(str).tolist()


def test_the_typical_values_are_those_of_the_other_dataset():
    table = shifted_model().examples[0]
    other = shifted().details.candidate
    typical = dict(zip(table.columns, table.typical, strict=True))
    assert (table.dataset, table.other) == ("reference", "candidate")
    assert typical["income"] == readable(float(other.income.median()))
    assert typical["city"] == other.city.mode()[0]
    assert typical["joined"].startswith("2024-")


def test_the_answer_is_the_verdict_in_words():
    answer = shifted_model().answer
    assert (answer.word, answer.tone) == ("FAR", "far")
    assert f"FAR: {answer.sentence[0].lower()}{answer.sentence[1:]}" == shifted().headline()
    assert answer.advice == shifted().advice()


@pytest.mark.parametrize(
    ("epsilon", "alternative", "word", "tone"),
    [
        (0.9, "less", "CLOSE", "close"),
        (0.001, "greater", "FAR", "far"),
        (0.9, "greater", "NOT PROVEN", "undecided"),
    ],
)
def test_a_closeness_test_has_a_word_of_its_own(epsilon, alternative, word, tone):
    x, y = estimate().data
    result = nammd.closeness_test(x, y, epsilon=epsilon, alternative=alternative)
    model = build(result)
    assert (model.answer.word, model.answer.tone) == (word, tone)
    assert model.answer.sentence == result.headline()
    assert (model.distance.epsilon, model.distance.limit) == (epsilon, "margin")


def test_the_distance_is_that_of_the_result():
    distance, verdict = shifted_model().distance, shifted()
    assert distance.measured.value == verdict.distance
    assert (distance.measured.low, distance.measured.high) == verdict.confidence_interval()
    assert dict(distance.pvalues) == {
        "within tolerance": verdict.pvalue_close,
        "beyond tolerance": verdict.pvalue_far,
    }


def test_the_code_that_reproduces_a_result_does_so():
    x, y = estimate().data
    for result in (
        nammd.distance(x, y, metric="mmd2"),
        nammd.paper.closeness_test(x, y, 0.2, alternative="less", alpha=0.1, variance="delta", cross="full"),
    ):
        code, _, last = build(result).reproduce.rpartition("\n")
        assert last == 'result.report("report.html")'
        scope = {"x": x, "y": y}
        exec(code, scope)
        assert scope["result"].to_dict() == result.to_dict()


def test_the_settings_name_sizes_kernel_digests_and_versions():
    settings = dict(shifted_model().settings)
    assert settings["rows"] == "400 in the reference, 350 in the candidate"
    assert settings["kernel"] == "Gaussian, bandwidth 2.5"
    assert settings["computed"] == "on the cores of this machine"
    assert len(settings["digest of the reference"]) == 16
    assert f"nammd {nammd.__version__}" in settings["this report made with"]


def test_pandas_polars_and_arrow_give_the_same_report():
    models = []
    for convert in (lambda t: t, pl.from_pandas, pa.Table.from_pandas):
        x, y = convert(people(60, 1)), convert(people(50, 2))
        models.append(build(nammd.Tolerance.at(0.1, nammd.Gaussian(2.0), x=x).check(x, y)))
    first, *others = models
    for other in others:
        assert other.examples == first.examples
        for mine, theirs in zip(first.contributions.columns, other.contributions.columns, strict=True):
            assert (mine.name, mine.alone, mine.adjusted, mine.values) == (
                theirs.name,
                theirs.alone,
                theirs.adjusted,
                theirs.values,
            )


@pytest.mark.parametrize("rows", [4, 5, 20])
def test_tiny_data_have_a_report(rows):
    rng = np.random.default_rng(rows)
    table = build(nammd.distance(rng.normal(size=(rows, 2)), rng.normal(size=(4, 2)))).examples[0]
    assert len(table.rows) == min(rows, 5)


def test_constant_data_have_a_report():
    x = np.ones((10, 2))
    model = build(nammd.distance(x, x.copy(), kernel=nammd.Gaussian(1.0)))
    assert model.contributions.tested == 0
    assert model.map is None


def test_a_column_that_is_all_missing_in_the_candidate_is_shown_as_such():
    x, y = people(60, 1), people(50, 2)
    y["income"] = np.nan
    y["city"] = pd.Series([None] * len(y), dtype=object)
    model = build(nammd.Tolerance.at(0.1, nammd.Gaussian(2.0), x=x).check(x, y))
    parts = {part.name: part for part in model.contributions.columns}
    assert parts["income"].profile.missing[1] == 1.0
    assert parts["income"].values[0][2] == "–"
    assert dict(zip(parts["city"].profile.labels, parts["city"].profile.y, strict=True))["missing"] == 1.0
    income = model.examples[1].columns.index("income")
    assert all(row.cells[income] is None for row in model.examples[1].rows)


def test_days_durations_and_hours_are_written_as_such():
    rng = np.random.default_rng(1)

    def table(rows):
        days = rng.integers(0, 900, rows)
        return pd.DataFrame(
            {
                "day": [datetime.date(2020, 1, 1) + datetime.timedelta(days=int(d)) for d in days],
                "took": pd.to_timedelta(rng.integers(10, 5000, rows), unit="s"),
                "at": pd.to_datetime("2024-05-05 08:00")
                + pd.to_timedelta(rng.integers(0, 9000, rows), unit="s"),
            }
        )

    x, y = table(40), table(40)
    model = build(nammd.Tolerance.at(0.1, nammd.Gaussian(2.0), x=x).check(x, y))
    parts = {part.name: part for part in model.contributions.columns}
    assert len(parts["day"].profile.low) == len("2020-01-01")
    assert parts["took"].profile.low.count(":") == 2
    assert parts["at"].profile.low.startswith("2024-05-05 ")


def test_arrays_in_a_verdict_have_numbered_columns_and_their_own_values():
    rng = np.random.default_rng(2)
    x, y = rng.normal(size=(40, 3)), rng.normal(size=(40, 3))
    tolerance = nammd.Tolerance.from_reference(x, y + 1, space={"column_weights": {"1": 0.0, "2": 3.0}})
    model = build(tolerance.check(x, y))
    table = model.examples[0]
    assert table.columns == ("column 0", "column 2")
    assert table.rows[0].cells[1] == readable(x[table.rows[0].position, 2])
    assert model.left_out == (("1", "weight 0"),)


def test_arrays_of_another_library_are_brought_home():
    xp = pytest.importorskip("array_api_strict")
    x, y = estimate().data
    model = build(nammd.distance(xp.asarray(x), xp.asarray(y), kernel=nammd.Gaussian(1.7)))
    assert [p.name for p in model.contributions.columns] == [
        p.name for p in estimate_model().contributions.columns
    ]
    assert model.examples[0].rows[0].position == estimate_model().examples[0].rows[0].position


def test_the_map_is_a_principal_component_analysis_coloured_by_witness():
    rows = np.random.default_rng(3).normal(size=(200, 4)) * [3.0, 1.0, 0.1, 0.1] + 7
    coordinates, shares = principal(rows)
    values, vectors = np.linalg.eigh(np.cov(rows, rowvar=False))
    assert shares == pytest.approx(tuple(values[:-3:-1] / values.sum()))
    expected = np.abs((rows - rows.mean(0)) @ vectors[:, :-3:-1])
    np.testing.assert_allclose(np.abs(coordinates), expected, atol=1e-10)
    model = estimate_model()
    np.testing.assert_array_equal(model.map.witness_x, estimate().witness_x)
    np.testing.assert_array_equal(model.map.witness_y, -estimate().witness_y)


def test_data_that_vary_in_one_dimension_have_no_map():
    line = np.arange(20.0)
    assert principal(np.column_stack([line, 2 * line]))[0] is None
    assert principal(line[:, None])[0] is None


def test_every_value_is_counted_in_a_histogram_and_an_outlier_does_not_flatten_it():
    x = np.concatenate([np.random.default_rng(4).normal(size=500), [1e9]])
    y = np.random.default_rng(5).normal(size=400)
    drawn = histogram(x, y, readable)
    assert drawn.x.sum() == pytest.approx(1.0)
    assert drawn.y.sum() == pytest.approx(1.0)
    assert drawn.edges[-1] < 10


def test_few_values_have_a_bar_each_and_whole_numbers_no_gaps():
    few = histogram(np.array([0.0, 1.0, 1.0, 5.0]), np.array([5.0, 5.0]), readable)
    assert few.x.tolist() == [0.25, 0.5, 0.25]
    assert few.y.tolist() == [0.0, 0.0, 1.0]
    uniform = np.arange(0.0, 53.0).repeat(20)
    drawn = histogram(uniform, uniform, readable)
    assert drawn.x.min() > 0.5 * drawn.x.max() > 0


def test_large_tables_are_profiled_on_evenly_spaced_rows(monkeypatch):
    monkeypatch.setattr("nammd.report.source.PROFILE_ROWS", 25)
    x = pd.DataFrame({"k": np.arange(100.0) % 50 + 0.5, "c": ["a", "b"] * 50})
    model = build(nammd.Tolerance.at(0.1, nammd.Gaussian(1.0), x=x).check(x, x))
    bars = next(p for p in model.contributions.columns if p.name == "c").profile
    positions = evenly(100, 25)
    assert dict(zip(bars.labels, bars.x, strict=True))["a"] == np.mean(positions % 2 == 0)


def test_progress_is_told_of_every_step_and_of_the_end():
    heard = []
    build(estimate(), progress=lambda done, total, what: heard.append((done, total, what)))
    assert [done for done, *_ in heard] == list(range(6))
    assert {total for _, total, _ in heard} == {5}
    assert heard[1][2] == "column 1"  # the one that differs most


def test_rows_that_stand_out_carry_what_they_are_known_by():
    x, y = people(60, 1), people(50, 2, income=4_000)
    x.insert(0, "order", [f"A-{k:04d}" for k in range(60)])
    y.insert(0, "order", [f"B-{k:04d}" for k in range(50)])
    model = build(nammd.Tolerance.at(0.002, nammd.Gaussian(2.5), x=x).check(x, y))
    for table, start in zip(model.examples, "AB", strict=True):
        [(name, cells)] = table.identifiers
        assert name == "order"
        assert list(cells) == [f"{start}-{row.position:04d}" for row in table.rows]
        assert "order" not in table.columns
    assert all(table.identifiers == () for table in shifted_model().examples)


def test_files_are_named_with_rows_and_digests_and_the_code_reads_them(tmp_path):
    for name, seed in (("train", 1), ("today", 2)):
        people(60, seed).to_csv(tmp_path / f"{name}.csv", index=False)
    x, y = tmp_path / "train.csv", tmp_path / "today.csv"
    verdict = nammd.Tolerance.at(0.002, nammd.Gaussian(2.5), x=x).check(x, y)
    first, second = build(verdict).answer.files
    assert (first.role, first.path, first.rows) == ("reference", str(x), 60)
    assert (second.path, len(second.digest)) == (str(y), 16)
    made = {}
    exec(verdict.details.reproduction().rsplit("\n", 1)[0], made)
    assert made["verdict"].distance == verdict.distance
    assert shifted_model().answer.files[0].path == "data in memory"


def test_other_results_are_refused_with_a_sentence():
    x, y = estimate().data
    with pytest.raises(TypeError, match=r"a report needs the result of .*, not TwoSampleResult"):
        build(nammd.two_sample_test(x, y, permutations=9, rng=0))


def test_shares_are_written_for_people():
    assert [percent(v) for v in (0.0, 0.0001, 0.05, 0.5, 1.0)] == ["0 %", "< 0.1 %", "5.0 %", "50 %", "100 %"]
