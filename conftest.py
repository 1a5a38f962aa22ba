"""What holds for all tests: examples are doctests, and neither a GPU nor a quick machine is needed."""

import gc
import os
import signal
import sys
import tempfile
from collections.abc import Iterator
from doctest import NORMALIZE_WHITESPACE
from importlib.util import find_spec
from pathlib import Path
from typing import Any

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

# Programs that tests start would each compile the package anew, which takes longer than most of them run.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# Tests of monitors mostly wait until a batch is on the disk, and in memory it is there at once. A container
# may have next to none of it, or allow no programs there, which some tests write.
memory = Path("/dev/shm")
if "TMPDIR" not in os.environ and os.access(memory, os.W_OK):
    room = os.statvfs(memory)
    if room.f_bavail * room.f_frsize > 4 << 30 and not room.f_flag & os.ST_NOEXEC:
        os.environ["TMPDIR"] = tempfile.tempdir = str(memory)

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # So it is in a background job of a shell; programs that tests start and interrupt would not notice.
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Garbage is looked for seldom: there is little of it, and the looking took a twentieth of all tests.
gc.set_threshold(50_000, 20, 100)

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


@pytest.fixture
def on_disk() -> Iterator[Path]:
    """Give an empty folder that is not in memory, for tests in which writing has to take its time."""
    disk = Path("/var/tmp")
    with tempfile.TemporaryDirectory(dir=disk if disk.exists() else None) as folder:
        yield Path(folder)


# Modules with classes of a package that is not here: their examples are run by "make test-integrations".
collect_ignore = [
    f"src/nammd/integrations/{package}.py"
    for package in ("airflow", "great_expectations", "sklearn")
    if find_spec(package) is None
]


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """Look for garbage in what tests make from here on, not in all that was imported and collected.

    That stays to the end: 740 000 objects. A look at them takes a third of a second, after each of 400 files.
    """
    gc.collect()
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[None]:
    """Let what the tests of a file made once go with the last of them, or a worker would hold it all.

    What is left then, mostly modules that were imported on the way, is not looked at again.
    """
    yield
    if nextitem is None or nextitem.path != item.path:
        for made in vars(getattr(item, "module", None) or object).values():
            if hasattr(made, "cache_clear"):
                made.cache_clear()
        gc.collect()
        gc.freeze()


SPREAD = (
    "tests/cli/test_demo.py",
    "tests/statistics/test_estimated_level.py",
    "tests/statistics/test_group_level.py",
)
"""Long files whose tests share nothing, but for those with the same parameters."""

TOGETHER = {
    "docs/cli/": "files of the demo",
    "tests/report/": "results to report on",
    "tests/statistics/test_level.py": "simulated p-values",
    "tests/statistics/test_coverage.py": "simulated p-values",
}
"""What files share with each other; a worker that has one of them has them all."""


def shared_by(nodeid: str) -> str:
    """Return what a test shares with others: its file, unless something is known of that."""
    file, _, name = nodeid.partition("::")
    for start, shared in TOGETHER.items():
        if file.startswith(start):
            return shared
    if file in SPREAD:
        _, bracket, parameters = name.partition("[")
        return f"{file}[{parameters}" if bracket else nodeid
    return file


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """With ``--dist loadfile``, give tests that share fixtures and caches to one worker.

    The marks of ``--dist loadgroup`` would say the same, but version 3.8 of pytest-xdist does not see them
    with version 9.2 of pytest.
    """
    if config.getoption("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadScopeScheduling

    gone = [name for name in (*SPREAD, *TOGETHER) if not (config.rootpath / name).exists()]
    assert not gone, f"tests that share something are not there any more: {gone}"

    class BySharing(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return shared_by(nodeid)

    return BySharing(config, log)


pytest_collect_file = Sybil(
    parsers=[PythonCodeBlockParser(doctest_optionflags=NORMALIZE_WHITESPACE)],
    patterns=["README.md"],
).pytest()
