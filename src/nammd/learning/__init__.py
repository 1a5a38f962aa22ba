"""Learning a kernel from data with torch; importing it does not import torch."""

from nammd.learning.learn import LearnedKernel, learn_kernel
from nammd.learning.splitting import train_test_split

__all__ = ["LearnedKernel", "learn_kernel", "train_test_split"]
