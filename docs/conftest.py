"""Run the examples of the Markdown pages as doctests."""

from doctest import NORMALIZE_WHITESPACE

from sybil import Sybil
from sybil.parsers.markdown import PythonCodeBlockParser, SkipParser

collect_ignore_glob = ["conf.py", "_build/*", "api/generated/*"]

pytest_collect_file = Sybil(
    parsers=[PythonCodeBlockParser(doctest_optionflags=NORMALIZE_WHITESPACE), SkipParser()],
    patterns=["*.md"],
    excludes=["_build/*"],
).pytest()
