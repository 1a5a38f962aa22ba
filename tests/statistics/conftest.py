"""Many thousand pairs of small samples."""

from collections.abc import Iterator

import pytest

from nammd.engines.blas import single_threaded_blas


@pytest.fixture(autouse=True, scope="module")
def _one_thread_for_blas() -> Iterator[None]:
    """Set it once; to set and restore it for each of eight products would be a tenth of all time."""
    with single_threaded_blas:
        yield
