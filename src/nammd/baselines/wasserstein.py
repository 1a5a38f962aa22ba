"""Former place of `wasserstein_test`, which is in `nammd.methods.wasserstein`."""

from nammd.methods.wasserstein import wasserstein_test

__all__ = ["wasserstein_test"]
