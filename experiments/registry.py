"""Find the experiments: every module of `experiments.paper` and `experiments.calibration` that has one."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pkgutil import iter_modules
from typing import Any

from experiments import labels
from experiments.experiment import Experiment

_PACKAGES = ("experiments.paper", "experiments.calibration")


@cache
def experiments() -> dict[str, Experiment[Any]]:
    """Return every experiment by its name, in the order of the pages.

    A module has an experiment where it has a name ``EXPERIMENT``; others are helpers.
    """
    ordered = sorted(_found().values(), key=lambda e: min(labels.ALL.index(label) for label in e.labels))
    return {experiment.name: experiment for experiment in ordered}


@cache
def _found() -> dict[str, Experiment[Any]]:
    """Return every experiment by the module that has it."""
    found = {}
    for package in _PACKAGES:
        if find_spec(package) is None:
            continue
        for module in iter_modules(import_module(package).__path__, f"{package}."):
            experiment = getattr(import_module(module.name), "EXPERIMENT", None)
            if experiment is not None:
                found[module.name] = experiment
    return found


def module_of(name: str) -> str | None:
    """Return the module of an experiment; None for one that no module has."""
    return next((module for module, experiment in _found().items() if experiment.name == name), None)


def named(name: str) -> Experiment[Any]:
    """Return the experiment of a name."""
    known = experiments()
    if name not in known:
        raise LookupError(f"there is no experiment {name!r}; choose from {', '.join(known)}")
    return known[name]
