"""Choosing a kernel from data: `select_bandwidth`, and `learn_kernel` with torch.

Both look for what tells two samples apart or, with ``accepted=`` data, for what is beyond these. A kernel
that was chosen by looking at samples must not be tested on the same rows: it was chosen to tell them apart.
Split the data first (`train_test_split`), choose on one part and test on the other.
"""

from nammd.selecting.bandwidth import FINE_GRID, GRID, BandwidthSelection, select_bandwidth, studentized
from nammd.selecting.learn import LearnedKernel, learn_kernel
from nammd.selecting.splitting import train_test_split

__all__ = [
    "FINE_GRID",
    "GRID",
    "BandwidthSelection",
    "LearnedKernel",
    "learn_kernel",
    "select_bandwidth",
    "studentized",
    "train_test_split",
]
