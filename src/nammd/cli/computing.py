"""Where a command computes: on this machine's cores, on a GPU, or on a Dask cluster."""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from nammd.cli.options import EngineName, KernelOptions

if TYPE_CHECKING:
    from nammd.cli.data import Inputs
    from nammd.cli.progress import Working
    from nammd.engines import Engine

CONNECT_SECONDS = 5


@contextmanager
def computing(chosen: KernelOptions) -> Iterator[None]:
    """Have a cluster at hand while a command runs, if it asks for one."""
    if chosen.scheduler is not None and chosen.engine is not EngineName.dask:
        raise ValueError("--scheduler is the address of a Dask cluster; give --engine dask with it")
    if chosen.engine is EngineName.cuda:
        _require_cuda()
    if chosen.engine is not EngineName.dask:
        yield
        return
    from nammd.reading.formats import optional

    optional("dask.array", "dask", "--engine dask")
    distributed = optional("distributed", "dask", "--engine dask")
    if chosen.scheduler is not None:
        if chosen.threads is not None:
            raise ValueError("--threads is for this machine; the cluster at --scheduler has its own workers")
        with _connected(distributed, chosen.scheduler):
            yield
        return
    from nammd.data.threads import cpu_count

    with _deaf_to_interrupts():
        cluster = distributed.LocalCluster(
            n_workers=chosen.threads or cpu_count(),
            threads_per_worker=1,
            processes=True,
            dashboard_address=None,  # no dashboard; what else the scheduler serves is for this machine only
            scheduler_kwargs={"dashboard_address": "127.0.0.1:0"},
            silence_logs=logging.CRITICAL,
        )
    with cluster, distributed.Client(cluster):
        yield


@contextmanager
def _deaf_to_interrupts() -> Iterator[None]:
    """Start processes that leave Ctrl-C to this one; each of them would print where it was interrupted."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def _connected(distributed: Any, address: str) -> Iterator[None]:
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    try:
        # First one that is nobody's default: a client that finds no scheduler would stay it.
        distributed.Client(address, timeout=CONNECT_SECONDS, set_as_default=False).close()
        client = distributed.Client(address, timeout=CONNECT_SECONDS)
    except (OSError, ValueError, TypeError, RuntimeError):
        raise ValueError(
            f"no Dask scheduler answers at {address!r} within {CONNECT_SECONDS} seconds; give its address as "
            "'dask scheduler' prints it, such as tcp://10.0.0.5:8786, or leave --scheduler out to compute on "
            "this machine"
        ) from None
    with client:
        if not client.scheduler_info()["workers"]:
            raise ValueError(f"the Dask cluster at {address!r} has no workers; start some with 'dask worker'")
        yield


def _require_cuda() -> None:
    from nammd.reading.formats import optional

    torch = optional("torch", "torch", "--engine cuda")
    if not torch.cuda.is_available():
        raise ValueError("--engine cuda needs a GPU that PyTorch can use, and there is none; leave it out")


def engine_of(chosen: KernelOptions, working: Working, inputs: Inputs) -> Engine | None:
    """Return the engine that was asked for, telling how far it is; none for sketches, which are summed."""
    if inputs.sketches:
        return None
    if chosen.engine is EngineName.dask:
        from nammd.engines import Cluster

        return Cluster(progress=working.progress)
    if chosen.engine is EngineName.cuda:
        from nammd.engines import OnDevice

        return OnDevice("cuda")
    from nammd.engines import Tiles

    return Tiles(threads=chosen.threads, progress=working.progress)
