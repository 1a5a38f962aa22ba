"""Ctrl-C and errors: the computation ends at once, and nothing is left of it."""

import json
import signal
import subprocess
import sys
import threading

import numpy as np
import psutil
import pytest
from scipy.spatial.distance import cdist

import nammd
from tests.waiting import running, until

resource = pytest.importorskip("resource", reason="signals of POSIX")

MINUTES_OF_WORK = """
import json, sys, threading, warnings
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

engine = nammd.Tiles(4096, 512, threads, progress=report)  # a panel takes seconds, a tile does not
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


def of_children():
    """The seconds of computing of all processes that were started here and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def interrupt(process):
    """Send Ctrl-C; return what the program wrote since, and whether it ended at once.

    That is: it computed for less time than before, which is what it took to start and to begin with its work.
    In seconds that depends on the machine, and they pass for other programs as well.
    """
    process.send_signal(signal.SIGSTOP)  # it does not compute while this process looks at it
    earlier, used = of_children(), psutil.Process(process.pid).cpu_times()
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGCONT)
    written = process.communicate()
    before = used.user + used.system
    return *written, of_children() - earlier - before < before


@pytest.mark.parametrize(
    ("computation", "threads"), [("sums", 1), ("sums", 2), ("forms", 2), ("families", 2)]
)
def test_an_interrupted_computation_ends_at_once_and_leaves_nothing(computation, threads):
    command = [sys.executable, "-c", MINUTES_OF_WORK, str(threads), computation]
    with running(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "working\n"
        out, _, at_once = interrupt(process)
    assert json.loads(out.splitlines()[-1]) == {"threads": ["MainThread"], "blas": True}
    assert at_once
    assert process.returncode == 0


def test_an_interrupted_command_ends_at_once_and_writes_nothing(tmp_path):
    for name in ("a.npy", "b.npy"):
        np.save(tmp_path / name, np.random.default_rng(0).normal(size=(400_000, 8)).astype("float32"))
    words = ["calibrate", "a.npy", "b.npy", "-o", "tolerance.json", "--threads", "1", "--exact"]
    command = [sys.executable, "-m", "nammd", *words]
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with running(command, cwd=tmp_path, **streams) as process:
        note = process.stderr.readline()
        out, err, at_once = interrupt(process)
    assert note.startswith("nammd: note: comparing 400,000 ")
    assert "on 1 thread; quicker: --sample N" in note
    assert (process.returncode, out, err) == (130, "", "nammd: interrupted\n")
    assert at_once
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.npy", "b.npy"]


class FailsOnce(nammd.Kernel):
    """Fails in its tenth tile; those after it wait until the thread that failed is on to something else."""

    bound = 1.0

    def __init__(self):
        self.calls, self._counting = 0, threading.Lock()
        self._failed, self._went_on = None, threading.Event()

    def __call__(self, x, y, /):
        with self._counting:
            self.calls += 1
            number = self.calls
        if number == 10:
            self._failed = threading.current_thread()
            raise ZeroDivisionError("from a user's kernel")
        if self._failed is threading.current_thread():
            self._went_on.set()
        elif number > 10:
            until(lambda: self._went_on.is_set() or not self._failed.is_alive(), "the end of what failed")
        return np.exp(-cdist(x, y))


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_an_error_in_one_tile_ends_the_panels_of_all_threads(threads):
    kernel = FailsOnce()
    x = np.random.default_rng(0).normal(size=(4000, 2))
    with pytest.raises(ZeroDivisionError, match="from a user's kernel"):
        nammd.Tiles(10, 10, threads).sums(kernel, (x,))  # a panel has some 400 tiles
    # Up to twice as many panels as threads have begun or are waiting; each ends within two tiles.
    assert kernel.calls <= 10 + 4 * threads
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("nammd")]
