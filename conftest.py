"""What holds for all tests: examples are doctests, and neither a GPU nor a quick machine is needed."""

import os
import signal
from doctest import NORMALIZE_WHITESPACE
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from sybil import Sybil
from sybil.parsers.markdown import PythonCodeBlockParser

if not Path("/dev/nvidiactl").exists():
    os.environ.setdefault("TRITON_INTERPRET", "1")  # Triton reads it when it is first imported

# Before they are imported: the matrices of tests are small, and where other programs keep the machine busy
# the threads of BLAS and PyTorch wait for each other several times as long as they compute.
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(name, "1")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # So it is in a background job of a shell; programs that tests start and interrupt would not notice.
    signal.signal(signal.SIGINT, signal.default_int_handler)

# How long an example takes, or how long it takes to think of one, is no property of the code.
settings.register_profile(
    "any speed", settings.default, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("any speed")


def pytest_configure(config: pytest.Config) -> None:
    """Let no warning of slowness fail a test; tests of the warning itself ask for it."""
    for slowness in (
        "ignore::nammd.engines.progress.LongComputationWarning",
        "ignore:Creating scratch directories is taking a surprisingly long time",  # Dask, after a second
    ):
        config.addinivalue_line("filterwarnings", slowness)


pytest_collect_file = Sybil(
    parsers=[PythonCodeBlockParser(doctest_optionflags=NORMALIZE_WHITESPACE)],
    patterns=["README.md"],
).pytest()
