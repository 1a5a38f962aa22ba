"""Figures: the right things on the right axes, and nothing global touched."""

from __future__ import annotations

import io
import subprocess
import sys

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import nammd
from nammd.questions.ranking import rank
from nammd.report import (
    build,
    column_plot,
    interval_plot,
    ladder_plot,
    map_plot,
    ranking_plot,
    witness_plot,
)
from nammd.tolerances.tolerance import Tolerance
from tests.report.cases import estimate, estimate_model, hostile, people, shifted, shifted_model


def texts(ax: Axes) -> list[str]:
    return [text.get_text() for text in ax.texts]


def legend(ax: Axes) -> list[str]:
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_the_interval_shows_distance_interval_and_tolerance():
    ax = interval_plot(shifted())
    bar, dot = ax.lines[1:]
    assert tuple(bar.get_xdata()) == shifted().confidence_interval()
    assert list(dot.get_xdata()) == [shifted().distance]
    assert ax.lines[0].get_xdata() == [shifted().epsilon] * 2
    assert "tolerance 0.002" in texts(ax)
    assert len(ax.patches) == 1  # close enough; a given tolerance has no uncertainty to draw


def test_the_uncertainty_of_a_tolerance_is_drawn():
    rng = np.random.default_rng(0)
    x, accepted, y = rng.normal(size=(3, 100, 2)) + np.array([0.0, 0.7, 0.1])[:, None, None]
    verdict = Tolerance.from_reference(x, accepted, how="ball").check(x, y)
    assert verdict.details.epsilon_error > 0
    assert len(interval_plot(verdict).patches) == 2


def test_an_estimate_has_no_tolerance_to_draw():
    ax = interval_plot(estimate())
    assert len(ax.lines) == 2
    assert not ax.patches
    assert ax.get_xlim()[0] == 0


def test_a_closeness_test_has_a_margin():
    x, y = estimate().data
    assert "margin 0.2" in texts(
        interval_plot(nammd.closeness_test(x, y, epsilon=0.2, alternative="greater"))
    )


def test_the_witness_plot_shows_all_rows_of_both_datasets():
    ax = witness_plot(shifted())
    assert legend(ax) == ["reference", "candidate"]
    shares = [patch.get_data().values.sum() for patch in ax.patches]
    assert shares == pytest.approx([1.0] * 4)  # an area and an outline each
    assert "candidate" in ax.get_xlabel()
    assert ax.get_ylabel() == "share of rows"


def test_the_column_plot_has_a_line_for_every_column():
    ax = column_plot(shifted_model())
    assert [t.get_text() for t in ax.get_yticklabels()] == [
        part.name for part in shifted_model().contributions.columns
    ]
    assert legend(ax) == ["all columns", "this column alone", "all columns but this one"]
    intervals, points, *_ = ax.collections
    assert len(intervals.get_segments()) == len(points.get_offsets()) == 5
    assert points.get_offsets()[0][0] == shifted_model().contributions.columns[0].alone.value


def test_the_map_shows_both_samples():
    ax = map_plot(estimate_model())
    drawn = [len(c.get_offsets()) for c in ax.collections]
    assert drawn == [120, 0, 90, 0]  # the empty ones are for the legend
    assert legend(ax) == ["first dataset", "second dataset"]
    assert "of the variance" in ax.get_xlabel()


def test_there_is_no_map_of_one_dimension():
    x, y = np.random.default_rng(1).normal(size=(2, 30))
    with pytest.raises(ValueError, match="one dimension only"):
        map_plot(build(nammd.distance(x, y)))


def test_a_ladder_of_noise_has_a_line_for_every_kind_and_marks_the_chosen_rung():
    tolerance = Tolerance.from_noise(people(300, 1), level=2.0, levels=[1.0, 2.0], kind="noise")
    ax = ladder_plot(tolerance)
    assert legend(ax)[:-1] == ["noise", "flips", "missing"]
    assert legend(ax)[-1].startswith("chosen")
    chosen = ax.lines[-2]
    assert (chosen.get_xdata()[0], chosen.get_ydata()[0]) == (2.0, tolerance.epsilon)
    assert list(ax.lines[0].get_xdata()) == [1.0, 2.0]


