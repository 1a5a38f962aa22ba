"""Run the examples of the README as doctests, and the GPU's programs on the CPU where there is no GPU."""

import os
import signal
from doctest import NORMALIZE_WHITESPACE
from pathlib import Path

from sybil import Sybil
from sybil.parsers.markdown import PythonCodeBlockParser

if not Path("/dev/nvidiactl").exists():
    os.environ.setdefault("TRITON_INTERPRET", "1")  # Triton reads it when it is first imported

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # So it is in a background job of a shell; programs that tests start and interrupt would not notice.
    signal.signal(signal.SIGINT, signal.default_int_handler)

pytest_collect_file = Sybil(
    parsers=[PythonCodeBlockParser(doctest_optionflags=NORMALIZE_WHITESPACE)],
    patterns=["README.md"],
).pytest()
