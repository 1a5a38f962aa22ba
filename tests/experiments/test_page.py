"""The pages and figures of the documentation are those of the result files.

They are drawn once for all tests here.
"""

import re

import matplotlib
import numpy as np
import pytest
from benchmarks.tables import tables as speeds
from experiments.figures import svg
from experiments.page import DOCS, write
from experiments.section import Picture, table

from experiments import page
from tests import counts

FIGURES = sorted(f"figures/{path.name}" for path in (DOCS / "figures").glob("*.svg"))
TABLES = sorted(f"tables/{path.name}" for path in (DOCS / "tables").iterdir())
PAGES = ["paper.md", "paper-tables.md", "calibration.md", "calibration-tables.md"]
OTHERS = {f"tables/{name}" for name in (*speeds(), counts.TABLE.name)}
"""Tables that the benchmarks and `tests.counts` write."""

KEPT = [*PAGES, *FIGURES, *(set(TABLES) - OTHERS)]


@pytest.fixture(scope="module")
def docs(tmp_path_factory):
    """A folder that the documentation was written into."""
    folder = tmp_path_factory.mktemp("docs")
    assert {path.relative_to(folder).as_posix() for path in write(docs=folder)} == made_in(folder)
    return folder


def made_in(folder):
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("name", sorted(KEPT))
def test_the_documentation_is_made_from_result_files(docs, name):
    kept = (DOCS / name).read_bytes()
    if name.endswith(".svg") and f"matplotlib {matplotlib.__version__}".encode() not in kept:
        pytest.skip("another version of matplotlib draws other bytes")
    made = (docs / name).read_bytes()
    if name.endswith(".svg"):
        assert_drawn_alike(made, kept)
    else:
        assert kept == made, "run: python -m experiments page"


def assert_drawn_alike(one, other):
    """Compare figures up to what depends on the processor: the last digits, and names made of all digits."""
    texts, places = zip(*map(texts_and_places, (one, other)), strict=True)
    assert texts[0] == texts[1], "run: python -m experiments page"
    np.testing.assert_allclose(*places, rtol=0, atol=1e-4)


def texts_and_places(figure):
    for number, name in enumerate(dict.fromkeys(re.findall(rb"(?<=url\(#)p[0-9a-f]{10}(?=\))", figure))):
        figure = figure.replace(name, b"clip%d" % number)
    text = re.split(rb"(-?\d+\.\d+)", figure)
    return text[::2], np.array(text[1::2], dtype=float)


@pytest.mark.parametrize(("old", "new"), [(b"1.3", b"1.4"), (b"#0072b2", b"#0072b3")])
def test_figures_that_differ_are_told_apart(old, new):
    figure = (DOCS / "figures/dirac.svg").read_bytes()
    assert_drawn_alike(figure, figure)
    with pytest.raises(AssertionError):
        assert_drawn_alike(figure, figure.replace(old, new, 1))


def test_all_is_kept_and_no_figure_or_table_is_left_over(docs):
    assert made_in(docs) == set(KEPT)


def test_no_table_is_made_twice(docs):
    assert not made_in(docs) & OTHERS


def test_writing_a_second_time_changes_nothing_and_another_time_what_is_new(docs, monkeypatch, tmp_path):
    same = {name: (docs / name).read_bytes() for name in made_in(docs)}
    monkeypatch.setattr(page, "pages", lambda folder: same)
    assert write(docs=docs) == []
    assert {path.relative_to(tmp_path).as_posix() for path in write(docs=tmp_path)} == set(same)
    monkeypatch.setattr(page, "pages", lambda folder: same | {"paper.md": b"new"})
    assert write(docs=tmp_path) == [tmp_path / "paper.md"]


def test_figures_have_the_same_bytes_every_time():
    picture = Picture("name", "A line.", lambda figure: figure.subplots().plot([1, 3, 2]))
    drawn = svg(picture)
    assert drawn == svg(picture)
    assert b"<svg" in drawn


def test_tables_are_markdown():
    assert table(["a", "b"], [["1", "2"]]) == "| a | b |\n| --- | --- |\n| 1 | 2 |\n"
