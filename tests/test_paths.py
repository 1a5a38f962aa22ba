"""Import paths that were documented keep working, and lead to the same objects."""

import importlib

import pytest

import nammd

DOCUMENTED = {
    "nammd.testing": ["assert_close", "assert_within"],
    "nammd.tables": ["Encoding", "batches", "read"],
    "nammd.report": ["interval_plot", "ladder_plot", "ranking_plot"],
    "nammd.datasets": ["SHIFTS", "applications", "blob", "hdgm", "higgs", "mnist", "cifar10"],
    "nammd.selection": ["learn_kernel", "select_bandwidth", "train_test_split", "LearnedKernel"],
    "nammd.learning": ["learn_kernel", "train_test_split"],
    "nammd.fuse": ["NAMMDFuse", "MMDFuse"],
    "nammd.two_sample": ["NAMMDPermutation", "MMDPermutation"],
    "nammd.ranking": ["Ranked", "Contrast"],
    "nammd.calibration": ["Rung"],
    "nammd.provenance": ["Origin"],
    "nammd.kernels.networks": ["mlp"],
    "nammd.baselines.mmd_agg": ["MMDAgg"],
    "nammd.baselines.actt": ["ACTT"],
    "nammd.baselines.mmd_deep": ["MMDDeep"],
    "nammd.baselines.me_mabid": ["MEMaBiD"],
    "nammd.baselines.auto_tst": ["AutoTST"],
    "nammd.baselines.canonne": ["canonne_test"],
    "nammd.baselines.wasserstein": ["wasserstein_test"],
    "nammd.baselines.resampling": ["ResampledResult"],
}


@pytest.mark.parametrize(("module", "name"), [(m, name) for m, names in DOCUMENTED.items() for name in names])
def test_documented_paths_work(module, name):
    found = getattr(importlib.import_module(module), name)
    assert found is not None
    if callable(found) and hasattr(nammd, name):
        assert found is getattr(nammd, name)
