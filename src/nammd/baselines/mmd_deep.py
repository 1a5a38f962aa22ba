"""Former place of `MMDDeep`, which is in `nammd.methods.deep`."""

from nammd.methods.deep import MMDDeep

__all__ = ["MMDDeep"]
