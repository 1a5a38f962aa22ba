"""Former place of `AutoTST`, which is in `nammd.methods.auto_tst`."""

from nammd.methods.auto_tst import AutoTST

__all__ = ["AutoTST"]
