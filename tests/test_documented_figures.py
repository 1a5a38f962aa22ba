"""The tables of speed in the documentation are those of the result files; the others are in test_page."""

import pytest
from benchmarks.tables import TABLES, tables

from tests import counts


@pytest.mark.parametrize("name", tables())
def test_tables_are_made_from_result_files(name):
    assert (TABLES / name).read_text(encoding="utf-8") == tables()[name]


def test_what_the_tests_are_made_of_is_counted():
    assert counts.TABLE.read_text("utf-8") == counts.table(), "run: python -m tests.counts"
