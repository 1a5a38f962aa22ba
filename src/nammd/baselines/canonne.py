"""Former place of `canonne_test`, which is in `nammd.methods.canonne`."""

from nammd.methods.canonne import canonne_test

__all__ = ["canonne_test"]
