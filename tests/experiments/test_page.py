"""The pages and figures of the documentation are those of the result files."""

import matplotlib
import pytest
from benchmarks.tables import tables as speeds
from experiments.figures import svg
from experiments.page import DOCS, pages, write
from experiments.section import Picture, table

PAGES = pages()


@pytest.mark.parametrize("name", PAGES)
def test_the_documentation_is_made_from_result_files(name):
    kept = (DOCS / name).read_bytes()
    if name.endswith(".svg") and f"matplotlib {matplotlib.__version__}".encode() not in kept:
        pytest.skip("another version of matplotlib draws other bytes")
    assert kept == PAGES[name], "run: python -m experiments page"


def test_no_figure_is_left_over():
    figures = {f"figures/{path.name}" for path in (DOCS / "figures").glob("*.svg")}
    assert figures == {name for name in PAGES if name.startswith("figures/")}


def test_no_table_is_left_over():
    kept = {f"tables/{path.name}" for path in (DOCS / "tables").iterdir()}
    made = {name for name in PAGES if name.startswith("tables/")} | {f"tables/{name}" for name in speeds()}
    assert kept == made


def test_no_table_is_made_twice():
    assert not set(PAGES) & {f"tables/{name}" for name in speeds()}


def test_writing_a_second_time_changes_nothing(tmp_path):
    assert {path.relative_to(tmp_path).as_posix() for path in write(docs=tmp_path)} == set(PAGES)
    assert write(docs=tmp_path) == []


def test_figures_have_the_same_bytes_every_time():
    picture = Picture("name", "A line.", lambda figure: figure.subplots().plot([1, 3, 2]))
    assert svg(picture) == svg(picture)
    assert b"<svg" in svg(picture)


def test_tables_are_markdown():
    assert table(["a", "b"], [["1", "2"]]) == "| a | b |\n| --- | --- |\n| 1 | 2 |\n"
