"""Every command and its function give the same digits for the same files."""

from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

import nammd as library
from nammd.tables import read
from tests.cli.conftest import people

KINDS = ("parquet", "csv", "arrow", "npy")
EXCLUDED = (["--exclude", "city"], {"exclude": ["city"]})
WEIGHTED = (["--weights", "age=2,income=0.5"], {"column_weights": {"age": 2.0, "income": 0.5}})
# Together, so that one call notices whichever of them is lost on its way.
OPTIONS = {
    "plain": ([], {}),
    "excluded, weighted, laplace": (
        [*EXCLUDED[0], *WEIGHTED[0], "--kernel", "laplace"],
        {**EXCLUDED[1], **WEIGHTED[1], "kernel": library.Laplace},
    ),
    "excluded, weighted, bandwidth": (
        [*EXCLUDED[0], *WEIGHTED[0], "--bandwidth", "1.7"],
        {**EXCLUDED[1], **WEIGHTED[1], "kernel": library.Gaussian(1.7)},
    ),
}


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    """The same three mixed tables, with an id and a column in the thousands, in several formats."""
    folder = tmp_path_factory.mktemp("digits")
    rng = np.random.default_rng(0)
    found = {kind: [] for kind in KINDS}
    for number, (seed, older) in enumerate(((1, 0.0), (2, 0.3), (3, 0.8))):
        table = people(seed, older).append_column("number", pa.array(np.arange(300) + 1000 * number))
        parquet.write_table(table, folder / f"{seed}.parquet")
        csv.write_csv(table, folder / f"{seed}.csv")
        with pa.ipc.new_file(folder / f"{seed}.arrow", table.schema) as file:
            file.write_table(table)
        np.save(folder / f"{seed}.npy", rng.normal(older, size=(200, 3)))
        for kind in KINDS:
            found[kind].append(folder / f"{seed}.{kind}")
    return found


def numbers(document):
    """Return all numbers of a JSON document, by where they are."""
    found = {}

    def walk(value, where):
        if isinstance(value, dict):
            for key, inner in value.items():
                walk(inner, f"{where}.{key}")
        elif isinstance(value, list):
            for key, inner in enumerate(value):
                walk(inner, f"{where}[{key}]")
        elif isinstance(value, (int, float, str)) or value is None:
            found[where] = value

    walk(document, "")
    return found


def same(shell, result, ignored=()):
    """Compare every number that the library's result has with the shell's."""
    said, expected = numbers(shell), numbers(result.to_dict())
    assert len(expected) >= 5
    for where, value in expected.items():
        if not any(word in where for word in ("engine", *ignored)):
            assert said[where] == value, where


def spaces(datasets, options, reference=False):
    return library.Space.fit(*(datasets[:1] if reference else datasets), **options)


@pytest.mark.parametrize("kind", KINDS)
def test_plain_calls_need_no_space(nammd, paths, kind):
    x, y, z = map(str, paths[kind])
    same(nammd("distance", x, y, "--json").json, library.distance(x, y))
    if kind in ("csv", "arrow"):  # which are read as the same tables
        return
    same(nammd("test", x, y, "--json").json, library.two_sample_test(x, y, rng=0))
    same(nammd("compare", x, y, z, "--json").json, library.compare_pairs((x, y), (x, z)))
    same(nammd("rank", x, y, z, "--json").json, library.rank(x, {y: y, z: z}))
    same(nammd("plan", x, z, "--epsilon", 0.01, "--json").json, library.plan(0.01, pilot=(x, z)))


def test_every_option_of_the_space_makes_another_number():
    x, y = (people(seed, older) for seed, older in ((1, 0.0), (2, 0.3)))
    every = [{}, EXCLUDED[1], WEIGHTED[1], *(options for _, options in list(OPTIONS.values())[1:])]
    found = [library.distance(x, y, space=library.Space.fit(x, y, **options)).value for options in every]
    assert len(set(found)) == len(every)


