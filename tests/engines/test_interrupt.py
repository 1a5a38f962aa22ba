"""Ctrl-C and errors: the computation ends at once, and nothing is left of it."""

import json
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from scipy.spatial.distance import cdist

import nammd

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")

MINUTES_OF_WORK = """
import json, sys, threading, time, warnings
import numpy as np
import scipy.linalg  # brings a BLAS of its own, before they are counted
from threadpoolctl import threadpool_info, threadpool_limits
import nammd

threads, computation = int(sys.argv[1]), sys.argv[2]
x = np.random.default_rng(0).normal(size=(400_000, 8)).astype("float32")
warnings.simplefilter("ignore", nammd.LongComputationWarning)
threadpool_limits(2, user_api="blas")

def report(done, total):
    if done and not sys.stdout.closed:
        print("working", flush=True)

def blas_threads():
    return [info["num_threads"] for info in threadpool_info() if info["user_api"] == "blas"]

engine = nammd.Tiles(threads=threads, progress=report)
before = blas_threads()
kernels = [nammd.Gaussian(1.0), nammd.Gaussian(2.0)]
try:
    if computation == "sums":
        nammd.kernel_sums(x, x[::-1], kernels[0], engine)
    elif computation == "forms":
        engine.quadratic_forms(kernels[0], x, np.ones((len(x), 20), "float32"))
    else:
        engine.family_forms(kernels, x, np.ones((len(x), 20), "float32"))
except KeyboardInterrupt:
    left = [thread.name for thread in threading.enumerate()]
    print(json.dumps({"threads": left, "blas": blas_threads() == before}), flush=True)
else:
    print("not interrupted")
"""


def interrupt(process, output):
    """Wait for the first word, send Ctrl-C; return the seconds until the end."""
    assert output.readline() != ""
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    sent = time.monotonic()
    process.wait(timeout=60)
    return time.monotonic() - sent


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("computation", ["sums", "forms", "families"])
def test_an_interrupted_computation_ends_at_once_and_leaves_nothing(threads, computation):
    with subprocess.Popen(
        [sys.executable, "-c", MINUTES_OF_WORK, str(threads), computation],
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        seconds = interrupt(process, process.stdout)
        last = process.stdout.read().splitlines()[-1]
    assert seconds < 2
    assert json.loads(last) == {"threads": ["MainThread"], "blas": True}
    assert process.returncode == 0


def test_an_interrupted_command_ends_at_once_and_writes_nothing(tmp_path):
    for name in ("a.npy", "b.npy"):
        np.save(tmp_path / name, np.random.default_rng(0).normal(size=(400_000, 8)).astype("float32"))
    command = ["calibrate", "a.npy", "b.npy", "-o", "tolerance.json", "--threads", "1"]
    with subprocess.Popen(
        [sys.executable, "-m", "nammd", *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
    ) as process:
        note = process.stderr.readline()
        process.send_signal(signal.SIGINT)
        sent = time.monotonic()
        out, err = process.communicate(timeout=60)
        seconds = time.monotonic() - sent
    assert note.startswith("nammd: note: comparing 400,000 ")
    assert "on 1 thread; quicker: --sample N" in note
    assert (process.returncode, out, err) == (130, "", "nammd: interrupted\n")
    assert seconds < 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.npy", "b.npy"]


class FailsOnce(nammd.Kernel):
    """Fails in one tile; all others take some time."""

    bound = 1.0

    def __init__(self):
        self.calls = 0

    def __call__(self, x, y, /):
        self.calls += 1
        if self.calls == 10:
            raise ZeroDivisionError("from a user's kernel")
        time.sleep(0.002)
        return np.exp(-cdist(x, y))


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_an_error_in_one_tile_ends_the_panels_of_all_threads(threads):
    kernel = FailsOnce()
    x = np.random.default_rng(0).normal(size=(4000, 2))
    with pytest.raises(ZeroDivisionError, match="from a user's kernel"):
        nammd.Tiles(10, 10, threads).sums(kernel, (x,))  # a panel has some 400 tiles
    assert kernel.calls < 10 + 4 * threads
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("nammd")]
