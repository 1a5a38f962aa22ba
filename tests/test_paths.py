"""The import paths of the documentation work, and lead to the same objects."""

import importlib

import pytest

import nammd

DOCUMENTED = {
    "nammd.testing": ["assert_close", "assert_within"],
    "nammd.tables": ["Encoding", "batches", "read"],
    "nammd.report": ["interval_plot", "ladder_plot", "ranking_plot"],
    "nammd.datasets": ["SHIFTS", "applications", "blob", "hdgm", "higgs", "mnist", "cifar10"],
    "nammd.selection": ["learn_kernel", "select_bandwidth", "train_test_split", "LearnedKernel"],
    "nammd.methods.fuse": ["NAMMDFuse", "MMDFuse"],
    "nammd.methods.permutation": ["NAMMDPermutation", "MMDPermutation"],
    "nammd.methods.many": ["two_sample_tests"],
    "nammd.questions.ranking": ["Ranked", "Contrast"],
    "nammd.tolerances.ladder": ["Rung"],
    "nammd.tolerances.provenance": ["Origin"],
    "nammd.kernels.networks": ["mlp"],
    "nammd.methods.agg": ["MMDAgg"],
    "nammd.methods.actt": ["ACTT"],
    "nammd.methods.deep": ["MMDDeep"],
    "nammd.methods.mabid": ["MEMaBiD"],
    "nammd.methods.auto_tst": ["AutoTST"],
    "nammd.methods.canonne": ["canonne_test"],
    "nammd.methods.wasserstein": ["wasserstein_test"],
    "nammd.methods.resampling": ["ResampledResult"],
}


@pytest.mark.parametrize(("module", "name"), [(m, name) for m, names in DOCUMENTED.items() for name in names])
def test_documented_paths_work(module, name):
    found = getattr(importlib.import_module(module), name)
    assert found is not None
    if callable(found) and hasattr(nammd, name):
        assert found is getattr(nammd, name)
