"""Pairs of blocks as tasks of Dask: the engine for data that are spread over a cluster."""

from nammd.engines.cluster.engine import Cluster

__all__ = ["Cluster"]