def test_other_ladders_have_a_row_for_every_distance():
    rng = np.random.default_rng(2)
    x = rng.normal(size=(100, 2))
    accepted = {"week $1$": x + 0.5, "_week_2": rng.normal(size=(90, 2)) + 1}
    ax = ladder_plot(Tolerance.from_reference(x, accepted, how="ball"))
    assert [t.get_text() for t in ax.get_yticklabels()] == ["week $1$", "_week_2"]
    split = ladder_plot(Tolerance.from_split(x, n_splits=3, n_blocks=2))
    assert len(split.get_yticklabels()) == 5
    assert legend(split)[0].startswith("tolerance")


def test_a_given_tolerance_has_a_ladder_without_rungs():
    ax = ladder_plot(Tolerance.at(0.02, nammd.Gaussian(1.0), n_columns=2))
    assert not ax.get_yticklabels()
    assert legend(ax) == ["tolerance 0.02"]


def test_a_ranking_has_the_nearest_first():
    x, a, b = np.random.default_rng(3).normal(size=(3, 60, 2))
    ranking = rank(x, {"far": a + 2, "near": b})
    ax = ranking_plot(ranking)
    assert [t.get_text() for t in ax.get_yticklabels()] == ["near", "far"]
    values = ax.collections[1].get_offsets()[:, 0]
    assert values.tolist() == [e.estimate.value for e in ranking.entries]


PLOTS = [
    (interval_plot, shifted),
    (witness_plot, shifted),
    (column_plot, shifted_model),
    (map_plot, shifted_model),
    (ranking_plot, lambda: rank(np.eye(5), {"a": np.eye(5) + 1, "b": np.eye(5) + 2})),
    (ladder_plot, lambda: shifted().details.tolerance),
]


@pytest.mark.parametrize(("plot", "make"), PLOTS, ids=[plot.__name__ for plot, _ in PLOTS])
def test_every_figure_draws_where_it_is_told_and_changes_nothing_global(plot, make):
    before = dict(mpl.rcParams)
    ax = Figure().add_subplot()
    assert plot(make(), ax=ax) is ax
    own = plot(make())
    own.figure.savefig("/dev/null", format="png")
    assert own.get_xlabel()
    assert dict(mpl.rcParams) == before
    assert "matplotlib.pyplot" not in sys.modules or not sys.modules["matplotlib.pyplot"].get_fignums()


def test_names_from_the_data_are_not_read_as_mathematics():
    drawn = io.StringIO()
    with mpl.rc_context({"svg.fonttype": "none"}):  # letters stay letters
        column_plot(build(hostile())).figure.savefig(drawn, format="svg")
    assert ">$cost$ {{ 7 * 7 }}</text>" in drawn.getvalue()


def run(code: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.strip()


def test_importing_the_package_imports_neither_matplotlib_nor_jinja2():
    code = (
        "import sys, nammd.report; from nammd.report import build; "
        "print(sorted({'matplotlib', 'jinja2', 'pandas', 'polars', 'pyarrow'} & set(sys.modules)))"
    )
    assert run(code) == "[]"


@pytest.mark.parametrize(
    ("module", "call"), [("matplotlib", "interval_plot(e)"), ("jinja2", "write_report(e, 'r')")]
)
def test_a_missing_extra_is_named(module, call):
    code = (
        f"import sys; sys.modules[{module!r}] = None\n"
        "import numpy as np, nammd, nammd.report\n"
        "e = nammd.distance(np.eye(5), np.eye(5))\n"
        f"try: nammd.report.{call}\n"
        "except ImportError as error: print(error)"
    )
    assert "pip install nammd[app]" in run(code)
