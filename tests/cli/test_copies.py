"""``nammd copies``."""

import numpy as np
import pytest

import nammd as library


@pytest.fixture
def files(tmp_path):
    rng = np.random.default_rng(0)
    train, test, fresh = (rng.normal(size=(rows, 4)) for rows in (600, 300, 300))
    test[:24] = train[:24] + 1e-4
    for name, rows in (("train", train), ("test", test), ("fresh", fresh)):
        np.save(tmp_path / f"{name}.npy", rows)
    return train, test, fresh


def test_it_says_what_the_function_says(nammd, files):
    train, test, fresh = files
    for held_out, more in ((None, []), (fresh, ["--held-out", "fresh.npy"])):
        ran = nammd("copies", "train.npy", "test.npy", *more, "--json")
        assert ran.code == 0
        expected = library.near_copies(train, test, held_out).to_dict()
        assert {name: ran.json[name] for name in expected} == expected
        assert ran.json["share"] == 0.08
        assert ran.json["found"] is True
    assert "about as many" in nammd("copies", "train.npy", "fresh.npy", "--near", 0.5).out


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--near", "2"], "near must be"),
        (["--kernel", "laplace"], "leave out --kernel"),
        (["--block", "10"], "leave out --group"),
        (["--held-out", "nosuch.npy"], "nosuch.npy"),
    ],
)
def test_options_that_do_not_go_with_it_are_refused(nammd, files, options, words):
    assert words in nammd("copies", "train.npy", "test.npy", *options).sentence
