"""Former place of `MMDAgg`, which is in `nammd.methods.agg`."""

from nammd.methods.agg import MMDAgg

__all__ = ["MMDAgg"]
