"""Free text that is compared by its hashed words."""

import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import nammd
from nammd.encoding.hashed_text import HashedTextColumn, drawn_word, hashed, words_of
from nammd.tables import Encoding
from tests.encoding.text_samples import reviews


def test_free_text_is_left_out_unless_asked_for_and_the_message_names_the_option():
    encoding = Encoding.fit(pa.table(reviews(200, 0)))
    [left_out] = encoding.left_out
    assert left_out.column == "review"
    assert "'text': 'hashed'" in str(left_out)
    assert "--text hashed" in left_out.in_shell()
    assert not Encoding.fit(pa.table(reviews(200, 0)), text="hashed").left_out


def test_texts_are_as_far_apart_as_categories_are_and_the_same_words_are_not():
    points = hashed(["the courier lost it", "The courier lost it", "eleven grey umbrellas", ""], 4096)
    assert np.array_equal(points[0], points[1])
    assert np.sum((points[0] - points[2]) ** 2) == pytest.approx(2.0)
    assert not points[3].any()


def test_a_slot_for_missing_texts_and_nothing_fitted():
    table = pa.table({"note": [*(f"one more sentence about number {k}" for k in range(40)), None]})
    encoding = Encoding.fit(table, text="hashed")
    points = encoding.transform(table)
    assert points.shape == (41, 65)
    assert points[-1].tolist() == [0.0] * 64 + [1.0]
    other = Encoding.fit(
        pa.table({"note": [f"quite another text, number {k}" for k in range(99)]}), text="hashed"
    )
    assert np.array_equal(other.transform(table), points)


def test_rows_of_many_texts_are_hashed_as_those_of_few():
    texts = [f"row {k % 20000} says {k * 7919 % 104729} to them" for k in range(40_000)]
    encoding = Encoding.fit(pa.table({"note": texts[:100]}), text="hashed")
    points = encoding.transform(pa.table({"note": texts}))
    some = np.array([0, 16_383, 16_384, 39_999])
    assert np.array_equal(points[some, :-1], hashed([texts[k] for k in some], 64))


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([f"APP-{k:06}" for k in range(100)], None),
        ([f"{k:08x}-0000-4000-8000-{k:012x}" for k in range(100)], None),
        ([f"Parcel number {k} arrived" for k in range(100)], "text"),
        (["north", "south"] * 50, "categorical"),
        ([f"I am sorry, but I cannot help with request {k % 60}" for k in range(400)], "text"),
    ],
)
def test_identifiers_stay_out_and_categories_stay_categories(values, kind):
    encoding = Encoding.fit(pa.table({"x": np.arange(len(values)) % 7, "c": values}), text="hashed")
    found = {column.name: column.kind for column in encoding.columns}
    assert found.get("c") == kind


def test_a_weight_insists_on_text_that_looks_like_an_identifier():
    table = pa.table({"x": np.arange(100) % 7, "code": [f"APP-{k:06}" for k in range(100)]})
    assert isinstance(
        Encoding.fit(table, text="hashed", column_weights={"code": 1}).column("code"), HashedTextColumn
    )
    with pytest.raises(ValueError, match="like an identifier"):
        Encoding.fit(table, column_weights={"code": 1}).column("code")


def test_other_words_are_refused():
    with pytest.raises(ValueError, match="text must be one of 'hashed', not 'embedded'"):
        nammd.Space.fit(pa.table(reviews(50, 0)), text="embedded")


def test_a_space_and_a_tolerance_give_the_same_digits_after_loading(tmp_path):
    reference, accepted, candidate = (pa.table(reviews(400, seed)) for seed in (0, 1, 2))
    tolerance = nammd.Tolerance.from_reference(reference, accepted, space={"text": "hashed"})
    tolerance.save(tmp_path / "tolerance.json")
    loaded = nammd.Tolerance.load(tmp_path / "tolerance.json")
    assert loaded.space == tolerance.space
    one, two = (each.check(reference, candidate) for each in (tolerance, loaded))
    assert str(one) == str(two)
    assert one.estimate == two.estimate
    assert one.to_dict()["columns"] == two.to_dict()["columns"]


def test_a_damaged_number_of_slots_is_refused():
    stored = Encoding.fit(pa.table(reviews(50, 0)), text="hashed").to_dict()
    stored["columns"][-1]["hashed_slots"] = 10**9
    with pytest.raises(ValueError, match="hashed_slots"):
        Encoding.from_dict(stored)


def test_a_column_of_numbers_is_not_read_as_text():
    encoding = Encoding.fit(pa.table(reviews(50, 0)), text="hashed")
    with pytest.raises(ValueError, match="'review' of the data holds numbers, but text in the reference"):
        encoding.transform(pa.table({**reviews(50, 0), "review": list(range(50))}))


def test_words_of_other_scripts_and_halves_of_signs():
    assert words_of("配送 late, Ünder") == ["配", "送", "late", ",", "ünder"]
    assert np.isfinite(hashed(["broken \ud800 sign", "💥 配送"], 64)).all()


def test_a_word_is_drawn_by_its_length_and_always_the_same():
    texts = [f"a {'z' * 9} {k}" for k in range(3000)]
    drawn = [drawn_word(text) for text in texts]
    assert drawn == [drawn_word(text) for text in texts]
    share = np.mean([word == "z" * 9 for word in drawn])
    expected = np.mean([9 / (len(text) - 2) for text in texts])
    assert share == pytest.approx(expected, abs=0.03)
    assert drawn_word(" ") == ""


def test_without_scikit_learn_the_message_says_what_to_install(monkeypatch):
    from nammd.encoding import hashed_text

    hashed_text._vectorizer.cache_clear()
    for name in [name for name in sys.modules if name.split(".")[0] == "sklearn"]:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(
        ImportError, match=r"needs scikit-learn; install it with: pip install 'nammd\[text\]'"
    ):
        nammd.Space.fit(pa.table(reviews(50, 0)), text="hashed")


def test_texts_on_a_cluster_are_hashed_alike():
    frames = pytest.importorskip("dask.dataframe")
    table = pd.DataFrame(reviews(300, 0))
    encoding = Encoding.fit(table, text="hashed")
    spread = encoding.transform(frames.from_pandas(table, npartitions=3))
    assert np.array_equal(spread.compute(), encoding.transform(table))
