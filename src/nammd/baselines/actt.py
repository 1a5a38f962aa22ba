"""Former place of `ACTT`, which is in `nammd.methods.actt`."""

from nammd.methods.actt import ACTT

__all__ = ["ACTT"]
