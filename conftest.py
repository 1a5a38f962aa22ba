"""Run the examples of the README as doctests, and the GPU's programs on the CPU where there is no GPU."""

import os
from doctest import NORMALIZE_WHITESPACE
from pathlib import Path

from sybil import Sybil
from sybil.parsers.markdown import PythonCodeBlockParser

if not Path("/dev/nvidiactl").exists():
    os.environ.setdefault("TRITON_INTERPRET", "1")  # Triton reads it when it is first imported

pytest_collect_file = Sybil(
    parsers=[PythonCodeBlockParser(doctest_optionflags=NORMALIZE_WHITESPACE)],
    patterns=["README.md"],
).pytest()
