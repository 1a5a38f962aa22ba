"""The one-kernel methods of the two-sample test, and many tests at once: `two_sample_tests`."""

from nammd.methods.many import two_sample_tests
from nammd.methods.permutation import MMDPermutation, NAMMDPermutation

__all__ = ["MMDPermutation", "NAMMDPermutation", "two_sample_tests"]
