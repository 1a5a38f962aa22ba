"""What holds for all tests of monitors."""

import pytest

from tests import pictures


@pytest.fixture(scope="module", autouse=True)
def without_pictures():
    with pictures.left_out():
        yield
