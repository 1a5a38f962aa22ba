"""Former place of `learn_kernel` and `train_test_split`, which are in `nammd.selection`."""

from nammd.selecting.learn import LearnedKernel, learn_kernel
from nammd.selecting.splitting import train_test_split

__all__ = ["LearnedKernel", "learn_kernel", "train_test_split"]
