"""Choosing a kernel from data: `select_bandwidth`, and `learn_kernel` with torch.

A kernel that was chosen by looking at two samples must not be tested on the same rows: it was chosen to tell
them apart. Split the data first (`train_test_split`), choose on one part and test on the other.
"""

from nammd.selecting.bandwidth import GRID, BandwidthSelection, select_bandwidth, studentized
from nammd.selecting.learn import LearnedKernel, learn_kernel
from nammd.selecting.splitting import train_test_split

__all__ = [
    "GRID",
    "BandwidthSelection",
    "LearnedKernel",
    "learn_kernel",
    "select_bandwidth",
    "studentized",
    "train_test_split",
]
