"""The rules of public names in docs/design.md, as far as a program can check them."""

import dataclasses
import importlib
import inspect
import typing

import numpy as np
import pytest

import nammd
from nammd.methods.canonne import canonne_test
from nammd.results import ConfidenceInterval, Result, Tested

MODULES = (
    "nammd",
    "nammd.paper",
    "nammd.selection",
    "nammd.tables",
    "nammd.datasets",
    "nammd.integrations.sklearn",
)

SYNONYMS = {
    "row_weights": "sample_weight",
    "weights": "column_weights",
    "warnings": "cautions",
    "measured": "estimate",
    "n_cols": "n_columns",
    "n_jobs": "threads",
    "seed": "rng",
    "random_state": "rng",
    "p_value": "pvalue",
    "stat": "statistic",
    "ci": "confidence_interval",
    "conf_int": "confidence_interval",
    "level_of_confidence": "confidence_level",
    "distance_type": "metric",
}
"""Words that stand for something that has another one."""

ALLOWED = {
    "nammd.RandomFeatures.seed": "what the frequencies are made of, which is stored; it is given as rng",
}

MOST_NAMES = 25
"""So many public names a verdict has at most."""

MOST_PARAMETERS = 16
"""So many parameters a public function has at most, the data included."""

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(40, 2)), RNG.normal(0.5, size=(40, 2))
GATE = nammd.Tolerance.at(0.05, nammd.Gaussian(1.0), n_columns=2).with_reference(X)

RESULTS = {
    "distance": lambda: nammd.distance(X, Y),
    "closeness": lambda: nammd.closeness_test(X, Y, 0.1, alternative="less"),
    "published": lambda: nammd.paper.closeness_test(X, Y, 0.1),
    "pairs": lambda: nammd.compare_pairs((X, Y), (X, Y + 1)),
    "two samples": lambda: nammd.two_sample_test(X, Y, rng=0),
    "finite support": lambda: canonne_test([1, 2, 2, 1], [2, 2, 1, 3], 0.1, rng=0),
    "ranking": lambda: nammd.rank(X, [Y]),
    "near copies": lambda: nammd.near_copies(X, Y, rng=0),
    "plan": lambda: nammd.plan(0.1, 0.2, pilot=(X, Y)),
    "tolerance": lambda: GATE.tolerance,
    "verdict": lambda: GATE.check(Y),
    "verdicts": lambda: GATE.check_all([Y]),
    "bandwidth": lambda: nammd.selection.select_bandwidth(X, Y),
}


def public():
    """Return every public object by its full name, once."""
    found = {}
    for name in MODULES:
        module = importlib.import_module(name)
        for each in module.__all__:
            found.setdefault(id(getattr(module, each)), (f"{name}.{each}", getattr(module, each)))
    return [pytest.param(name, each, id=name) for name, each in found.values()]


def names_of(thing):
    """Return the public attributes of an object or class."""
    fields = {each.name for each in dataclasses.fields(thing)} if dataclasses.is_dataclass(thing) else set()
    return {name for name in (*dir(thing), *fields) if not name.startswith("_")}


def parameters_of(function):
    try:
        return set(inspect.signature(function).parameters) - {"self", "cls"}
    except (TypeError, ValueError):  # of some built-in types
        return set()


def callables_of(name, thing):
    """Return a public function, or a class with its public methods, by their names."""
    if not callable(thing):
        return {}
    found = {name: thing}
    if inspect.isclass(thing) and not issubclass(thing, str):
        found |= {f"{name}.{each}": getattr(thing, each) for each in names_of(thing) if each in dir(thing)}
    return {path: each for path, each in found.items() if callable(each)}


@pytest.mark.parametrize(("name", "thing"), public())
def test_one_noun_has_one_word(name, thing):
    words = {
        f"{path}({each}=)": each
        for path, one in callables_of(name, thing).items()
        for each in parameters_of(one)
    }
    if inspect.isclass(thing):
        words |= {f"{name}.{each}": each for each in names_of(thing)}
    wrong = {path: SYNONYMS[word] for path, word in words.items() if word in SYNONYMS and path not in ALLOWED}
    assert not wrong, f"there is another word for {wrong}"


@pytest.mark.parametrize(("name", "thing"), public())
def test_columns_are_no_number(name, thing):
    for path, function in callables_of(name, thing).items():
        if "columns" in parameters_of(function):
            said = str(inspect.signature(function).parameters["columns"].annotation)
            assert not said.startswith("int"), f"{path} takes n_columns, if that is a number"


@pytest.mark.parametrize(("name", "thing"), public())
def test_functions_have_few_parameters(name, thing):
    if inspect.isclass(thing) and issubclass(thing, Result):
        return  # nobody makes a result, and Tolerance is made by its methods
    for path, function in callables_of(name, thing).items():
        assert len(parameters_of(function)) <= MOST_PARAMETERS, path


@pytest.mark.parametrize("name", ["from_reference", "from_noise", "from_split", "at", "check"])
def test_tolerances_have_few_parameters_and_take_a_space(name):
    parameters = parameters_of(getattr(nammd.Tolerance, name))
    assert len(parameters) <= MOST_PARAMETERS
    if name != "check":
        assert "space" in parameters
        assert not {"exclude", "column_weights", "reading", "scale", "encoding"} & parameters


@pytest.mark.parametrize("name", RESULTS)
def test_a_statistic_is_a_float(name):
    result = RESULTS[name]()
    assert isinstance(result.cautions, tuple)
    assert isinstance(result.headline(), str)
    for attribute in ("statistic", "pvalue", "alpha", "standard_error", "epsilon"):
        if hasattr(result, attribute):
            assert isinstance(getattr(result, attribute), float), attribute
    if hasattr(result, "confidence_interval"):
        assert isinstance(result.confidence_interval(), ConfidenceInterval)
    if isinstance(result, Tested):
        assert list(result) == [result.statistic, result.pvalue]
        assert isinstance(result.rejected, bool)
    else:
        assert not hasattr(result, "statistic")


def test_numbers_of_blocks_and_splits_are_called_so():
    assert {"n_blocks", "n_splits"} <= parameters_of(nammd.Tolerance.from_split)


def test_intervals_are_asked_for_as_in_scipy():
    for result in (nammd.Estimate, nammd.ClosenessResult, nammd.PairComparison):
        assert list(inspect.signature(result.confidence_interval).parameters) == ["self", "confidence_level"]


def test_a_verdict_shows_what_people_need():
    found = names_of(GATE.check(Y))
    assert len(found) <= MOST_NAMES, sorted(found)


def test_every_public_class_of_results_is_known_here():
    kinds = {type(make()) for make in RESULTS.values()}
    results = {
        thing
        for name in MODULES
        for thing in vars(importlib.import_module(name)).values()
        if is_result(thing)
    }
    learned = {nammd.selection.LearnedKernel, nammd.BatchVerdict}  # a network, and a monitor
    public_results = {
        getattr(nammd, name) for name in nammd.__all__ if is_result(getattr(nammd, name))
    } | results
    assert public_results - learned <= kinds


def is_result(thing: typing.Any) -> bool:
    return inspect.isclass(thing) and issubclass(thing, Result)
