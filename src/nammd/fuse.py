"""Tests that fuse many kernels into one statistic: `NAMMDFuse` and `MMDFuse`."""

from nammd.methods.fuse import MMDFuse, NAMMDFuse

__all__ = ["MMDFuse", "NAMMDFuse"]
