"""Former place of `MEMaBiD`, which is in `nammd.methods.mabid`."""

from nammd.methods.mabid import MEMaBiD

__all__ = ["MEMaBiD"]
