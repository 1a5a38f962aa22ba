"""Real data that experiments need, as files in the data folder: one of each tuple must be there."""

from __future__ import annotations

from typing import TypeAlias

Need: TypeAlias = tuple[str, ...]

HIGGS: Need = ("HIGGS.csv.gz", "HIGGS.csv", "higgs_small/higgs_small.npz")
MNIST: Need = (
    "mnist_t10k/mnist_t10k.npz",
    "t10k-images-idx3-ubyte.gz",
    "t10k-images-idx3-ubyte",
    "MNIST/raw/t10k-images-idx3-ubyte.gz",
    "MNIST/raw/t10k-images-idx3-ubyte",
)
GENERATED_MNIST: Need = ("gan_mnist/gan_samples.npz",)
CIFAR10: Need = ("cifar-10-batches-bin/test_batch.bin", "cifar10_jpeg/cifar10_test_5000.npz")
CIFAR_RESNET: Need = ("cifar_resnet/resnet20_state.npz",)
CIFAR_PGD_FEATURES: Need = ("cifar_resnet/cifar10_resnet20_features_pgd.npz",)
PACS: Need = ("pacs/pacs_32.npz",)
PACS_FEATURES: Need = ("pacs/pacs_resnet20cifar_features.npz",)
