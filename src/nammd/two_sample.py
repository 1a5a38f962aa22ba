"""The one-kernel methods of the two-sample test: `NAMMDPermutation` and `MMDPermutation`."""

from nammd.questions.two_sample import MMDPermutation, NAMMDPermutation

__all__ = ["MMDPermutation", "NAMMDPermutation"]
