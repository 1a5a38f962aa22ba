"""The cluster engine on worker processes: the same results, also when a worker is lost in the middle."""

import logging
import os
import signal
from pathlib import Path

import dask.array as da
import numpy as np
import pytest
from distributed import Client, LocalCluster

import nammd
from tests.waiting import until

X, Y = np.random.default_rng(0).normal(size=(2, 3000, 6))
KERNEL = nammd.Gaussian(2.5)
FIELDS = ("xx_rows", "yy_rows", "xy_rows", "xy_cols", "xx_squares", "yy_squares", "xy_squares", "xy_diagonal")


@pytest.fixture(scope="module")
def client():
    """Two worker processes, whom a nanny brings back."""
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": ":0"}
    with LocalCluster(silence_logs=logging.CRITICAL, **options) as cluster, Client(cluster) as client:
        yield client


@pytest.fixture
def spread():
    return tuple(da.from_array(z, chunks=(500, -1)) for z in (X, Y))


def told_by(engine_told):
    return nammd.Cluster(block_rows=250, progress=engine_told)


def assert_same(sums, expected):
    for field in FIELDS:
        np.testing.assert_array_equal(getattr(sums, field), getattr(expected, field), err_msg=field)


def test_workers_give_the_sums_of_tiles(client, spread):
    told = []
    sums = nammd.kernel_sums(*spread, KERNEL, told_by(lambda done, total: told.append(done / total)))
    expected = nammd.kernel_sums(X, Y, KERNEL)
    for field in FIELDS:
        np.testing.assert_allclose(getattr(sums, field), getattr(expected, field), 1e-10, err_msg=field)
    assert told[0] == 0
    assert told[-1] == 1


def no_pairs_are_left(client):
    """Tell whether the cluster has forgotten all pairs; what nobody wants any more takes it a moment."""
    held = client.run_on_scheduler(lambda dask_scheduler: [str(key) for key in dask_scheduler.tasks])
    return not any("pairs" in key for key in held)


def test_nothing_stays_on_the_workers(client, spread):
    nammd.distance(*spread, kernel=KERNEL, engine=nammd.Cluster(block_rows=1000))
    until(lambda: no_pairs_are_left(client), "the end of all tasks")


def test_the_loss_of_a_worker_in_the_middle_does_not_change_a_bit(client, spread, monkeypatch):
    """It takes its time: the sums are computed twice, and Dask starts another process for the one lost."""
    monkeypatch.setattr("nammd.engines.progress._UPDATE_SECONDS", 0.0)
    undisturbed = nammd.kernel_sums(*spread, KERNEL, told_by(False))
    workers = client.run(os.getpid)
    (lost, victim), killed = next(iter(workers.items())), []

    def told(done, total):
        if 0.1 < done / total < 0.9 and not killed:
            killed.append(done / total)
            os.kill(victim, signal.SIGKILL)

    sums = nammd.kernel_sums(*spread, KERNEL, told_by(told))
    assert killed
    assert_same(sums, undisturbed)

    def replaced():
        # Only the scheduler is asked: who asks the lost worker before it is missed waits half a minute.
        present = set(client.scheduler_info(n_workers=-1)["workers"])
        return len(present) == 2 and lost not in present

    until(replaced, "a worker in the place of the one that was lost")


class Held(nammd.Kernel):
    """Counts the blocks that it is asked for in a file; after so many it waits for another file."""

    bound = 1.0

    def __init__(self, folder, blocks):
        self.counted, self.released, self.blocks = Path(folder, "counted"), Path(folder, "released"), blocks

    def count(self):
        return self.counted.stat().st_size

    def __call__(self, x, y):
        if len(x) > 100:  # not the few rows that it is checked on
            with self.counted.open("ab") as file:
                file.write(b".")
            until(lambda: self.count() < self.blocks or self.released.exists(), "the release of a kernel")
        return np.ones((len(x), len(y)))


def has_more_to_do(dask_worker):
    """Tell whether a worker has tasks that it would begin if it were free."""
    return any(task.state in ("waiting", "ready", "resumed") for task in dask_worker.state.tasks.values())


def is_busy(dask_worker):
    return bool(dask_worker.state.executing_count)


def test_an_interrupted_computation_stops_on_the_workers_too(client, spread, monkeypatch, tmp_path):
    """The workers hold two thirds of the way until the interrupt has got round, however long that takes."""
    monkeypatch.setattr("nammd.engines.progress._UPDATE_SECONDS", 0.0)
    few = tuple(z.rechunk((250, -1)) for z in spread)
    pairs = 2 * 12 * 13 // 2 + 12 * 12
    kernel = Held(tmp_path, blocks=2 * pairs // 3)

    def interrupt(done, total):
        if done:
            raise KeyboardInterrupt

    try:
        with pytest.raises(KeyboardInterrupt):
            nammd.kernel_sums(*few, kernel, nammd.Cluster(block_rows=250, progress=interrupt))
        until(lambda: no_pairs_are_left(client), "the end of all tasks")
        until(lambda: not any(client.run(has_more_to_do).values()), "workers that know of the end")
    finally:
        kernel.released.touch()
    until(lambda: not any(client.run(is_busy).values()), "the end of what had begun")
    assert kernel.count() <= kernel.blocks + 1 < pairs


def test_an_error_on_a_worker_is_that_of_the_data(client):
    bad = np.where(np.arange(3000)[:, None] == 2999, np.nan, X)
    with pytest.raises(ValueError, match="x contains NaN or infinity in 1 of its 3000 rows"):
        nammd.distance(da.from_array(bad, chunks=(500, -1)), Y)


class Failing(nammd.Kernel):
    """Works on the few rows that it is checked on, and not on a block."""

    bound = 1.0

    def __call__(self, x, y):
        if len(x) > 100:
            raise ZeroDivisionError("a kernel that fails")
        return np.ones((len(x), len(y)))


def test_a_kernel_that_fails_on_a_worker_says_so(client, spread):
    with pytest.raises(ZeroDivisionError, match="a kernel that fails"):
        nammd.distance(*spread, kernel=Failing(), engine=told_by(None))