@pytest.mark.parametrize("name", OPTIONS)
def test_every_question_with_every_option_of_the_space(nammd, paths, name):
    words, options = OPTIONS[name]
    x, y, z = map(str, paths["parquet"])
    pair, triple = spaces([x, y], options), spaces([x, y, z], options)
    own = spaces([x], options, reference=True)
    same(nammd("distance", x, y, *words, "--json").json, library.distance(x, y, space=pair))
    same(nammd("test", x, y, *words, "--json").json, library.two_sample_test(x, y, space=pair, rng=0))
    compared = library.compare_pairs((x, y), (x, z), space=triple)
    same(nammd("compare", x, y, z, *words, "--json").json, compared)
    same(nammd("rank", x, y, z, *words, "--json").json, library.rank(x, {y: y, z: z}, space=own))
    planned = library.plan(0.01, pilot=(x, z), space=spaces([x, z], options))
    same(nammd("plan", x, z, "--epsilon", 0.01, *words, "--json").json, planned)
    checked = library.Tolerance.at(0.02, space=own).check(x, y)
    same(nammd("check", x, y, "--epsilon", 0.02, *words, "--json").checked, checked)


@pytest.fixture(scope="module")
def candidate(paths):
    """A further table, which is not among the accepted ones."""
    path = paths["parquet"][0].with_name("4.parquet")
    parquet.write_table(people(4, 0.5), path)
    return str(path)


def short(path):
    return Path(path).stem


# Every way with options, and options are read in one place: so each of the others has two ways.
@pytest.mark.parametrize(
    ("way", "name"),
    [
        *((way, "excluded, weighted, laplace") for way in ("accepted", "several", "ball", "margin")),
        *((way, "excluded, weighted, bandwidth") for way in ("accepted", "noise", "split")),
        *((way, "plain") for way in ("accepted", "noise", "split")),
    ],
)
def test_calibrate_and_check(nammd, paths, candidate, name, way):
    words, options = OPTIONS[name]
    x, y, z = map(str, paths["parquet"])
    ways = {
        "accepted": ([z], lambda: library.Tolerance.from_reference(x, {short(z): z}, space=options)),
        "several": (
            [y, z],
            lambda: library.Tolerance.from_reference(x, {short(y): y, short(z): z}, space=options),
        ),
        "ball": (
            [z, "--ball"],
            lambda: library.Tolerance.from_reference(x, {short(z): z}, how="ball", space=options),
        ),
        "margin": (
            [z, "--margin", "missing=0.1"],
            lambda: library.Tolerance.from_reference(
                x, {short(z): z}, margin={"missing": 0.1}, space=options
            ),
        ),
        "noise": (["--noise", "1"], lambda: library.Tolerance.from_noise(x, level=1, space=options)),
        "split": (["--split"], lambda: library.Tolerance.from_split(x, space=options)),
    }
    more, make = ways[way]
    said, expected = nammd("calibrate", x, *more, *words, "-o", "t.json", "--json").json, make()
    same(said, expected, ignored=("created",))
    checked = expected.check(x, candidate)
    same(nammd("check", x, candidate, "--tolerance", "t.json", "--json").checked, checked)
    loaded = library.Tolerance.load("t.json")
    assert loaded.check(x, candidate).pvalue_far == checked.pvalue_far


@pytest.mark.parametrize("words", [[], WEIGHTED[0]], ids=["plain", "weighted"])
def test_the_format_makes_no_difference(nammd, paths, words):
    found = {
        kind: nammd("distance", *paths[kind][:2], *words, "--json").json["value"]
        for kind in ("parquet", "csv", "arrow")
    }
    assert len(set(found.values())) == 1


CONTAINERS = {
    "pandas": lambda path: pd.read_parquet(path),
    "polars": lambda path: pl.read_parquet(path),
    "lazy polars": lambda path: pl.scan_parquet(path),
    "Arrow": lambda path: parquet.read_table(path),
    "stream": lambda path: parquet.read_table(path).to_reader(),
    "read": lambda path: read(path),
    "path": lambda path: path,
}


def test_the_container_makes_no_difference(nammd, paths):
    x, y, _ = paths["parquet"]
    shell = nammd("distance", x, y, "--json").json
    for name, make in CONTAINERS.items():
        assert library.distance(make(x), make(y)).value == shell["value"], name
    assert shell["inputs"]["left_out"][0]["column"] == "id"
    assert [entry["column"] for entry in shell["inputs"]["left_out"]] == ["id", "number"]


def test_sampled_files_are_those_of_the_reader(nammd, paths):
    x, y, _ = paths["parquet"]
    shell = nammd("distance", x, y, "--sample", 100, "--seed", 5, "--json").json
    one = read(x, sample=100, rng=5)
    other = read(y, sample=100, rng=[5, 1])
    assert library.distance(one, other).value == shell["value"]
