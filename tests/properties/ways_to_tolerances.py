"""Every way to a tolerance, with the reference and the candidates that it is used on."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import dask.array as da
import dask.dataframe as dd
import numpy as np

import nammd
from tests.properties.samples import FEATURES, KERNEL, groups_of_points, people, points, series


@dataclass(frozen=True)
class Way:
    """A way to a tolerance.

    Attributes
    ----------
    make : callable
        Makes the tolerance.
    reference : dataset
        What candidates are compared with.
    candidates : mapping of str to dataset
        One that is near and one that is far. Few of them are undecided: to work out how many rows would
        decide takes longer than all the rest, and is known from the forecasts.
    said : mapping of str to mapping
        What has to be said to the check of each candidate: labels and weights that come as arrays.
    """

    make: Callable[[], nammd.Tolerance]
    reference: Any
    candidates: Mapping[str, Any]
    said: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @cached_property
    def made(self) -> nammd.Tolerance:
        """The tolerance."""
        return self.make()

    def check(self, tolerance: nammd.Tolerance, name: str) -> nammd.Verdict:
        """Return the check of a candidate."""
        return tolerance.check(self.reference, self.candidates[name], **self.said.get(name, {}))


X, ACCEPTED, OTHER = points(1, 90), points(2, 80, loc=0.9), points(3, 85, loc=1.0)
ARRAYS = {"near": points(4, 70), "far": points(6, 80, loc=2.5)}
MAKE = nammd.Tolerance
ANYWAY = {"anyway": True}


def _from_noise(x, **how):
    return MAKE.from_noise(x, level=1.0, levels=(0.5, 1.0), anyway=True, **how)


def _from_split(x, **how):
    return MAKE.from_split(x, n_blocks=3, n_splits=3, anyway=True, **how)


def _arrays():
    several = {"one": ACCEPTED, "other": OTHER}
    single = [each.astype("float32") for each in (X, ACCEPTED)]
    found = {
        "accepted": lambda: MAKE.from_reference(X, ACCEPTED, **ANYWAY),
        "several": lambda: MAKE.from_reference(X, several, **ANYWAY),
        "ball": lambda: MAKE.from_reference(X, ACCEPTED, how="ball", **ANYWAY),
        "balls": lambda: MAKE.from_reference(X, several, how="ball", **ANYWAY),
        "accepted later": lambda: MAKE.from_reference(X).accepting(several, reason="fine"),
        "without columns": lambda: MAKE.from_reference(X, several, negligible=False, **ANYWAY),
        "margin": lambda: MAKE.from_reference(X, ACCEPTED, margin=0.02, scales="median", **ANYWAY),
        "margin by noise": lambda: MAKE.from_reference(X, margin={"noise": 0.5}, **ANYWAY),
        "few rows": lambda: MAKE.from_reference(X, ACCEPTED, rows=60, exact=True, **ANYWAY),
        "in a space": lambda: MAKE.from_reference(X, ACCEPTED, space=nammd.Space.fit(X, ACCEPTED), **ANYWAY),
        "float32": lambda: MAKE.from_reference(*single, **ANYWAY),
        "noise": lambda: _from_noise(X),
        "another level": lambda: _from_noise(X).at_level(0.5),
        "split": lambda: _from_split(X),
        "split without columns": lambda: _from_split(X, negligible=False),
        "given": lambda: MAKE.at(0.03, KERNEL, n_columns=2),
        "given with columns": lambda: MAKE.at(0.03, KERNEL, n_columns=2, negligible={"shift": 0.2}),
    }
    kernels = {
        "Laplace": nammd.Laplace(2.0),
        "sum": 0.3 * nammd.Gaussian(1.0) + 0.7 * nammd.Laplace(3.0),
        "Mahalanobis": nammd.Mahalanobis([[1.0, 0.3], [0.3, 2.0]]),
        "features": FEATURES,
    }
    for name, kernel in kernels.items():
        found[name] = lambda kernel=kernel: MAKE.from_reference(X, ACCEPTED, kernel=kernel, **ANYWAY)
    ways = {name: Way(make, X, ARRAYS) for name, make in found.items()}
    between = points(7, 80, loc=0.4)
    many = points(8, 3_100)  # so many that what they and accepted data know of each other is kept
    return ways | {
        "many rows": Way(
            lambda: MAKE.from_reference(many, ACCEPTED, scales="median", **ANYWAY), many, ARRAYS
        ),
        "undecided": Way(lambda: MAKE.from_reference(X, between, **ANYWAY), X, {"it": between + 0.1}),
    }


def _grouped_arrays():
    """Labels and weights that come as arrays, and have to be said to every check."""
    (x, gx, wx), (accepted, ga, wa) = groups_of_points(11), groups_of_points(12, shift=1.4)
    shifts = {"near": 0.0, "far": 3.5}
    drawn = {
        name: groups_of_points(13 + 2 * k, shift=shift) for k, (name, shift) in enumerate(shifts.items())
    }
    data = {name: rows for name, (rows, _, _) in drawn.items()}
    found = {}
    for name, options in {"groups": (True, False), "weights": (False, True)}.items():

        def said(labels, weights, options=options):
            how = {"groups": labels, "sample_weight": weights}
            return {key: value for (key, value), told in zip(how.items(), options, strict=True) if told}

        one, two = said(gx, wx), said((gx, ga), (wx, wa))
        checks = {key: said((gx, labels), (wx, weights)) for key, (_, labels, weights) in drawn.items()}
        ways = {
            f"accepted, {name}": lambda two=two: MAKE.from_reference(x, accepted, **two, **ANYWAY),
            f"noise, {name}": lambda one=one: _from_noise(x, **one),
            f"split, {name}": lambda one=one: _from_split(x, **one),
        }
        found |= {way: Way(make, x, data, checks) for way, make in ways.items()}
    alone = 100_000 + np.arange(len(accepted))
    found["groups of one row"] = Way(
        lambda: MAKE.from_reference(x, accepted, groups=(gx, alone), **ANYWAY),
        x,
        data,
        {key: {"groups": (gx, labels)} for key, (_, labels, _) in drawn.items()},
    )
    # The same customers in the reference and in what was accepted, and in one candidate.
    later = {"near": x + 0.3 * points(14, len(x)), "far": data["far"]}
    labels = {"near": gx, "far": drawn["far"][1]}
    found["the same groups"] = Way(
        lambda: MAKE.from_reference(x, x + 1.2, groups=(gx, gx), **ANYWAY),
        x,
        later,
        {key: {"groups": (gx, own)} for key, own in labels.items()},
    )
    return found


def _blocks():
    x, accepted = series(21), series(22, shift=2.0)
    data = {"near": series(23), "far": series(25, shift=4.5)}
    found = {}
    for name, blocks in {
        "blocks": nammd.TimeBlocks(length=8),
        "blocks by a rule": nammd.TimeBlocks(),
    }.items():
        ways = {
            f"accepted, {name}": lambda blocks=blocks: MAKE.from_reference(
                x, accepted, groups=blocks, **ANYWAY
            ),
            f"split, {name}": lambda blocks=blocks: _from_split(x, groups=blocks),
            f"given, {name}": lambda blocks=blocks: MAKE.at(0.05, KERNEL, x=x, groups=blocks),
        }
        found |= {way: Way(make, x, data) for way, make in ways.items()}
    return found


def _people(customers=None):
    """A reference, two accepted tables and three candidates."""
    x, accepted, other = (
        people(31, customers=customers),
        people(32, older=1.3, missing=0.2, customers=customers),
        people(33, older=1.2, cities=(0.3, 0.4, 0.3), customers=customers),
    )
    data = {
        "near": people(34, customers=customers),
        "far": people(36, older=2.5, missing=0.6, customers=customers),
    }
    return x, accepted, other, data


def _tables():
    x, accepted, other, data = _people()
    several = {"one": accepted, "other": other}
    allowed = {"shift": 0.3, "income": {"missing": 0.1}}
    space = nammd.Space.fit(x, exclude=["since"])
    found = {
        "table": lambda: MAKE.from_reference(x, accepted, **ANYWAY),
        "table, several": lambda: MAKE.from_reference(x, several, **ANYWAY),
        "table, balls": lambda: MAKE.from_reference(x, several, how="ball", **ANYWAY),
        "table, allowed": lambda: MAKE.from_reference(x, accepted, negligible=allowed, **ANYWAY),
        "table, weights of columns": lambda: MAKE.from_reference(
            x,
            accepted,
            space={"column_weights": {"age": 2.0}, "exclude": ["since"]},
            kernel=nammd.Laplace,
            **ANYWAY,
        ),
        "table, kept": lambda: MAKE.from_reference(x, people(37, older=12.0), keep=["age"], **ANYWAY),
        "table, failing": lambda: MAKE.from_reference(x, accepted, **ANYWAY).with_facts(
            fail_on=["missing-values"]
        ),
        "table, noise": lambda: _from_noise(x),
        "table, flips": lambda: _from_noise(x, kind="flips"),
        "table, missing": lambda: _from_noise(x, kind="missing"),
        "table, split": lambda: _from_split(x),
        "table, given": lambda: MAKE.at(0.02, space=space, negligible=True),
    }
    return {name: Way(make, x, data) for name, make in found.items()}


def _grouped_tables():
    x, accepted, other, data = _people(customers=45)
    several = {"one": accepted, "other": other}
    space = nammd.Space.fit(x.drop(columns=["customer", "w"]))
    found = {}
    for name, said in {
        "weights": {"sample_weight": "w"},
        "both": {"groups": "customer", "sample_weight": "w"},
    }.items():
        left = [column for column in ("customer", "w") if column not in said.values()]
        how = {**said, "space": {"exclude": left or None}}
        ways = {
            f"table, {name}": lambda how=how: MAKE.from_reference(x, several, **how, **ANYWAY),
            f"table, noise, {name}": lambda how=how: _from_noise(x, **how),
            f"table, split, {name}": lambda how=how: _from_split(x, **how),
            f"table, given, {name}": lambda said=said: MAKE.at(0.02, space=space, negligible=True, **said),
        }
        found |= {way: Way(make, x, data) for way, make in ways.items()}
    return found


def _sketched():
    """Tolerances of rows, in checks of sketches."""
    x, accepted, _, data = _people()
    found = {}
    plain = nammd.Space.fit(x)
    features = nammd.RandomFeatures(plain.kernel, 48, 0)

    def sketch(table):
        return nammd.Sketch.of(table, features, space=plain, threads=1)

    sketches = {key: sketch(table) for key, table in data.items()}
    spaces = {"sketches": plain, "sketches, same features": nammd.Space(plain.encoding, features)}
    for name, space in spaces.items():
        found[name] = Way(
            lambda space=space: MAKE.from_reference(x, accepted, space=space, **ANYWAY), sketch(x), sketches
        )
    return found


def _spread():
    """Data in pieces, computed here."""
    arrays = [da.from_array(each, chunks=(40, 2)) for each in (X, ACCEPTED)]
    x, accepted, _, data = _people()
    tables = [dd.from_pandas(each, npartitions=2) for each in (x, accepted)]
    return {
        "Dask arrays": Way(
            lambda: MAKE.from_reference(*arrays, **ANYWAY),
            arrays[0],
            {key: da.from_array(each, chunks=(40, 2)) for key, each in ARRAYS.items()},
        ),
        "Dask tables": Way(
            lambda: MAKE.from_reference(*tables, **ANYWAY),
            tables[0],
            {key: dd.from_pandas(each, npartitions=2) for key, each in data.items()},
        ),
    }


WAYS: dict[str, Way] = {
    **_arrays(),
    **_grouped_arrays(),
    **_blocks(),
    **_tables(),
    **_grouped_tables(),
    **_sketched(),
    **_spread(),
}
