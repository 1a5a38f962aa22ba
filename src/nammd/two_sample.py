"""The one-kernel methods of the two-sample test: `NAMMDPermutation` and `MMDPermutation`."""

from nammd.methods.permutation import MMDPermutation, NAMMDPermutation

__all__ = ["MMDPermutation", "NAMMDPermutation"]
